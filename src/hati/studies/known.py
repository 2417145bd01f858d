"""Known properties of a benchmark and metric, and the measured part of a space: sentences and published values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Struct

from hati.core.wording import counted
from hati.document.document import duration, percent
from hati.document.publishing import Of
from hati.knowledge import Coverage, Entry, ImportantOptions, KnownWarmUp, Variation
from hati.studies.comparison import ChoiceBasis, StatisticChoice

T = TypeVar("T")


class Knowledge(Struct, frozen=True):
    """The basis for planning new studies of a benchmark and metric; unknown fields are None.

    ``cost`` is the cost of a run in seconds; ``statistic`` stands for a run in comparisons; ``warm_up`` applies to runs
    whose benchmark states none.
    """

    important: Entry[ImportantOptions] | None = None
    statistic: Entry[StatisticChoice] | None = None
    cost: Entry[float] | None = None
    variation: Entry[Variation] | None = None
    warm_up: Entry[KnownWarmUp] | None = None


def known_facts(known: Knowledge) -> tuple[tuple[str, str], ...]:
    """The known properties, each under a name, with its origin and age."""
    found = (
        ("important options", _fact(known.important, _options)),
        ("statistic of a run", _fact(known.statistic, _statistic)),
        ("cost of a run", _fact(known.cost, duration)),
        ("variation", _fact(known.variation, _variation)),
        ("warm-up", _fact(known.warm_up, _warm_up)),
    )
    return tuple((name, text) for name, text in found if text)


class KnownJson(Struct, frozen=True):
    """Common fields of knowledge from earlier studies: its source, and why that one is preferred."""

    study: Annotated[str, Of("provenance.study")]
    runs: Annotated[int, Of("provenance.runs")]
    measured: Annotated[str, Of(lambda entry: entry.provenance.measured.isoformat())]
    age_seconds: Annotated[float, Of(lambda entry: entry.age.total_seconds())]
    revision: Annotated[str | None, Of(lambda entry: entry.provenance.revision or None)]
    machine: Annotated[str | None, Of(lambda entry: entry.provenance.machine or None)]
    reason: Annotated[str, Of("preferred")]


class KnownOptionsJson(KnownJson, frozen=True):
    """The options that are important."""

    options: Annotated[list[str], Of("value.options")]


class KnownStatisticJson(KnownJson, frozen=True):
    """What stands for a run in comparisons."""

    statistic: Annotated[str, Of(lambda entry: str(entry.value.statistic))]
    basis: Annotated[ChoiceBasis, Of("value.basis")]
    sources: Annotated[int, Of("value.sources")]
    spread: Annotated[float | None, Of("value.spread")]
    version: Annotated[int, Of("value.version")]


class KnownCostJson(KnownJson, frozen=True):
    """What a run costs."""

    seconds: Annotated[float, Of("value")]


class KnownVariationJson(KnownJson, frozen=True):
    """Relative variances: of interactions, and of the noise."""

    interactions: Annotated[float, Of("value.interactions")]
    noise: Annotated[float, Of("value.noise")]


class KnownWarmUpJson(KnownJson, frozen=True):
    """The observations that are warm-up, and the runs that are steady after them."""

    observations: Annotated[int, Of("value.observations")]
    steady: Annotated[int, Of("value.steady")]


class KnowledgeJson(Struct, frozen=True):
    """The basis for planning new studies of a benchmark and metric; unknown fields are null."""

    important_options: Annotated[KnownOptionsJson | None, Of("important")]
    statistic: KnownStatisticJson | None
    run_cost: Annotated[KnownCostJson | None, Of("cost")]
    variation: KnownVariationJson | None
    warm_up: KnownWarmUpJson | None


def _fact(entry: Entry[T] | None, text: Callable[[T], str]) -> str:
    return "" if entry is None else f"{text(entry.value)} ({entry.source})"


def _options(found: ImportantOptions) -> str:
    return ", ".join(found.options) or "none"


def _statistic(choice: StatisticChoice) -> str:
    return choice.statistic.title


def _variation(found: Variation) -> str:
    """Standard deviations; without repetitions, noise and interactions cannot be separated."""
    between = percent(found.interactions**0.5, 2)
    if found.noise == 0.0:
        return f"configurations vary by {between} beyond main effects, noise included"
    return f"runs vary by {percent(found.noise**0.5, 2)}, configurations by {between} beyond main effects"


def _warm_up(found: KnownWarmUp) -> str:
    return f"the first {found.observations:,} observations; after these {found.steady} of {found.runs} runs are steady"


class CoverageJson(Struct, frozen=True):
    """Of a benchmark the configurations that are measured, of how many, and why these."""

    benchmark: str
    configurations: int
    space: int | None
    strata: list[str]
    source: str


def partial_coverage(coverage: Sequence[Coverage]) -> str:
    """The number of configurations measured, out of all; empty unless nothing is known about the others.

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
    """Why these configurations are measured, in sentences; benchmarks with the same remedy have one."""
    sources: dict[str, list[str]] = {}
    for one in coverage:
        if one.partial:
            sources.setdefault(one.remedy, []).append(one.source)
    partial = (f"Measured: {'; '.join(dict.fromkeys(own))}. {remedy}".strip() for remedy, own in sources.items())
    return (*partial, *dict.fromkeys(_note(one) for one in coverage if not one.partial))


def coverage_lines(coverage: Sequence[Coverage]) -> tuple[str, ...]:
    """The lines before an answer about revisions: the coverage, if it is partial, and why these are measured."""
    partial = partial_coverage(coverage)
    return (*((f"{partial}.",) if partial else ()), *coverage_notes(coverage))


def _note(one: Coverage) -> str:
    measured = counted(one.configurations, "configuration")
    if not one.strata:
        return f"Measured: {measured} ({one.source})."
    every = "every setting" if len(one.strata) == 1 else "every combination of the settings"
    return f"Measured: {measured} with {every} of {', '.join(one.strata)} ({one.source})."
