"""Histories as documents with charts and as published values: levels, changes, and the distribution over the space."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import Assignment, Better
from hati.core.wording import counted, listed
from hati.document.document import (
    Align,
    Aside,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Fact,
    Facts,
    Part,
    Prose,
    Section,
    Shown,
    Table,
    change,
    change_number,
    general,
    quantity,
    tidy,
)
from hati.document.publishing import DetectableJson, Interval, Joined, Of, StudyJson, detectable_json, publish
from hati.studies.comparison import StatisticChoice
from hati.studies.comparison.conclusion import ChoiceJson
from hati.studies.regression import (
    DetectableStep,
    Direction,
    Handover,
    HistoryConclusion,
    LevelChange,
    Recurring,
    Series,
    Trend,
)
from hati.studies.replay import Replayed, RevisionSpread

_RIGHT = Align.RIGHT
_TINY = 1e-4


def history_table(concluded: HistoryConclusion) -> Table:
    """A row for each change of level, with the warnings as notes."""
    levels = [level for one in concluded.change_points if not one.of_tail for level in (one.before, one.after)]
    unit, factor = tidy(concluded.metric.unit, levels)
    columns = (
        Column("at"),
        Column("between"),
        Column("before", unit or None, _RIGHT),
        Column("after", unit or None, _RIGHT),
        Column("change", "%", _RIGHT),
        Column("95 % interval", "%", _RIGHT),
        Column("p", None, _RIGHT),
        Column("verdict"),
    )
    title = f"Changes of {series_title(concluded)}"
    rows = tuple(_row(one, factor) for one in concluded.change_points)
    return Table(title, columns, rows, tuple(f"{text[0].upper()}{text[1:]}." for text in concluded.warnings))


def history_facts(concluded: HistoryConclusion) -> tuple[tuple[str, str], ...]:
    """The series, its trend, and the detectable changes, each under a name."""
    span = f"{concluded.positions:,}, from {concluded.first} to {concluded.last}"
    machines = f", {concluded.machines} machines" if concluded.machines > 1 else ""
    return (
        *((("series", concluded.name),) if concluded.name else ()),
        ("positions", f"{span}; {counted(concluded.runs, 'run')}{machines}"),
        *(("change of machine", _handover_text(one, concluded)) for one in concluded.handovers),
        *((("statistic", _statistic_text(concluded.choice)),) if concluded.choice else ()),
        ("trend", _trend_text(concluded.trend, concluded.metric.unit)),
        ("detectable", _detectable_text(concluded.detectable, concluded)),
        *(("assumes", text) for text in concluded.assumptions),
        *((("outliers", _named(concluded.outliers)),) if concluded.outliers else ()),
    )


def history_answer(concluded: HistoryConclusion) -> str:
    """Where the level changed, in a sentence."""
    found = concluded.change_points
    where = f" where {concluded.stratum}" if concluded.stratum else ""
    if not found:
        return f"No change of {concluded.metric.name}{where} is shown (alpha {general(concluded.alpha, 3)})."
    changes = "; ".join(f"{_verdict(one)} by {_by(one, concluded.metric.unit)} {_place(one)}" for one in found)
    return f"{changes[0].upper()}{changes[1:]}{where}."


def series_title(concluded: HistoryConclusion) -> str:
    """The title of a series: metric, name and stratum; the name of a series measured by Hati has all three."""
    metric, name = concluded.metric.name, concluded.name
    if metric in name.split():
        return name
    where = f" where {concluded.stratum}" if concluded.stratum else ""
    return f"{metric} of {name}{where}" if name else f"{metric}{where}"


def histories_answer(concluded: Sequence[HistoryConclusion]) -> str:
    """The number of series that changed, in a sentence; for a single series, its own answer.

    A series over all configurations of a benchmark repeats its strata: it is named only if none of these changed.
    """
    if len(concluded) == 1:
        return history_answer(concluded[0])
    parted = {(one.benchmark, one.metric.name) for one in concluded if one.stratum}
    apart = [one for one in concluded if one.stratum or (one.benchmark, one.metric.name) not in parted]
    changed = [one for one in apart if one.change_points]
    words = "were shown to change their" if len(changed) > 1 else "was shown to change its"
    found = f"{len(changed) or 'None'} of {len(apart)} series {words} level"
    still = parted - {(one.benchmark, one.metric.name) for one in changed}
    alone = [
        one for one in concluded if not one.stratum and one.change_points and (one.benchmark, one.metric.name) in still
    ]
    only = f"; over all configurations only: {listed(map(series_title, alone))}" if alone else ""
    return f"{found}{only}{'' if changed else _detectable_in_all(apart)}."


def _detectable_in_all(concluded: Sequence[HistoryConclusion]) -> str:
    """The step that is found in each of the series; nothing where their levels have no common scale."""
    found = [one.detectable for one in concluded if not one.constant]
    none = sum(each is None for each in found)
    if none:
        return f"; in {none} of them no step, however large, is found with 80 % power"
    steps = [(each.relative, each.relative_fall) for each in found if each]
    rises = [rise for rise, _ in steps if rise is not None]
    falls = [fall for _, fall in steps if fall is not None]
    if not steps or len(rises) < len(steps):
        return ""
    rise = f"; in each, a rise of {_percent(max(rises))}"
    if len(falls) < len(steps):
        return f"{rise} is found with 80 % power"
    return f"{rise} and a fall of {_percent(max(falls))} are found with 80 % power"


class LevelChangeJson(Struct, frozen=True):
    """A change of level, after ``previous`` at ``position``; intervals of both are of the place."""

    index: int
    position: str
    previous: str
    index_interval: Annotated[tuple[int, int], Of("indexes")]
    position_interval: Annotated[tuple[str, str], Of("positions")]
    before: float
    after: float
    change: float
    interval: Interval
    unit: Annotated[str, Of(lambda one: "1" if one.of_tail else one.metric.unit)]
    of_tail: bool
    relative: float | None
    relative_interval: Interval | None
    p_value: float
    verdict: Annotated[Direction, Of("direction")]
    bridges: int
    machine_ratio: float


class HandoverJson(Struct, frozen=True):
    """A change of all machines; ``change`` is a fraction, beyond the ``ratio`` of the new machine to the old one."""

    index: int
    position: str
    previous: str
    machines: tuple[str, str]
    bridges: list[str]
    ratio: float | None
    ratio_interval: Interval | None
    change: float | None
    interval: Interval | None
    p_value: float | None
    verdict: Annotated[Direction, Of("direction")]


class TrendJson(Struct, frozen=True):
    """A gradual change since a baseline."""

    baseline: str
    baseline_index: int
    positions: int
    level: float | None
    slope: float | None
    interval: Interval
    change: float | None
    change_interval: Interval
    unit: Annotated[str, Of("metric.unit")]
    relative: float | None
    relative_interval: Interval | None
    p_value: float | None
    verdict: Annotated[Direction, Of("direction")]


class RecurringJson(Recurring, frozen=True):
    """Two levels between which a series goes back and forth."""

    unit: Annotated[str, Of("metric.unit")]


class HistoryJson(StudyJson, frozen=True, tag_field="format", tag="hati-history-1"):
    """What the history of one series shows."""

    benchmark: Annotated[str, Of("name")]
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    positions: int
    runs: int
    machines: int
    first: str
    last: str
    alpha: float
    change_points: Annotated[list[LevelChangeJson], Of(lambda of: [Joined(one, of) for one in of.change_points])]
    handovers: list[HandoverJson]
    trend: Annotated[TrendJson | None, Of(lambda of: of.trend and Joined(of.trend, of))]
    detectable: Annotated[
        DetectableJson, Of(lambda of: detectable_json(of.detectable and of.detectable.step, of.detectable, of.metric))
    ]
    autocorrelation: float | None
    outliers: list[str]
    assumptions: list[str]
    recurring: Annotated[RecurringJson | None, Of(lambda of: of.recurring and Joined(of.recurring, of))]
    stratum: Assignment
    statistic: Annotated[str | None, Of(lambda of: of.choice and str(of.choice.statistic))]
    statistic_choice: Annotated[ChoiceJson | None, Of(lambda of: of.choice if of.choice and of.choice.reason else None)]
    warnings: list[str]


class HistoriesJson(StudyJson, frozen=True, tag_field="format", tag="hati-histories-1"):
    """What the histories of several series show."""

    series: list[HistoryJson]


def histories_json(concluded: Sequence[HistoryConclusion]) -> HistoryJson | HistoriesJson:
    """The published histories of a file; for a file of one series, that history alone."""
    published = [publish(one, HistoryJson) for one in concluded]
    return published[0] if len(published) == 1 else HistoriesJson(published)


def _row(one: LevelChange, factor: float) -> tuple[Cell, ...]:
    interval = one.relative_interval
    shown = f"{change_number(interval[0])} to {change_number(interval[1])}" if interval else ""
    first, last = one.positions
    return (
        one.position,
        first if first == last else f"{first} and {last}",
        *(None if one.of_tail else Shown(general(level * factor), level * factor) for level in (one.before, one.after)),
        None if one.relative is None else Shown(change_number(one.relative), 100.0 * one.relative),
        Shown(shown, shown),
        Shown(_p(one.p_value), one.p_value),
        _verdict(one),
    )


def _handover_text(one: Handover, concluded: HistoryConclusion) -> str:
    """The machines, their ratio by the positions measured on both, and the change that remains."""
    old, new = one.machines
    what = f"{old} to {new} at {one.position}" if concluded.machines > 1 else f"at {one.position}"
    if one.ratio is None:
        return f"{what}: no position was measured on both"
    ratio = f"{what}: {change(one.ratio - 1.0)}{_range(one.ratio_interval, 1.0)} by {_named(one.bridges)} on both"
    if one.change is None or one.interval is None:
        return f"{ratio}; too few positions to estimate a change there"
    beyond = f"{ratio}; {change(one.change)}{_range(one.interval, 0.0)} is left for a change there"
    return beyond if one.p_value is not None else f"{beyond} if that ratio does not vary: not decided"


def _range(interval: tuple[float, float] | None, none: float) -> str:
    """An interval in percent; empty where there is none."""
    if interval is None:
        return ""
    return f" ({change(interval[0] - none)} to {change(interval[1] - none)})"


def _verdict(one: LevelChange) -> str:
    return f"{one.direction} (tail)" if one.of_tail else one.direction.value


def _statistic_text(choice: StatisticChoice) -> str:
    """The statistic that stands for a run, and why."""
    return "; ".join(filter(None, (choice.statistic.title, choice.reason)))


def _trend_text(trend: Trend | None, unit: str) -> str:
    if trend is None:
        return "too few values to decide"
    change_text = change(trend.relative) if trend.relative is not None else quantity(trend.change, unit)
    low, high = trend.relative_interval or trend.change_interval
    bounds = " to ".join(_bound(bound, None if trend.relative_interval else unit) for bound in (low, high))
    if math.isinf(low) and math.isinf(high):
        bounds = "too few values for bounds"
    verdict = "no drift is shown" if trend.direction is Direction.NOT_SHOWN else f"gradually {trend.direction}"
    return (
        f"{verdict}: {change_text} over {trend.positions:,} positions since {trend.baseline} "
        f"({bounds}, p = {_p(trend.p_value)})"
    )


def _bound(bound: float, unit: str | None) -> str:
    """The text of a bound; ``unbounded`` if too few values determine it."""
    if not math.isfinite(bound):
        return "unbounded"
    return change(bound) if unit is None else quantity(bound, unit)


def _detectable_text(found: DetectableStep | None, concluded: HistoryConclusion) -> str:
    if concluded.constant:
        return "all values are equal"
    if found is None:
        return "no step, however large, is found with 80 % power"
    rise = _size(found.step, found.relative, concluded.metric.unit)
    if found.fall is None:
        return f"a rise of {rise} in the middle is found with 80 % power, but no fall, however large"
    fall = _size(found.fall, found.relative_fall, concluded.metric.unit)
    size = f"a step of {rise}" if rise == fall else f"a rise of {rise} or a fall of {fall}"
    return f"{size} in the middle is found with 80 % power"


def _size(step: float, relative: float | None, unit: str) -> str:
    size = quantity(step, unit, 3)
    return size if relative is None else f"{size} ({_percent(relative)})"


def _percent(relative: float) -> str:
    return change(relative).lstrip("+")


def _place(one: LevelChange) -> str:
    """Where the new level begins: the interval as in the table, and the estimate."""
    first, last = one.positions
    return f"at {one.position}" if first == last else f"between {first} and {last}, most likely at {one.position}"


def _by(one: LevelChange, unit: str) -> str:
    return change(one.relative).lstrip("+-") if one.relative is not None else quantity(abs(one.change), unit)


def _named(positions: tuple[str, ...]) -> str:
    return listed(positions, 8)


def _p(p_value: float) -> str:
    return "<0.0001" if p_value < _TINY else general(p_value, 2)


_MOST = 40
"""Series that are drawn."""
_ERRORS = 2.0

Quantiles = tuple[float, float, float, float, float]


class HistoryPoint(NamedTuple):
    """A position: its value, two standard errors around it where there are runs, and the quantiles over the space."""

    position: str
    value: float
    low: float | None
    high: float | None
    quantiles: Quantiles | None


class HistoryLevel(NamedTuple):
    """A level from its first to its last position; places count from 0."""

    first: int
    last: int
    level: float


class HistoryStep(NamedTuple):
    """A change of level: its place and its description."""

    place: int
    text: str
    direction: str


class HistoryFigure(NamedTuple):
    """The data of a series' chart; values are in ``unit``, the metric's unit tidied."""

    title: str
    metric: str
    unit: str
    points: tuple[HistoryPoint, ...]
    levels: tuple[HistoryLevel, ...]
    steps: tuple[HistoryStep, ...]


def history_figure(series: Series, concluded: HistoryConclusion, replayed: Replayed | None = None) -> HistoryFigure:
    """The data of one series' chart; of revisions, with their names and the distributions over the space."""
    spreads, names = _spreads(series, replayed), {} if replayed is None else replayed.names
    quantiles = [spreads[name].quantiles if name in spreads else None for name in series.positions]
    known = [value for each in quantiles if each for value in each]
    unit, factor = tidy(series.metric.unit, [*series.values.tolist(), *known])
    margins = _ERRORS * series.errors if len(series.errors) else np.full(len(series), np.nan)
    points = tuple(
        HistoryPoint(
            names.get(name, name),
            float(value) * factor,
            None if np.isnan(margin) else float(value - margin) * factor,
            None if np.isnan(margin) else float(value + margin) * factor,
            None if box is None else _scaled(box, factor),
        )
        for name, value, margin, box in zip(series.positions, series.values, margins, quantiles, strict=True)
    )
    return HistoryFigure(
        series_title(concluded), series.metric.name, unit, points, _levels(concluded, factor), _steps(concluded)
    )


def _scaled(quantiles: Quantiles, factor: float) -> Quantiles:
    smallest, lower, median, upper, largest = (each * factor for each in quantiles)
    return smallest, lower, median, upper, largest


def history_figures(
    pairs: Sequence[tuple[Series, HistoryConclusion]], replayed: Replayed | None = None
) -> tuple[HistoryFigure | None, ...]:
    """A figure for each series, None for those beyond the largest number; series that changed come first."""
    ordered = sorted(range(len(pairs)), key=lambda place: (not pairs[place][1].change_points, place))
    drawn = set(ordered[:_MOST])
    return tuple(
        history_figure(series, concluded, replayed) if place in drawn else None
        for place, (series, concluded) in enumerate(pairs)
    )


def _spreads(series: Series, replayed: Replayed | None) -> Mapping[str, RevisionSpread]:
    """The distribution over the whole space at each revision; empty for a stratum or a single configuration."""
    if replayed is None or series.stratum:
        return {}
    return {
        spread.revision.short: spread
        for (benchmark, metric), spreads in replayed.spreads.items()
        if metric == series.metric.name and series.benchmark in {"", benchmark}
        for spread in spreads
        if spread.configurations > 1
    }


def _levels(concluded: HistoryConclusion, factor: float) -> tuple[HistoryLevel, ...]:
    changes = [one for one in concluded.change_points if not one.of_tail]
    if not changes:
        return ()
    firsts = [0, *(one.index for one in changes)]
    lasts = [*(first - 1 for first in firsts[1:]), concluded.positions - 1]
    levels = [changes[0].before / changes[0].machine_ratio, *(one.after for one in changes)]
    return tuple(HistoryLevel(*each) for each in zip(firsts, lasts, (level * factor for level in levels), strict=True))


def _steps(concluded: HistoryConclusion) -> tuple[HistoryStep, ...]:
    return tuple(
        HistoryStep(
            one.index,
            f"{one.direction} by {change(one.relative)}" if one.relative is not None else one.direction.value,
            one.direction.value,
        )
        for one in concluded.change_points
    )


def histories_document(
    series: Sequence[Series],
    concluded: Sequence[HistoryConclusion],
    replayed: Replayed | None = None,
    facts: Sequence[Fact] = (),
    tables: Sequence[Section] = (),
) -> Document:
    """Each series with its chart, changes and trend, and tables over all."""
    figures = history_figures(list(zip(series, concluded, strict=True)), replayed)
    of_series = [
        (_series_facts(one), _series_sections(one, figure, place))
        for place, (one, figure) in enumerate(zip(concluded, figures, strict=True))
    ]
    if len(concluded) == 1:
        ((_, shown),) = of_series
        own = history_facts(concluded[0])
    else:
        own = ()
        shown = tuple(
            Part(series_title(one), history_answer(one), (Facts("", lines), *sections))
            for one, (lines, sections) in zip(concluded, of_series, strict=True)
        )
    return Document(
        f"History of {', '.join(dict.fromkeys(one.metric.name for one in concluded))}",
        histories_answer(concluded),
        facts=(
            *facts,
            *own,
        ),
        sections=(*shown, *tables, *_not_drawn(figures)),
        warnings=concluded[0].warnings if len(concluded) == 1 and not concluded[0].change_points else (),
        study=replayed.study if replayed else "",
    )


def _not_drawn(figures: Sequence[HistoryFigure | None]) -> tuple[Aside, ...]:
    left = sum(figure is None for figure in figures)
    text = f"{left} of {len(figures)} series are not drawn: those that changed come first."
    return (Aside("Charts that are left out", (Prose((text,)),)),) if left else ()


def _series_facts(concluded: HistoryConclusion) -> tuple[Fact, ...]:
    """The facts of one of several series, without the name in its title and the warnings in its table's notes."""
    facts = (fact for fact in history_facts(concluded) if fact[0] != "series")
    warnings = () if concluded.change_points else concluded.warnings
    return (*facts, *(("warning", text) for text in warnings))


def _series_sections(concluded: HistoryConclusion, figure: HistoryFigure | None, place: int) -> tuple[Section, ...]:
    table = (history_table(concluded),) if concluded.change_points else ()
    if figure is None:
        return table
    return (*table, Chart(ChartKind.HISTORY, f"series-{place}", f"{figure.title}, by position.", figure))
