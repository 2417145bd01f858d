"""Histories as documents with charts: values by position, levels, changes, and the distribution over the space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hati.document.document import Aside, Chart, ChartKind, Document, Fact, Facts, Part, Prose, Section
from hati.document.quantities import change, tidy
from hati.studies.regression import HistoryConclusion, Series
from hati.studies.regression.tables import histories_answer, history_answer, history_facts, history_table, series_title
from hati.studies.replay import Replayed, RevisionSpread

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


def history_figure(
    series: Series, concluded: HistoryConclusion, spreads: Mapping[str, RevisionSpread] | None = None
) -> HistoryFigure:
    """The data of one series' chart; ``spreads`` are the distributions over the space by position."""
    spreads = spreads or {}
    quantiles = [spreads[name].quantiles if name in spreads else None for name in series.positions]
    known = [value for each in quantiles if each for value in each]
    unit, factor = tidy(series.metric.unit, [*series.values.tolist(), *known])
    margins = _ERRORS * series.errors if len(series.errors) else np.full(len(series), np.nan)
    points = tuple(
        HistoryPoint(
            name,
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
        history_figure(series, concluded, _spreads(series, replayed)) if place in drawn else None
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
