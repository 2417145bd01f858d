"""Test whether a series changes anywhere: the largest statistic over all places against its null distribution."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.change_table import INDEPENDENT_SPLITS, INDEPENDENT_STRETCHES, PROBABILITIES, SPLITS, STRETCHES
from hati.stats.dependence import Dependence, contrast_variance
from hati.stats.diagnostics import normal_scores
from hati.stats.linear_models import Index

FEWEST = 3
"""The smallest number of values of a level, on machines with values on both sides: fewer are outliers."""

SHORTEST = 5
"""The length of the shortest stretch that is compared with its surroundings."""

_GROWTH = 2.0**0.5


class LevelDifferences(Struct, frozen=True, eq=False):
    """Standardised differences of levels between the values in [start, stop) and the rest.

    ``starts`` and ``stops`` have shape (m,), ``statistics`` (..., m): absolute differences in units of their standard
    errors.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]
    statistics: FloatArray


def split_statistics(scores: FloatArray, groups: Index, phi: FloatArray) -> LevelDifferences:
    """Compare the levels before and after every place at which a series may be split.

    Each group (machine) has its own level: the difference is the least-squares estimate of a step that is common to
    all groups, from those with values on both sides; without such a group it is unknown. Its variance is inflated by
    the factor by which a first-order autoregression inflates the difference of one group's two sides.

    Args:
        scores: series along the last axis, of mean square 1, each group's mean 0, shape (..., n).
        groups: the group of each value, counted from 0, shape (n,).
        phi: their autocorrelation, shape (...).
    """
    size = scores.shape[-1]
    places = np.arange(1, size)
    return _statistics(scores, groups, phi, np.zeros(size - 1, dtype=np.intp), places)


def stretch_statistics(scores: FloatArray, groups: Index, phi: FloatArray) -> LevelDifferences:
    """Compare the levels inside and around stretches of at least five values and at most half the series.

    A rise that falls back again shows here, but not in the two sides of the whole series. All starts are tried, with
    lengths that grow by the square root of 2: every stretch is close to one of these O(n log n) (as in Kovacs,
    Buehlmann, Li and Munk 2023, Seeded binary segmentation, Biometrika 110(1), 249-256). The arguments are those of
    ``split_statistics``.
    """
    size = scores.shape[-1]
    starts = [np.arange(1, size - length) for length in _lengths(size)]
    stops = [np.arange(1, size - length) + length for length in _lengths(size)]
    if not starts:
        return LevelDifferences(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros((*scores.shape[:-1], 0)))
    return _statistics(scores, groups, phi, np.concatenate(starts), np.concatenate(stops))


def _lengths(size: int) -> list[int]:
    lengths = []
    length = float(SHORTEST)
    while length <= size / 2:
        lengths.append(round(length))
        length *= _GROWTH
    return lengths


def _statistics(
    scores: FloatArray, groups: Index, phi: FloatArray, starts: NDArray[np.intp], stops: NDArray[np.intp]
) -> LevelDifferences:
    size = scores.shape[-1]
    weight, pairs = np.zeros(len(starts)), np.zeros(len(starts))
    for group in np.unique(groups):
        counts = np.concatenate([[0], np.cumsum(groups == group)])
        inside = counts[stops] - counts[starts]
        outside = counts[-1] - inside
        weight += inside * outside / counts[-1]
        pairs += np.minimum(inside, outside)
    enough = pairs >= FEWEST
    starts, stops, weight = starts[enough], stops[enough], weight[enough]
    sums = np.concatenate([np.zeros((*scores.shape[:-1], 1)), np.cumsum(scores, axis=-1)], axis=-1)
    inflation = contrast_variance(starts, stops, size, phi)
    return LevelDifferences(starts, stops, np.abs(sums[..., stops] - sums[..., starts]) / np.sqrt(weight * inflation))


FEWEST_VALUES = 8
"""A series with fewer values cannot show a change."""

SPLIT_SHARE = 0.8
"""The fraction of the allowed error for changes that last; the rest is for levels that return."""

_SPLITS = {Dependence.ESTIMATED: SPLITS, Dependence.INDEPENDENT: INDEPENDENT_SPLITS}
_STRETCHES = {Dependence.ESTIMATED: STRETCHES, Dependence.INDEPENDENT: INDEPENDENT_STRETCHES}
_SAME = 1e-6


class StrongestChange(Struct, frozen=True):
    """The strongest sign of a change: the indexes at which new levels start, and the p-value of no change."""

    places: tuple[int, ...]
    p_value: float


NO_CHANGE = StrongestChange((), 1.0)


def strongest_change(
    values: FloatArray, groups: Index, dependence: Dependence = Dependence.ESTIMATED
) -> StrongestChange:
    """Test the hypothesis that a series has one level, or one for each group (machine), throughout.

    The statistics are the largest standardised differences of normal scores between the two sides of any place, and
    between any stretch and its surroundings, with the variances of a first-order autoregression. Their p-values come
    from simulated series without a change; the two kinds of change are combined by Bonferroni. Groups that follow each
    other count as separate series, and the p-value is multiplied by their number.

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
    """The p-value of no change against a single lasting one, as in ``strongest_change``."""
    if len(values) < FEWEST_VALUES:
        return 1.0
    scores = normal_scores(values, groups)
    found = split_statistics(scores, groups, dependence.of(scores))
    return _of_largest(found, _SPLITS[dependence], groups, SPLIT_SHARE).p_value


def critical_split(size: int, p_value: float, dependence: Dependence = Dependence.ESTIMATED) -> float:
    """The statistic of a split that has that p-value in a series of that length."""
    quantiles = _quantiles(_SPLITS[dependence], size)
    wanted = math.log(p_value * SPLIT_SHARE)
    return float(np.interp(-wanted, [-math.log(p) for p in PROBABILITIES], quantiles))


def _of_largest(
    places: LevelDifferences, table: Mapping[int, tuple[float, ...]], groups: Index, share: float
) -> StrongestChange:
    if not places.statistics.size:
        return NO_CHANGE
    largest = int(np.argmax(places.statistics))
    p_value = _exceeded(float(places.statistics[largest]), _quantiles(table, len(groups)))
    found = (int(places.starts[largest]), int(places.stops[largest]))
    return StrongestChange(tuple(place for place in found if place > 0), min(1.0, p_value * _separate(groups) / share))


def _separate(groups: Index) -> float:
    """The effective number of separate series: 1 if groups are interleaved, their number if they follow each other.

    It is the inverse of the mean, over all values, of the fraction of the series from their group's first to its last.
    """
    counts = np.bincount(groups)
    first, last = np.full(len(counts), len(groups)), np.zeros(len(counts), dtype=np.intp)
    np.minimum.at(first, groups, np.arange(len(groups)))
    np.maximum.at(last, groups, np.arange(len(groups)))
    return float(len(groups) ** 2 / np.sum(counts * np.maximum(last - first + 1, 0)))


def _quantiles(table: Mapping[int, tuple[float, ...]], size: int) -> FloatArray:
    """The quantiles for that length, interpolated linearly in its logarithm."""
    sizes = list(table)
    above = min(max(bisect_left(sizes, size), 1), len(sizes) - 1)
    low, high = sizes[above - 1], sizes[above]
    part = min(max(math.log(size / low) / math.log(high / low), 0.0), 1.0)
    return np.asarray((1.0 - part) * np.array(table[low]) + part * np.array(table[high]))


def _exceeded(statistic: float, quantiles: FloatArray) -> float:
    """The probability of a statistic at least as large.

    Its logarithm is interpolated linearly between the table's quantiles. Beyond the last one it falls as that of a
    normal distribution of twice the variance, which is slower than in any simulation.
    """
    above = int(np.searchsorted(quantiles, statistic - _SAME))
    if above == 0:
        return 1.0
    low, chance = float(quantiles[above - 1]), PROBABILITIES[above - 1]
    if above == len(quantiles):
        return chance * math.exp(-(statistic**2 - low**2) / 4.0)
    part = (statistic - low) / (float(quantiles[above]) - low)
    return math.exp((1.0 - part) * math.log(chance) + part * math.log(PROBABILITIES[above]))
