"""Positions of a long series that are far off their level, as all of their runs say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hati.stats import REGAINED, spread_freedom, t_quantile, t_two_sided
from hati.studies.regression.levels import Levels, Step
from hati.studies.regression.series import Series

_PART = 0.2
_APART = 2.0
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def with_spikes(series: Series, found: Levels, alpha: float) -> Levels:
    """The levels with a step to each spike that several runs confirm, and one back.

    A position is a spike where its distance from its level is significant at a fifth of alpha, corrected for all
    positions, by Student's t of the positions' robust standard deviation; and where spikes are twice as far off as
    anything else is: positions with heavy tails have none. More than three of them recur, and are outliers.
    """
    if not series.freedom or len(series) < 3:
        return found
    residuals = found.residuals
    deviation = max(_MAD * float(np.median(np.abs(residuals))), float(np.median(series.errors)))
    if deviation <= 0.0:
        return found
    freedom = spread_freedom(len(series))
    distances = np.abs(residuals) / deviation
    chances = len(series) * t_two_sided(distances, freedom)
    spikes = (chances <= _PART * alpha) & (series.runs > 1)
    if not spikes.any() or distances[spikes].min() < _APART * distances[~spikes].max(initial=0.0):
        return found
    starts = np.flatnonzero(spikes & ~np.concatenate([[False], spikes[:-1]]))
    stops = np.flatnonzero(spikes & ~np.concatenate([spikes[1:], [False]])) + 1
    if len(starts) >= REGAINED:
        return found
    margin = t_quantile(0.975, freedom) * deviation
    steps = list(found.steps)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        level = float(series.values[start] - residuals[start])
        spike = float(series.values[start:stop].mean())
        error = margin * math.sqrt(1.0 / (stop - start))
        chance = min(1.0, float(chances[start:stop].max()) / _PART)
        steps = [step for step in steps if not start <= step.index <= stop]
        if start > 0:
            steps.append(_step(start, level, spike, error, chance))
        if stop < len(series):
            steps.append(_step(stop, spike, level, error, chance))
    return replace(found, steps=tuple(sorted(steps, key=lambda step: step.index)))


def _step(index: int, before: float, after: float, margin: float, chance: float) -> Step:
    change = after - before
    return Step(index, (index, index), before, after, (change - margin, change + margin), chance)
