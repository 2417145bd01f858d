"""What is known of a benchmark and metric, with origins and ages: sentences and exchanged values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from hati.knowledge import Entry, ImportantOptions, KnownWarmUp, Variation
from hati.report.plain import Plain
from hati.report.quantities import duration, percent
from hati.report.statistics import choice_json
from hati.studies.comparison import StatisticChoice

T = TypeVar("T")


class Known(Struct, frozen=True):
    """What new studies of a benchmark and metric are planned from; None what is not known.

    ``cost`` is that of a run in seconds; ``statistic`` is what stands for a run in comparisons; ``warm_up`` is that of
    runs whose benchmark states none.
    """

    important: Entry[ImportantOptions] | None = None
    statistic: Entry[StatisticChoice] | None = None
    cost: Entry[float] | None = None
    variation: Entry[Variation] | None = None
    warm_up: Entry[KnownWarmUp] | None = None


def known_facts(known: Known) -> tuple[tuple[str, str], ...]:
    """What is known, each under a name, with its origin and age."""
    found = (
        ("important options", _fact(known.important, _options)),
        ("statistic of a run", _fact(known.statistic, _statistic)),
        ("cost of a run", _fact(known.cost, duration)),
        ("variation", _fact(known.variation, _variation)),
        ("warm-up", _fact(known.warm_up, _warm_up)),
    )
    return tuple((name, text) for name, text in found if text)


def known_json(known: Known) -> dict[str, Plain]:
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
