"""Where in a series with one change this is, and how well that is known."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.least_squares import Index
from hati.stats.step_statistics import Places, split_statistics

_CLIP = 3.0
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def change_place(values: FloatArray, groups: Index, near: int) -> int:
    """The place of the best step, by least squares, with outliers drawn in.

    Args:
        values: a stretch of the series with one change, shape (n,).
        groups: the group (machine) of each value, shape (n,).
        near: the index of about where the change is; it decides what counts as an outlier.

    Returns:
        The index of the first value after the step; ``near`` where no place can be told.
    """
    statistics = _splits(values, groups, near)
    if not statistics.statistics.size:
        return near
    return int(statistics.stops[np.argmax(statistics.statistics)])


def place_interval(values: FloatArray, groups: Index, place: int, phi: float, level: float = 0.95) -> tuple[int, int]:
    """The first and the last place that are not much worse than the best one, as a confidence interval.

    Twice the logarithm of the likelihood ratio against the best is, around a true change, that of the larger of two
    independent maxima of random walks with a drift, each exponential beyond c with exp(-c / 2): all places are in with
    c = -2 ln(1 - sqrt(level)) or less (Siegmund 1988, Confidence sets in change-point problems, International
    Statistical Review 56(1), 31-48). Under autocorrelation the ratio is divided by (1 + phi) / (1 - phi).

    Args:
        values: a stretch of the series with one change, shape (n,).
        groups: the group (machine) of each value, shape (n,).
        place: the best place.
        phi: the autocorrelation of the noise.
        level: the interval's.
    """
    splits = _splits(values, groups, place)
    if not splits.statistics.size:
        return place, place
    squares = np.square(splits.statistics)
    best = float(squares.max())
    clipped = clipped_around(values, renumbered(groups), place)
    residuals = clipped - side_means(clipped, renumbered(groups), place)
    variance = float(residuals @ residuals) / max(len(values) - 2, 1)
    if variance <= 0.0:
        return place, place
    largest = -2.0 * math.log(1.0 - math.sqrt(level)) * variance * max((1.0 + phi) / (1.0 - phi), 1.0)
    inside = splits.stops[squares >= best - largest]
    return min(int(inside[0]), place), max(int(inside[-1]), place)


def side_means(values: FloatArray, groups: Index, place: int) -> FloatArray:
    """The mean of each value's group on its side of a place, shape (n,)."""
    sides = 2 * groups + (np.arange(len(values)) >= place)
    counts = np.maximum(np.bincount(sides), 1)
    return np.asarray((np.bincount(sides, values) / counts)[sides])


def renumbered(groups: Index) -> Index:
    """The groups that are there, counted from 0."""
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.intp)


def clipped_around(values: FloatArray, groups: Index, place: int) -> FloatArray:
    """The values with outliers drawn in: to three standard deviations beyond the levels of both sides.

    Levels are medians, standard deviations by the median of absolute deviations; groups are drawn in by themselves.
    """
    made = values.copy()
    after = np.arange(len(values)) >= place
    residuals = np.zeros(len(values))
    levels: dict[int, list[float]] = {}
    for group in range(int(groups.max()) + 1):
        for side in (~after, after):
            chosen = side & (groups == group)
            if chosen.any():
                level = float(np.median(values[chosen]))
                residuals[chosen] = values[chosen] - level
                levels.setdefault(group, []).append(level)
    reach = _CLIP * _MAD * float(np.median(np.abs(residuals)))
    if reach == 0.0:
        return made
    for group, around in levels.items():
        chosen = groups == group
        made[chosen] = np.clip(values[chosen], min(around) - reach, max(around) + reach)
    return made


def _splits(values: FloatArray, groups: Index, place: int) -> Places:
    own = renumbered(groups)
    clipped = clipped_around(values, own, place)
    counts = np.bincount(own)
    centred = clipped - (np.bincount(own, clipped) / counts)[own]
    return split_statistics(centred, own, np.zeros(()))
