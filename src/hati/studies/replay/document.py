"""A replay as plain values: the strata whose histories changed, and how each revision is distributed as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Assignment, Configuration, replace
from hati.core.wording import LINE, shortened
from hati.document.document import (
    Align,
    Aside,
    Cell,
    Column,
    Document,
    Section,
    Shown,
    Table,
    columns_of,
    general,
    tidy,
)
from hati.document.publishing import Joined, Of, StudyJson, publish
from hati.studies.gate.document import RevisionJson
from hati.studies.harness_changes import HarnessChange
from hati.studies.known import CoverageJson, coverage_lines
from hati.studies.regression import HistoryConclusion
from hati.studies.regression.document import HistoryJson, histories_document
from hati.studies.replay import Replayed, RevisionSpread, Skipped


class Affected(Struct, frozen=True):
    """The strata whose level changed at a position, and the number ``of`` all strata.

    ``settings`` are those that only the changed strata have in common; empty if no options' settings distinguish them
    from the others.
    """

    position: str
    benchmark: str
    metric: str
    strata: tuple[Assignment, ...]
    of: int
    settings: Assignment


def affected_strata(concluded: Sequence[HistoryConclusion]) -> tuple[Affected, ...]:
    """The changed strata, for each position, benchmark and metric with any, in the order of the positions."""
    found: dict[tuple[int, str, str, str], list[Assignment]] = {}
    strata: dict[tuple[str, str], list[Assignment]] = {}
    for one in concluded:
        if one.stratum:
            strata.setdefault((one.benchmark, one.metric.name), []).append(one.stratum)
            for change in one.change_points:
                key = change.index, change.position, one.benchmark, one.metric.name
                found.setdefault(key, []).append(one.stratum)
    return tuple(
        Affected(
            position=position,
            benchmark=benchmark,
            metric=metric,
            strata=tuple(changed),
            of=len(strata[benchmark, metric]),
            settings=_common(changed, strata[benchmark, metric]),
        )
        for (_, position, benchmark, metric), changed in sorted(found.items(), key=lambda item: item[0][0])
    )


def _common(changed: Sequence[Assignment], strata: Sequence[Assignment]) -> Assignment:
    """The settings that all changed strata have in common, if no other stratum has all of them; else empty."""
    common = {
        option: setting
        for option, setting in changed[0].items()
        if all(each.get(option) == setting for each in changed)
    }
    others = [each for each in strata if each not in changed]
    alone = not any(all(each.get(option) == setting for option, setting in common.items()) for each in others)
    return Assignment(common if alone and others else {})


class SkippedJson(Struct, frozen=True):
    """A revision that was not measured, or not with a benchmark or configuration."""

    revision: RevisionJson
    benchmark: Annotated[str | None, Of(lambda found: found.benchmark or None)]
    configuration: Configuration | None
    why: str


class RevisionSpreadJson(Struct, frozen=True):
    """How far a metric spreads over the configurations at a revision."""

    revision: RevisionJson
    quantiles: Annotated[
        dict[str, float], Of(lambda spread: zip(("0", "0.25", "0.5", "0.75", "1"), spread.quantiles, strict=True))
    ]
    configurations: int


class SpreadsJson(Struct, frozen=True):
    """The same of all revisions."""

    benchmark: str
    metric: str
    unit: str
    revisions: list[RevisionSpreadJson]


class ReplayJson(StudyJson, frozen=True, tag_field="format", tag="hati-replay-1"):
    """The series of measured revisions with their changes, the spread over configurations, and what it cost."""

    series: list[HistoryJson]
    affected: Annotated[list[Affected], Of(lambda found: affected_strata(found.series))]
    spreads: Annotated[list[SpreadsJson], Of(_spreads)]
    skipped: list[SkippedJson]
    left: int
    runs: int
    failed: int
    seconds: float
    study: str
    coverage: list[CoverageJson]
    harness_changed: Annotated[list[HarnessChange] | UnsetType, Of(lambda found: found.harness_changed or None)] = UNSET


def replay_json(
    found: Replayed, concluded: Sequence[HistoryConclusion], harness_changed: Sequence[HarnessChange] = ()
) -> ReplayJson:
    """The published histories of measured revisions."""
    return publish(Joined(found, series=concluded, harness_changed=harness_changed), ReplayJson)


def _spreads(found: Replayed) -> Iterator[Joined]:
    for (benchmark, metric), revisions in found.spreads.items():
        unit = found.metrics[benchmark, metric].unit
        yield Joined(benchmark=benchmark, metric=metric, unit=unit, revisions=revisions)


def skipped_text(found: Skipped) -> str:
    """What could not be measured, and the first line of the reason."""
    why = found.why.splitlines()[0] if found.why else "no reason is known"
    if found.configuration is None:
        return f"{found.revision} could not be measured: {why}"
    what = f"{found.benchmark} {found.configuration or 'default'}"
    left_out = "series of several configurations leave this revision out"
    return f"{what} could not be measured at {found.revision}; {left_out}: {why}"


def affected_tables(concluded: Sequence[HistoryConclusion]) -> list[Table]:
    """A row for each position at which a stratum changed, with the strata; none where nothing changed in a stratum."""
    found = affected_strata(concluded)
    if not found:
        return []
    columns = columns_of("at | benchmark | metric | > strata | where")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.position, each.benchmark, each.metric, f"{len(each.strata)} of {each.of}", _where(each)) for each in found
    )
    return [Table("Strata that changed", columns, rows, ())]


def _where(found: Affected) -> str:
    if len(found.strata) == found.of:
        return "everywhere"
    return str(found.settings) if found.settings else "; ".join(map(str, found.strata))


def spread_tables(found: Replayed) -> list[Table]:
    """A table for each benchmark and metric with several configurations: a row for each revision, with a box plot."""
    return [
        _spread_table(f"{key[1]} of {key[0]} over the configurations", found.metrics[key].unit, spreads, found.names)
        for key, spreads in found.spreads.items()
        if any(spread.configurations > 1 for spread in spreads)
    ]


def _spread_table(title: str, metric_unit: str, spreads: Sequence[RevisionSpread], names: Mapping[str, str]) -> Table:
    unit, factor = tidy(metric_unit, [value for spread in spreads for value in spread.quantiles])
    numbers = (Column(name, unit or None, Align.RIGHT) for name in ("smallest", "median", "largest"))
    low, high = (edge(spread.quantiles[place] for spread in spreads) for edge, place in ((min, 0), (max, -1)))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            names.get(spread.revision.short, spread.revision.short),
            *(Shown(general(spread.quantiles[place] * factor, 4), spread.quantiles[place]) for place in (0, 2, 4)),
            box_plot(spread.quantiles, low, high),
        )
        for spread in spreads
    )
    return Table(title, (Column("revision"), *numbers, Column("")), rows, (_LEGEND,))


def title_tables(found: Replayed, concluded: Sequence[HistoryConclusion]) -> list[Table]:
    """The titles, shortened to a line, of the revisions that other tables name; none where they have none."""
    named = {
        *(
            spread.revision.short
            for spreads in found.spreads.values()
            for spread in spreads
            if spread.configurations > 1
        ),
        *(place for one in concluded for each in one.change_points for place in (each.position, *each.positions)),
    }
    titles = {found.names.get(place, place): title for place, title in found.titles.items() if place in named}
    room = LINE - max(map(len, titles), default=0) - len("  ")
    rows = tuple((name, shortened(title, room)) for name, title in titles.items())
    return [Table("Titles of revisions", columns_of("revision | title"), rows, ())] if rows else []


_WIDTH = 32
_LEGEND = "From the smallest to the largest -, between the quartiles =, at the median |, all on one scale."


def box_plot(quantiles: Sequence[float], low: float, high: float) -> str:
    """The five quantiles drawn between two ends: the RES paper, Fig. 12, a line for each revision."""
    scale = (_WIDTH - 1) / (high - low) if high > low else 0.0
    first, lower, median, upper, last = (round((value - low) * scale) for value in quantiles)
    drawn = [" "] * _WIDTH
    drawn[first : last + 1] = "-" * (last + 1 - first)
    drawn[lower : upper + 1] = "=" * (upper + 1 - lower)
    drawn[median] = "|"
    return "".join(drawn).rstrip()


def replay_document(found: Replayed, concluded: Sequence[HistoryConclusion], further: Sequence[Aside] = ()) -> Document:
    """Where the series of a replay changed, and the distribution over the configurations at each revision."""
    covered = (("coverage", line) for line in coverage_lines(found.coverage))
    named = [_named(one, found.names) for one in concluded]
    tables: tuple[Section, ...] = (
        *affected_tables(named),
        *spread_tables(found),
        *title_tables(found, concluded),
        *further,
    )
    return histories_document(found.series, named, found, tuple(covered), tables)


def _named(one: HistoryConclusion, names: Mapping[str, str]) -> HistoryConclusion:
    """The conclusion with the names of its positions."""

    def name(position: str) -> str:
        return names.get(position, position)

    changes = (
        replace(
            each,
            position=name(each.position),
            previous=name(each.previous),
            positions=(name(each.positions[0]), name(each.positions[1])),
        )
        for each in one.change_points
    )
    handovers = (
        replace(each, position=name(each.position), bridges=tuple(map(name, each.bridges))) for each in one.handovers
    )
    return replace(
        one,
        first=name(one.first),
        last=name(one.last),
        change_points=tuple(changes),
        handovers=tuple(handovers),
        trend=one.trend and replace(one.trend, baseline=name(one.trend.baseline)),
        outliers=tuple(map(name, one.outliers)),
    )
