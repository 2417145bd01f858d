"""The changes of series, with errors controlled for each series, for all series of a file, and across machines."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray, InputError, Metric, replace
from hati.stats import (
    FEWEST_VALUES,
    Dependence,
    GradualDrift,
    benjamini_hochberg,
    gradual_drift,
    normal_scores,
    weighted_drift,
)
from hati.stats.dependence import equal_persistence
from hati.stats.intervals import least_ratio
from hati.stats.linear_models import Index
from hati.studies.comparison import TAIL_PART
from hati.studies.regression.conclusion import (
    DetectableStep,
    Direction,
    HistoryConclusion,
    Interval,
    LevelChange,
    Recurring,
    Trend,
    direction_of,
)
from hati.studies.regression.joining import JOIN_PART, handover_places, handover_warnings, with_handovers
from hati.studies.regression.levels import LevelStep, SeriesLevels, SeriesValues, is_short, long_levels, short_levels
from hati.studies.regression.series import Series
from hati.studies.regression.spikes import confirmed_spikes, with_spikes, with_tail

_FAR = 5.0
_STRONG = 0.7
_TIED = 0.5


def outliers(series: Series, found: SeriesLevels) -> tuple[str, ...]:
    """The positions whose value is more than five standard deviations (by the median of deviations) off its level."""
    if is_short(series):  # a value off its level there is a step, or within the errors
        return ()
    residuals = found.residuals
    spread = 1.4826 * float(np.median(np.abs(residuals)))
    if spread == 0.0:
        return ()
    steps = set(found.places)
    far = np.flatnonzero(np.abs(residuals) > _FAR * spread).tolist()
    return tuple(series.positions[place] for place in far if place not in steps)


def warnings(series: Series, found: SeriesLevels) -> tuple[str, ...]:
    """Problems, each with its remedy."""
    return (
        *handover_warnings(series, handover_places(series)),
        *_few(series, found),
        *_noise(series, found),
        *_drift(found),
        *_recurring_warnings(series, found),
        *_runs(series),
    )


def _few(series: Series, found: SeriesLevels) -> list[str]:
    if found.detectable is not None:
        return []
    return [
        f"{len(series)} positions with this autocorrelation find no step with 80 % power, however large: "
        "record more positions"
    ]


def _noise(series: Series, found: SeriesLevels) -> list[str]:
    found_in_noise = []
    if found.phi > _STRONG:
        found_in_noise.append(
            f"the noise is strongly autocorrelated ({found.phi:.2f}): only large steps are distinguished from it; "
            "look for what drifts on the machine"
        )
    if len(np.unique(series.values)) < _TIED * len(series):
        found_in_noise.append("more than half of the values occur several times: record them with more digits")
    return found_in_noise


def _drift(found: SeriesLevels) -> list[str]:
    if not found.slope:
        return []
    return ["the series drifts more than it steps: change points are relative to the trend"]


def _recurring_warnings(series: Series, found: SeriesLevels) -> list[str]:
    levels = found.alternation
    if levels is None:
        return []
    return [
        f"the series alternates between two levels, {levels.low:.4g} and {levels.high:.4g} {series.metric.unit}, and "
        f"regained one of them {levels.regained} times: a property of the machine or the benchmark, not a change; "
        "look for what switches (layout, frequency, neighbours)"
    ]


def _runs(series: Series) -> list[str]:
    fewest, most = int(series.runs.min()), int(series.runs.max())
    if most <= 2 * fewest or is_short(series):
        return []
    return [
        f"positions have from {fewest} to {most} runs and count alike; means of few runs are taken for as sure as "
        "those of many: give each position as many"
    ]


ALPHA = 0.05


def histories(series: tuple[Series, ...], alpha: float = ALPHA, baseline: str | None = None) -> list[HistoryConclusion]:
    """Conclude on each of many series, with the error controlled over all of them.

    Benjamini and Hochberg's procedure decides for which series the hypothesis of no change is rejected. Within these,
    change points are sought at the level alpha R / S, where R of S series are rejected (Benjamini and Bogomolov 2014,
    Selective inference on multiple families of hypotheses, Journal of the Royal Statistical Society B 76(1), 297-318).
    A series' p-value is the least of its change points at alpha, 1 without any: one above alpha is never rejected. The
    trends' p-values are adjusted by the same procedure.

    Args:
        series: the series of a file.
        alpha: the allowed fraction of false findings; with one series, the probability of any.
        baseline: the position from which a trend is sought; None is the first.

    Raises:
        InputError: if a series has no such position.
    """
    concluded = [history(each, alpha, baseline) for each in series]
    if len(series) > 1:
        chances = [min((change.p_value for change in one.change_points), default=1.0) for one in concluded]
        rejected = int(np.count_nonzero(benjamini_hochberg(np.array(chances)) <= alpha))
        own = alpha * max(rejected, 1) / len(series)
        concluded = [history(each, own, baseline) for each in series]
    known = [number for number, each in enumerate(concluded) if each.trend is not None]
    adjusted = benjamini_hochberg(np.array([_trend_p_value(concluded[number]) for number in known]))
    for number, p_value in zip(known, adjusted, strict=True):
        concluded[number] = _with_trend_at(concluded[number], float(p_value), alpha)
    return concluded


def history(series: Series, alpha: float = ALPHA, baseline: str | None = None) -> HistoryConclusion:
    """Conclude on one series; the probability of any false change point is alpha.

    The tail, if there is one, has a quarter of alpha, and the statistic of a run has the rest.

    Raises:
        InputError: if the series has no such position.
    """
    if series.tails is None:
        return _concluded(series, alpha, baseline)
    found = _concluded(series, alpha * (1.0 - TAIL_PART), baseline)
    relative = _concluded(series.tails.relative, alpha * TAIL_PART, None).change_points
    return replace(found, alpha=alpha, change_points=with_tail(found.change_points, relative, series.tails.mean))


def _concluded(series: Series, alpha: float, baseline: str | None) -> HistoryConclusion:
    start = 0 if baseline is None else _index(series, baseline)
    places = handover_places(series)
    part = 1.0 - JOIN_PART if any(place.joined for place in places) else 1.0
    found = _levels(series, part * alpha)
    handovers, joined = with_handovers(series, found, places, alpha)
    own = (_change(series, each) for each in found.steps)
    changes = (*(replace(each, p_value=min(1.0, each.p_value / part)) for each in own), *joined)
    level = abs(float(np.median(series.values)))
    step = found.detectable
    return HistoryConclusion(
        name=series.name,
        metric=series.metric,
        positions=len(series),
        runs=int(series.runs.sum()),
        machines=series.number_of_machines,
        first=series.positions[0],
        last=series.positions[-1],
        alpha=alpha,
        change_points=tuple(sorted(changes, key=lambda each: each.index)),
        trend=_trend(series, found, start, alpha),
        detectable=None if step is None else DetectableStep(step, step / level if level else None),
        autocorrelation=found.phi,
        outliers=outliers(series, found),
        warnings=warnings(series, found),
        assumptions=found.assumptions,
        recurring=_recurring(found),
        stratum=series.stratum,
        benchmark=series.benchmark,
        choice=series.choice,
        handovers=handovers,
    )


def _levels(series: Series, alpha: float) -> SeriesLevels:
    if is_short(series):
        return short_levels(series, alpha)
    values = SeriesValues(series.values, series.machines, alpha, series.dependence)
    found = long_levels(values)
    spikes = confirmed_spikes(series, found, alpha)
    if not spikes.any():
        return found
    leveled = np.where(spikes > 0, series.values - found.residuals_without(spikes > 0), series.values)
    apart = long_levels(replace(values, values=leveled))  # a spike hides steps near it
    apart = replace(apart, straight=apart.straight + series.values - leveled)
    again = confirmed_spikes(series, apart, alpha)
    return with_spikes(series, apart, again) if again.any() else with_spikes(series, found, spikes)


def _recurring(found: SeriesLevels) -> Recurring | None:
    levels = found.alternation
    return None if levels is None else Recurring(levels.low, levels.high, levels.regained)


def _change(series: Series, step: LevelStep) -> LevelChange:
    first, last = step.indexes
    return LevelChange(
        index=step.index,
        position=series.positions[step.index],
        previous=series.positions[step.index - 1],
        indexes=step.indexes,
        positions=(series.positions[first], series.positions[last]),
        before=step.before,
        after=step.after,
        interval=_possible(step.interval, step.before, series.values),
        p_value=step.p_value,
        direction=direction_of(step.after - step.before, series.metric),
    )


def _trend(series: Series, found: SeriesLevels, start: int, alpha: float) -> Trend | None:
    strata = np.unique(found.strata[start:], return_inverse=True)[1].astype(np.intp)
    values = (found.straight + found.slope * _middle(len(series)))[start:]
    line = _line(series, found, start, values, strata)
    if line is None:
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
        interval=_possible(line.interval, level / max(1, len(values) - 1), series.values),
        p_value=line.p_value,
        direction=_shown(line.slope, line.interval, line.p_value, alpha, series.metric),
    )


def _possible(interval: Interval, most: float, values: FloatArray) -> Interval:
    """The interval of a change without falls by more than ``most``, which values that are never negative exclude."""
    low, high = interval
    return (max(low, -most), high) if min(most, most + high) > 0.0 and least_ratio(values) == 0.0 else interval


def _line(series: Series, found: SeriesLevels, start: int, values: FloatArray, strata: Index) -> GradualDrift | None:
    """The drift within the levels from position ``start`` on; None with too few values."""
    if found.freedom:
        return weighted_drift(values, strata, found.errors[start:], found.freedom)
    first = gradual_drift(values, strata, 0.0)
    if first is None or not start:
        return first if first is None else gradual_drift(values, strata, found.persistence)
    # A drift that starts at the baseline looks like autocorrelated noise in the whole series.
    straight = values - first.slope * _middle(len(values))
    return gradual_drift(values, strata, _persistence(series, found, straight, strata))


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
    return direction_of(slope, metric) if clear else Direction.NOT_SHOWN


def _persistence(series: Series, found: SeriesLevels, straight: FloatArray, strata: Index) -> float:
    """The long-run autocorrelation of the noise around a line; that around the levels if this is not estimated."""
    if is_short(series) or series.dependence is Dependence.INDEPENDENT or len(straight) < FEWEST_VALUES:
        return found.persistence
    scores = normal_scores(straight, strata)
    return max(float(series.dependence.of(scores)), equal_persistence(scores))


def _middle(size: int) -> FloatArray:
    return np.asarray(np.arange(size) - 0.5 * (size - 1))


def _index(series: Series, position: str) -> int:
    if position not in series.positions:
        named = f" of the series {series.name!r}" if series.name else ""
        raise InputError(
            f"there is no position {position!r}{named} to pin the baseline to",
            fix=f"the first is {series.positions[0]!r}, the last {series.positions[-1]!r}",
        )
    return series.positions.index(position)
