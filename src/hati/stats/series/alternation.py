"""Two levels between which a series goes to and fro."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.samples.variances import resolution
from hati.stats.series.outliers import running_median

REGAINED = 3
"""A level that was left and regained so often recurs: more of the same is to be expected."""

_ROUNDS = 6
_REACH = 3.5
_FAR = 10.0
_SMALLEST_GAP = 2.0
_SHORTEST = 3.0
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


class Alternation(Struct, frozen=True, eq=False):
    """Two levels, which values are on the higher one, shape (n,), and how often the level left most was regained."""

    low: float
    high: float
    above: NDArray[np.bool_]
    regained: int

    @property
    def path(self) -> FloatArray:
        """The level of each value, shape (n,)."""
        return np.where(self.above, self.high, self.low)


def alternation(values: FloatArray) -> Alternation | None:
    """The two levels of a series that leaves and regains one of them at least three times; None of any other.

    Values and levels are matched by the path with the smallest sum of squares, outliers drawn in, and a penalty of
    1.5 log n variances for each change (Viterbi's algorithm), levels and path in turn. Levels are two standard
    deviations apart or more, stays last three values or more in the mean, and twice the logarithm of the likelihood
    gains 2 log n for each change against a single level. The standard deviation is at least half the resolution.

    Args:
        values: shape (n,), in the order of time.
    """
    smooth = running_median(values, 5)
    least = 0.5 * resolution(values)
    if least == 0.0:
        return None
    levels = _two_means(smooth)
    above = values > np.mean(levels)
    for _ in range(_ROUNDS):
        deviation = max(_MAD * float(np.median(np.abs(values - np.where(above, levels[1], levels[0])))), least)
        moved = _path(values, levels, deviation)
        if moved.all() or not moved.any():
            return None
        levels = (float(np.median(values[~moved])), float(np.median(values[moved])))
        if np.array_equal(moved, above):
            break
        above = moved
    changes = int(np.count_nonzero(above[1:] != above[:-1]))
    if changes // 2 < REGAINED or len(values) < _SHORTEST * (changes + 1):
        return None
    if levels[1] - levels[0] < _SMALLEST_GAP * deviation:
        return None
    squares = [
        float(np.mean(np.square(np.minimum(np.abs(values - level) / deviation, _FAR))))
        for level in (np.median(values), np.where(above, levels[1], levels[0]))
    ]
    if squares[1] * len(values) ** (2.0 * changes / len(values)) > squares[0]:
        return None
    return Alternation(*levels, above, changes // 2)


def _two_means(values: FloatArray) -> tuple[float, float]:
    """The means of the two halves of the sorted values that have the smallest sum of squares."""
    ordered = np.sort(values - np.mean(values))
    sums = np.cumsum(ordered)[:-1]
    counts = np.arange(1, len(values))
    between = np.square(sums) / counts + np.square(sums) / (len(values) - counts)
    split = int(np.argmax(between)) + 1
    return float(ordered[:split].mean() + np.mean(values)), float(ordered[split:].mean() + np.mean(values))


def _path(values: FloatArray, levels: tuple[float, float], deviation: float) -> NDArray[np.bool_]:
    penalty = 1.5 * math.log(len(values))
    low, high = (np.square(np.minimum(np.abs(values - level) / deviation, _REACH)).tolist() for level in levels)
    costs = low[0], high[0]
    came = []
    for cost_low, cost_high in zip(low[1:], high[1:], strict=True):
        came.append((costs[1] + penalty < costs[0], not costs[0] + penalty < costs[1]))
        costs = (
            min(costs[0], costs[1] + penalty) + cost_low,
            min(costs[1], costs[0] + penalty) + cost_high,
        )
    above = [costs[1] < costs[0]]
    for from_high_to_low, stayed_high in reversed(came):
        above.append(stayed_high if above[-1] else from_high_to_low)
    return np.array(above[::-1], dtype=np.bool_)
