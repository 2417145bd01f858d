"""What is known of a benchmark and metric, and how much of a space was measured: sentences and exchanged values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from hati.core.wording import counted
from hati.knowledge import Coverage, Entry, ImportantOptions, KnownWarmUp, Variation
from hati.report.quantities import duration, percent
from hati.report.statistics import choice_json
from hati.report.table import Plain
from hati.studies.comparison import StatisticChoice

T = TypeVar("T")


class Knowledge(Struct, frozen=True):
    """What new studies of a benchmark and metric are planned from; None what is not known.

    ``cost`` is that of a run in seconds; ``statistic`` is what stands for a run in comparisons; ``warm_up`` is that of
    runs whose benchmark states none.
    """

    important: Entry[ImportantOptions] | None = None
    statistic: Entry[StatisticChoice] | None = None
    cost: Entry[float] | None = None
    variation: Entry[Variation] | None = None
    warm_up: Entry[KnownWarmUp] | None = None


def known_facts(known: Knowledge) -> tuple[tuple[str, str], ...]:
    """What is known, each under a name, with its origin and age."""
    found = (
        ("important options", _fact(known.important, _options)),
        ("statistic of a run", _fact(known.statistic, _statistic)),
        ("cost of a run", _fact(known.cost, duration)),
        ("variation", _fact(known.variation, _variation)),
        ("warm-up", _fact(known.warm_up, _warm_up)),
    )
    return tuple((name, text) for name, text in found if text)


def known_json(known: Knowledge) -> dict[str, Plain]:
    """The same under the names that programs rely on; null what is not known."""
    return {
        "important_options": _json(known.important, lambda value: {"options": list(value.options)}),
        "statistic": _json(known.statistic, choice_json),
        "run_cost": _json(known.cost, lambda value: {"seconds": value}),
        "variation": _json(known.variation, lambda value: {"interactions": value.interactions, "noise": value.noise}),
        "warm_up": _json(known.warm_up, lambda value: {"observations": value.observations, "steady": value.steady}),
    }


def _fact(entry: Entry[T] | None, text: Callable[[T], str]) -> str:
    return "" if entry is None else f"{text(entry.value)} ({entry.source})"


def _options(found: ImportantOptions) -> str:
    return ", ".join(found.options) or "none"


def _statistic(choice: StatisticChoice) -> str:
    return choice.statistic.title


def _variation(found: Variation) -> str:
    """Standard deviations; without repetitions noise and interactions are one."""
    between = percent(found.interactions**0.5, 2)
    if found.noise == 0.0:
        return f"configurations vary by {between} beyond main effects, noise included"
    return f"runs vary by {percent(found.noise**0.5, 2)}, configurations by {between} beyond main effects"


def _warm_up(found: KnownWarmUp) -> str:
    return f"the first {found.observations:,} observations; after these {found.steady} of {found.runs} runs are steady"


def _json(entry: Entry[T] | None, value: Callable[[T], dict[str, Plain]]) -> dict[str, Plain] | None:
    if entry is None:
        return None
    origin = entry.provenance
    return {
        **value(entry.value),
        "study": origin.study,
        "runs": origin.runs,
        "measured": origin.measured.isoformat(),
        "age_seconds": entry.age.total_seconds(),
        "revision": origin.revision or None,
        "machine": origin.machine or None,
        "reason": entry.preferred,
    }


def coverage_json(coverage: Sequence[Coverage]) -> Plain:
    """Of each benchmark the configurations that are measured, of how many, and why these."""
    return [
        {
            "benchmark": one.benchmark,
            "configurations": one.configurations,
            "space": one.space,
            "strata": list(one.strata),
            "source": one.source,
        }
        for one in coverage
    ]


def partial_coverage(coverage: Sequence[Coverage]) -> str:
    """How many of how many configurations an answer is about, where nothing is known of the others; else nothing.

    >>> partial_coverage([Coverage("main", 1, 131072, (), "the default configuration")])
    '1 of 131,072 configurations'
    """
    partial = [one for one in coverage if one.partial]
    if not partial:
        return ""
    fewest, most = (choose(one.configurations for one in partial) for choose in (min, max))
    number = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    spaces = {one.space for one in partial}
    of = f"{max(partial[0].space or 0, most):,}" if None not in spaces else "an unknown number of"
    return f"{number} of {of} configurations"


def coverage_notes(coverage: Sequence[Coverage]) -> tuple[str, ...]:
    """Why these configurations are measured, in sentences, each once."""
    return tuple(dict.fromkeys(map(_note, coverage)))


def coverage_lines(coverage: Sequence[Coverage]) -> tuple[str, ...]:
    """What precedes an answer about revisions: how much is covered, where that is not all, and why."""
    partial = partial_coverage(coverage)
    return (*((f"{partial}.",) if partial else ()), *coverage_notes(coverage))


def _note(one: Coverage) -> str:
    measured = counted(one.configurations, "configuration")
    if one.partial:
        return " ".join(filter(None, (f"Measured: {one.source}.", one.remedy)))
    if not one.strata:
        return f"Measured: {measured} ({one.source})."
    every = "every setting" if len(one.strata) == 1 else "every combination of the settings"
    return f"Measured: {measured} with {every} of {', '.join(one.strata)} ({one.source})."
