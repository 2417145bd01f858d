"""How unlike the two sides of every place of a series are, and every stretch and what is around it."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.autocorrelation import contrast_variance
from hati.stats.least_squares import Index

FEWEST = 3
"""Values that a level has at least, of machines that are on both sides: fewer are outliers."""

SHORTEST = 5
"""The values of the shortest stretch that is looked for between its surroundings."""

_GROWTH = 2.0**0.5


class Places(Struct, frozen=True, eq=False):
    """Standardised differences of levels: between what stands in [start, stop) and the rest.

    ``starts`` and ``stops`` have shape (m,), ``statistics`` (..., m): the sizes of the differences in their standard
    errors.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]
    statistics: FloatArray


def split_statistics(scores: FloatArray, groups: Index, phi: FloatArray) -> Places:
    """For every place at which a series may be split, what is before it against what is after it.

    Levels of the groups (machines) are free: the difference is the least-squares estimate of a step that is common to
    all groups, from those that are on both sides; where no group is, nothing can be told. Its variance is that of a
    first-order autoregression, in the proportion in which it inflates the difference of one group's two sides.

    Args:
        scores: series along the last axis, of mean square 1, each group's mean 0, shape (..., n).
        groups: the group of each value, counted from 0, shape (n,).
        phi: their autocorrelation, shape (...).
    """
    size = scores.shape[-1]
    places = np.arange(1, size)
    return _statistics(scores, groups, phi, np.zeros(size - 1, dtype=np.intp), places)


def stretch_statistics(scores: FloatArray, groups: Index, phi: FloatArray) -> Places:
    """For stretches of at least five values and at most half the series, what is inside against what is around it.

    What goes up and comes down again shows here, and not from the whole series' two sides. All starts, lengths that
    grow by the square root of 2: no stretch is far from one of these, at O(n log n) of them (as in Kovacs, Buehlmann,
    Li and Munk 2023, Seeded binary segmentation, Biometrika 110(1), 249-256). The arguments are those of
    ``split_statistics``.
    """
    size = scores.shape[-1]
    starts = [np.arange(1, size - length) for length in _lengths(size)]
    stops = [np.arange(1, size - length) + length for length in _lengths(size)]
    if not starts:
        return Places(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros((*scores.shape[:-1], 0)))
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
) -> Places:
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
    return Places(starts, stops, np.abs(sums[..., stops] - sums[..., starts]) / np.sqrt(weight * inflation))
