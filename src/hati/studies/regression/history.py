"""The changes of series, with errors controlled for each series and for all of a file, across machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hati.core import FloatArray, InputError, Metric, replace
from hati.core.wording import listed
from hati.stats import (
    FEWEST_VALUES,
    REGAINED,
    Dependence,
    GradualDrift,
    PositionStep,
    benjamini_hochberg,
    gradual_drift,
    normal_scores,
    resolution,
    spread_freedom,
    t_quantile,
    t_two_sided,
    weighted_drift,
)
from hati.stats.dependence import equal_persistence
from hati.stats.linear_models import Index
from hati.stats.ratios import least_ratio
from hati.studies.comparison import DIRECTION, TAIL_PART
from hati.studies.regression.conclusion import (
    DetectableStep,
    Direction,
    HistoryConclusion,
    Interval,
    LevelChange,
    Recurring,
    Series,
    Trend,
    direction_of,
)
from hati.studies.regression.joining import JOIN_PART, handover_places, handover_warnings, with_handovers
from hati.studies.regression.levels import SeriesLevels, SeriesValues, is_short, long_levels, short_levels

_PART = 0.2
_APART = 2.0
_MOST_FREEDOM = 5.0
"""Positions of sessions, layouts or days often have heavier tails than normal ones."""
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def confirmed_spikes(series: Series, found: SeriesLevels, alpha: float) -> Index:
    """The number of the spike of each position, counted from 1, shape (n,); 0 without a spike.

    A position is on a spike if its distance from its level is significant at a fifth of alpha, corrected for all
    positions, by Student's t of the positions' robust standard deviation with at most five degrees of freedom, as
    positions have heavy tails; and if spikes are at least twice as far off as all other positions. Neighbours on the
    same side of their levels are one spike. More than two spikes recur, and are outliers.
    """
    none = np.zeros(len(series), dtype=np.intp)
    if not series.freedom or len(series) < 3:
        return none
    deviation = _deviation(series, found)
    if deviation <= 0.0:
        return none
    distances = np.abs(found.residuals) / np.maximum(deviation, series.errors)
    spikes = (_chances(distances) <= _PART * alpha) & (series.runs > 1)
    if not spikes.any() or distances[spikes].min() < _APART * distances[~spikes].max(initial=0.0):
        return none
    sides = np.where(spikes, np.sign(found.residuals), 0.0)
    starts = (sides != 0.0) & (np.diff(sides, prepend=0.0) != 0.0)
    return none if starts.sum() >= REGAINED else np.where(spikes, np.cumsum(starts), 0)


def with_spikes(series: Series, found: SeriesLevels, spikes: Index) -> SeriesLevels:
    """The levels with a step to each of these spikes, and a step to the level that follows it."""
    deviation = _deviation(series, found)
    chances = _chances(np.abs(found.residuals) / deviation) / _PART
    margin = t_quantile(0.975, spread_freedom(len(series) - 1)) * deviation
    path = series.values - found.residuals_without(spikes > 0)
    variances, chance = np.zeros(len(series)), np.ones(len(series))
    for number in range(1, int(spikes.max()) + 1):
        own = spikes == number
        path[own], variances[own], chance[own] = series.values[own].mean(), 1.0 / own.sum(), chances[own].max()
    steps = [step for step in found.steps if spikes[step.index] == spikes[step.index - 1] == 0]
    for place in (np.flatnonzero(np.diff(spikes)) + 1).tolist():
        before, after = float(path[place - 1]), float(path[place])
        error = margin * math.sqrt(float(variances[place - 1 : place + 1].sum()))
        interval = (after - before - error, after - before + error)
        p_value = min(1.0, float(chance[place - 1 : place + 1].min()))
        steps.append(PositionStep(place, (place, place), before, after, interval, p_value))
    return replace(found, steps=tuple(sorted(steps, key=lambda step: step.index)))


def _deviation(series: Series, found: SeriesLevels) -> float:
    """The standard deviation of positions about their levels: at least that of their runs, and of rounding."""
    robust = _MAD * float(np.median(np.abs(found.residuals)))
    return max(robust, float(np.median(series.errors)), resolution(series.values) / math.sqrt(12.0))


def _chances(distances: FloatArray) -> FloatArray:
    size = len(distances)
    return size * t_two_sided(distances, min(spread_freedom(size - 1), _MOST_FREEDOM))


def with_tail(own: Sequence[LevelChange], relative: Sequence[LevelChange], mean: Series) -> tuple[LevelChange, ...]:
    """The changes of the statistic and of the tail in order, p-values corrected for both.

    The tail is slower or faster only if the mean is shown to have moved the same way, one-sided at 5 %: runs whose
    fast path gets faster have a longer tail and a smaller mean. If statistic and tail change at one place, this is one
    change: the tail's if they move in opposite directions, else the statistic's.

    Args:
        own: the changes of the statistic.
        relative: the changes of the means relative to it.
        mean: the means of the same runs.
    """
    places = [each.index for each in (*own, *relative)]
    tail = [each for each in relative if _moved(mean, each, places)]
    kept = [each for each in own if not any(_overlap(each, other) and _opposite(each, other) for other in tail)]
    tail = [each for each in tail if not any(_overlap(each, other) for other in kept)]
    found = [replace(each, p_value=min(1.0, each.p_value / (1.0 - TAIL_PART))) for each in kept]
    found += [replace(each, p_value=min(1.0, each.p_value / TAIL_PART), of_tail=True) for each in tail]
    return tuple(sorted(found, key=lambda each: each.index))


def _overlap(one: LevelChange, other: LevelChange) -> bool:
    return max(one.indexes[0], other.indexes[0]) <= min(one.indexes[1], other.indexes[1])


def _opposite(one: LevelChange, other: LevelChange) -> bool:
    return one.change * other.change < 0.0


def _moved(mean: Series, change: LevelChange, places: Sequence[int]) -> bool:
    """Whether the means of the positions up to the next change moved the same way, by Student's t of positions.

    The variance of positions is their residual variance about these levels, and at least that of their runs.
    """
    first, last = change.indexes
    start = max((each for each in places if each < first), default=0)
    stop = min((each for each in places if each > last), default=len(mean))
    logs = np.log(mean.values)
    sides = logs[start : change.index], logs[change.index : stop]
    difference = float(sides[1].mean() - sides[0].mean())
    if difference * change.change <= 0.0:
        return False
    freedom = len(sides[0]) + len(sides[1]) - 2.0
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in sides)
    variance = squares / freedom if freedom else 0.0
    if mean.freedom:
        by_runs = float(np.mean(np.square(_relative(mean)[start:stop])))
        if by_runs > variance:
            variance, freedom = by_runs, mean.freedom
    if not freedom:
        return False
    error = math.sqrt(variance * (1.0 / len(sides[0]) + 1.0 / len(sides[1])))
    return error == 0.0 or float(t_two_sided(np.array([abs(difference) / error]), freedom)[0]) <= 2.0 * DIRECTION


def _relative(mean: Series) -> FloatArray:
    return np.asarray(mean.errors / mean.values)


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
    if found.detectable is not None or _is_constant(series):
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
    if 1 < len(np.unique(series.values)) < _TIED * len(series):
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
    steps = sorted(changes, key=lambda each: each.index)
    small = [each for each in steps if each.negligible]
    return HistoryConclusion(
        name=series.name,
        metric=series.metric,
        positions=len(series),
        runs=int(series.runs.sum()),
        machines=series.number_of_machines,
        first=series.positions[0],
        last=series.positions[-1],
        alpha=alpha,
        change_points=tuple(each for each in steps if not each.negligible),
        trend=_trend(series, found, start, alpha),
        detectable=None if found.detectable is None else _detectable(series, found.detectable),
        autocorrelation=found.phi,
        outliers=outliers(series, found),
        warnings=(*warnings(series, found), *_negligible(small)),
        assumptions=found.assumptions,
        recurring=_recurring(found),
        stratum=series.stratum,
        benchmark=series.benchmark,
        choice=series.choice,
        handovers=handovers,
        constant=_is_constant(series),
    )


def _detectable(series: Series, step: float) -> DetectableStep:
    """The detectable rise and fall; short series of positive values are compared as logarithms, others as they are."""
    level = abs(float(np.median(series.values)))
    if not (series.values > 0.0).all():
        return DetectableStep(step, step, level)
    if is_short(series):
        return DetectableStep(step, level * step / (level + step), level)
    return DetectableStep(step, step if step < level else None, level)


def _is_constant(series: Series) -> bool:
    return len(np.unique(series.values)) == 1


def _negligible(small: Sequence[LevelChange]) -> Iterator[str]:
    if small:
        places = listed([each.position for each in small], 8)
        largest = max(abs(each.relative or 0.0) for each in small)
        what = "a step is" if len(small) == 1 else "steps are"
        yield f"{what} too small to matter (at most {100.0 * largest:.1g} %): at {places}"


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


def _change(series: Series, step: PositionStep) -> LevelChange:
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
    trend = Trend(
        baseline=series.positions[start],
        baseline_index=start,
        positions=len(values) - 1,
        level=level,
        slope=line.slope,
        interval=_possible(line.interval, level / max(1, len(values) - 1), series.values),
        p_value=line.p_value,
        direction=Direction.NOT_SHOWN,
    )
    return _shown(trend, alpha, series.metric)


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
    return replace(concluded, trend=_shown(replace(trend, p_value=p_value), alpha, concluded.metric))


def _shown(trend: Trend, alpha: float, metric: Metric) -> Trend:
    """The trend with its direction, which is not shown where it may be none or is too small to matter."""
    low, high = trend.interval
    clear = trend.p_value <= alpha and low * high > 0.0 and not trend.negligible
    return replace(trend, direction=direction_of(trend.slope, metric) if clear else Direction.NOT_SHOWN)


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
