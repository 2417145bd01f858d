"""Whether a series changes anywhere: the largest statistic over all places, against its own distribution."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.autocorrelation import Dependence
from hati.stats.change_table import INDEPENDENT_SPLITS, INDEPENDENT_STRETCHES, PROBABILITIES, SPLITS, STRETCHES
from hati.stats.least_squares import Index
from hati.stats.normal_scores import normal_scores
from hati.stats.step_statistics import Places, split_statistics, stretch_statistics

FEWEST_VALUES = 8
"""A series with fewer can show no change."""

SPLIT_SHARE = 0.8
"""Of the error that is allowed the most is for a level that stays, the rest for one that comes back."""

_SPLITS = {Dependence.ESTIMATED: SPLITS, Dependence.INDEPENDENT: INDEPENDENT_SPLITS}
_STRETCHES = {Dependence.ESTIMATED: STRETCHES, Dependence.INDEPENDENT: INDEPENDENT_STRETCHES}
_SAME = 1e-6


class Change(Struct, frozen=True):
    """The strongest sign of a change: the indexes at which new levels start, and how probable it is without any."""

    places: tuple[int, ...]
    p_value: float


NO_CHANGE = Change((), 1.0)


def strongest_change(values: FloatArray, groups: Index, dependence: Dependence = Dependence.ESTIMATED) -> Change:
    """Test the hypothesis that a series has one level, or one for each group (machine), throughout.

    Of normal scores, the largest standardised difference between the two sides of any place, and between any stretch
    and its surroundings, with the variances of a first-order autoregression; the p-value is that of the largest of all
    places in series without a change, by simulation, and of the two kinds of change together (Bonferroni). Groups that
    follow each other are as many series, and the p-value is multiplied by their number.

    Args:
        values: shape (n,), in the order of time.
        groups: the group of each value, counted from 0, shape (n,).
        dependence: the noise's autocorrelation.
    """
    if len(values) < FEWEST_VALUES:
        return NO_CHANGE
    scores = normal_scores(values, groups)
    phi = dependence.of(scores)
    split = _of_largest(split_statistics(scores, groups, phi), _SPLITS[dependence], groups, SPLIT_SHARE)
    stretch = _of_largest(stretch_statistics(scores, groups, phi), _STRETCHES[dependence], groups, 1.0 - SPLIT_SHARE)
    return min(split, stretch, key=lambda change: change.p_value)


def split_p_value(values: FloatArray, groups: Index, dependence: Dependence = Dependence.ESTIMATED) -> float:
    """The p-value of the hypothesis that nothing changes, against one change, as ``strongest_change`` has it."""
    if len(values) < FEWEST_VALUES:
        return 1.0
    scores = normal_scores(values, groups)
    found = split_statistics(scores, groups, dependence.of(scores))
    return _of_largest(found, _SPLITS[dependence], groups, SPLIT_SHARE).p_value


def critical_split(size: int, p_value: float, dependence: Dependence = Dependence.ESTIMATED) -> float:
    """The statistic of a split that has that p-value in a series of so many values."""
    quantiles = _quantiles(_SPLITS[dependence], size)
    wanted = math.log(p_value * SPLIT_SHARE)
    return float(np.interp(-wanted, [-math.log(p) for p in PROBABILITIES], quantiles))


def _of_largest(places: Places, table: Mapping[int, tuple[float, ...]], groups: Index, share: float) -> Change:
    if not places.statistics.size:
        return NO_CHANGE
    largest = int(np.argmax(places.statistics))
    p_value = _exceeded(float(places.statistics[largest]), _quantiles(table, len(groups)))
    found = (int(places.starts[largest]), int(places.stops[largest]))
    return Change(tuple(place for place in found if place > 0), min(1.0, p_value * _separate(groups) / share))


def _separate(groups: Index) -> float:
    """As how many series the groups are: 1 where they take turns, as many as they are where each follows the other.

    The inverse of the mean, over all values, of the part of the series from their group's first to its last.
    """
    counts = np.bincount(groups)
    first, last = np.full(len(counts), len(groups)), np.zeros(len(counts), dtype=np.intp)
    np.minimum.at(first, groups, np.arange(len(groups)))
    np.maximum.at(last, groups, np.arange(len(groups)))
    return float(len(groups) ** 2 / np.sum(counts * np.maximum(last - first + 1, 0)))


def _quantiles(table: Mapping[int, tuple[float, ...]], size: int) -> FloatArray:
    """The table's row for so many values, between its rows linear in the logarithm."""
    sizes = list(table)
    above = min(max(bisect_left(sizes, size), 1), len(sizes) - 1)
    low, high = sizes[above - 1], sizes[above]
    part = min(max(math.log(size / low) / math.log(high / low), 0.0), 1.0)
    return np.asarray((1.0 - part) * np.array(table[low]) + part * np.array(table[high]))


def _exceeded(statistic: float, quantiles: FloatArray) -> float:
    """The probability of a statistic at least so large.

    Between the table's quantiles linear in the logarithm; beyond the last falling as that of a normal distribution
    of twice the variance, which is slower than any that was simulated.
    """
    above = int(np.searchsorted(quantiles, statistic - _SAME))
    if above == 0:
        return 1.0
    low, chance = float(quantiles[above - 1]), PROBABILITIES[above - 1]
    if above == len(quantiles):
        return chance * math.exp(-(statistic**2 - low**2) / 4.0)
    part = (statistic - low) / (float(quantiles[above]) - low)
    return math.exp((1.0 - part) * math.log(chance) + part * math.log(PROBABILITIES[above]))
