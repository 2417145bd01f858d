"""Positions that are far off their level, and changes of the tail of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray, replace
from hati.stats import REGAINED, resolution, spread_freedom, t_quantile, t_two_sided
from hati.stats.linear_models import Index
from hati.studies.comparison import DIRECTION, TAIL_PART
from hati.studies.regression.conclusion import LevelChange
from hati.studies.regression.levels import LevelStep, SeriesLevels
from hati.studies.regression.series import Series

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
        steps.append(LevelStep(place, (place, place), before, after, interval, p_value))
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
