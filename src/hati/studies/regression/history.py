"""Where series changed: honest for each, and for all of a file together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hati.core import Better, FloatArray, InputError, Metric
from hati.stats import (
    ChangePoint,
    benjamini_hochberg,
    change_size,
    creep,
    detectable_step,
    place_interval,
    strongest_change,
)
from hati.studies.regression.cautions import outliers, warnings
from hati.studies.regression.conclusion import Detectable, Direction, HistoryConclusion, Interval, LevelChange, Trend
from hati.studies.regression.levels import Levels, levels
from hati.studies.regression.series import Series

ALPHA = 0.05


def histories(series: tuple[Series, ...], alpha: float = ALPHA, baseline: str | None = None) -> list[HistoryConclusion]:
    """Conclude about each of many series, so that the error is that of all of them.

    Of the hypotheses that a series does not change, those are rejected that Benjamini and Hochberg's procedure rejects;
    within these, change points are looked for at the level alpha R / S, R of S series being rejected (Benjamini and
    Bogomolov 2014, Selective inference on multiple families of hypotheses, Journal of the Royal Statistical Society B
    76(1), 297-318). The trends' p-values are adjusted by the same procedure.

    Args:
        series: the series of a file.
        alpha: the share of false findings that is allowed; of one series the probability of any.
        baseline: the position from which on a trend is looked for; None is the first.

    Raises:
        InputError: where a series has no such position.
    """
    chances = np.array([strongest_change(each.values, each.machines, each.dependence).p_value for each in series])
    rejected = int(np.count_nonzero(benjamini_hochberg(chances) <= alpha))
    own = alpha * max(rejected, 1) / len(series)
    concluded = [history(each, own, baseline) for each in series]
    known = [number for number, each in enumerate(concluded) if each.trend is not None]
    adjusted = benjamini_hochberg(np.array([_trend_p_value(concluded[number]) for number in known]))
    for number, p_value in zip(known, adjusted, strict=True):
        concluded[number] = _with_trend_at(concluded[number], float(p_value), alpha)
    return concluded


def history(series: Series, alpha: float = ALPHA, baseline: str | None = None) -> HistoryConclusion:
    """Conclude about one series, whose probability of any false change point is alpha.

    Raises:
        InputError: where the series has no such position.
    """
    start = 0 if baseline is None else _index(series, baseline)
    found = levels(series.values, series.machines, alpha, series.dependence)
    spread = _spread(found.residuals)
    step = detectable_step(len(series), found.phi, alpha, series.dependence)
    level = abs(float(np.median(series.values)))
    detectable = None if step is None else Detectable(step * spread, step * spread / level if level else None)
    return HistoryConclusion(
        name=series.name,
        metric=series.metric,
        positions=len(series),
        runs=int(series.runs.sum()),
        machines=len(np.unique(series.machines)),
        first=series.positions[0],
        last=series.positions[-1],
        alpha=alpha,
        change_points=_changes(series, found),
        trend=_trend(series, found, start, alpha),
        detectable=detectable,
        autocorrelation=found.phi,
        outliers=outliers(series, found),
        warnings=warnings(series, found, step),
    )


def _changes(series: Series, found: Levels) -> tuple[LevelChange, ...]:
    places = [point.index for point in found.points]
    edges = [0, *places, len(series)]
    return tuple(
        _change(series, found, point, (edges[number], edges[number + 2])) for number, point in enumerate(found.points)
    )


def _change(series: Series, found: Levels, point: ChangePoint, around: tuple[int, int]) -> LevelChange:
    start, stop = around
    place = point.index - start
    values, machines = found.straight[start:stop], series.machines[start:stop]
    size = change_size(values, machines, place, found.phi)
    first, last = place_interval(values, machines, place, found.phi)
    drifted = found.slope * (point.index - 0.5 * (len(series) - 1))
    return LevelChange(
        index=point.index,
        position=series.positions[point.index],
        previous=series.positions[point.index - 1],
        indexes=(start + first, start + last),
        positions=(series.positions[start + first], series.positions[start + last]),
        before=size.before + drifted,
        after=size.after + drifted,
        interval=size.interval,
        p_value=point.p_value,
        direction=_direction(size.difference, series.metric),
    )


def _trend(series: Series, found: Levels, start: int, alpha: float) -> Trend | None:
    strata = np.unique(found.strata[start:], return_inverse=True)[1].astype(np.intp)
    values = series.values[start:]
    if len(values) < 2 or (line := creep(values, strata, found.phi)) is None:
        return None
    own = strata == strata[0]
    times = np.arange(len(values), dtype=float)
    level = float(np.median(values[own] - line.slope * times[own]))
    return Trend(
        baseline=series.positions[start],
        baseline_index=start,
        positions=len(values) - 1,
        level=level,
        slope=line.slope,
        interval=line.interval,
        p_value=line.p_value,
        direction=_shown(line.slope, line.interval, line.p_value, alpha, series.metric),
    )


def _trend_p_value(concluded: HistoryConclusion) -> float:
    assert concluded.trend is not None
    return concluded.trend.p_value


def _with_trend_at(concluded: HistoryConclusion, p_value: float, alpha: float) -> HistoryConclusion:
    assert concluded.trend is not None
    trend = concluded.trend
    direction = _shown(trend.slope, trend.interval, p_value, alpha, concluded.metric)
    return replace(concluded, trend=replace(trend, p_value=p_value, direction=direction))


def _shown(slope: float, interval: Interval, p_value: float, alpha: float, metric: Metric) -> Direction:
    clear = p_value <= alpha and interval[0] * interval[1] > 0.0
    return _direction(slope, metric) if clear else Direction.NOT_SHOWN


def _direction(difference: float, metric: Metric) -> Direction:
    worse = difference > 0.0 if metric.better is Better.LOWER else difference < 0.0
    return Direction.SLOWER if worse else Direction.FASTER


def _spread(residuals: FloatArray) -> float:
    return float(1.4826 * np.median(np.abs(residuals - np.median(residuals))))


def _index(series: Series, position: str) -> int:
    if position not in series.positions:
        told = f" of the series {series.name!r}" if series.name else ""
        raise InputError(
            f"there is no position {position!r}{told} to pin the baseline to",
            fix=f"the first is {series.positions[0]!r}, the last {series.positions[-1]!r}",
        )
    return series.positions.index(position)
