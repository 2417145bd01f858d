"""Positions of a long series that are far off their level, as all of their runs say."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray, replace
from hati.stats import REGAINED, resolution, spread_freedom, t_quantile, t_two_sided
from hati.stats.least_squares import Index
from hati.studies.regression.levels import Levels, Step
from hati.studies.regression.series import Series

_PART = 0.2
_APART = 2.0
_MOST_FREEDOM = 5.0
"""Positions of sessions, layouts or days often have heavier tails than normal ones."""
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def confirmed_spikes(series: Series, found: Levels, alpha: float) -> Index:
    """The number of the spike of each position, counted from 1, shape (n,); 0 where there is none.

    A position is on a spike where its distance from its level is significant at a fifth of alpha, corrected for all
    positions, by Student's t of the positions' robust standard deviation with at most five degrees of freedom, as
    positions have heavy tails; and where spikes are twice as far off as anything else is. Neighbours on the same side
    of their levels are one spike. More than two of them recur, and are outliers.
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


def with_spikes(series: Series, found: Levels, spikes: Index) -> Levels:
    """The levels with a step to each of these spikes, and one to the level that follows it."""
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
        steps.append(Step(place, (place, place), before, after, interval, p_value))
    return replace(found, steps=tuple(sorted(steps, key=lambda step: step.index)))


def _deviation(series: Series, found: Levels) -> float:
    """That of positions about their levels: at least that of their runs, and of rounding."""
    robust = _MAD * float(np.median(np.abs(found.residuals)))
    return max(robust, float(np.median(series.errors)), resolution(series.values) / math.sqrt(12.0))


def _chances(distances: FloatArray) -> FloatArray:
    size = len(distances)
    return size * t_two_sided(distances, min(spread_freedom(size - 1), _MOST_FREEDOM))
