"""The levels of a series: where one ends and the next begins, and two between which it goes to and fro."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.effects.least_squares import Index
from hati.stats.samples.variances import resolution
from hati.stats.series.dependence import drawn_in, running_median

BLOCKS = 80
"""The number of block means of a run: correlation within a block then counts as it should."""

PENALTY = 4.0
"""What a level more costs, in log(blocks) variances of a block; 2 is Schwarz's criterion for its mean alone."""

MOST_CORRELATED = 0.5
"""The autocorrelation of successive blocks is taken for no more."""

_SHORT = 3
"""In blocks of fewer values the medians of differences of block means are those of single values."""

_CHANGES = 8
"""One in eight differences of successive values may be a change of the level."""

_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations
_ROUNDING = 1e-9


class Segments(Struct, frozen=True, eq=False):
    """Stretches of one level each.

    ``edges`` has shape (m + 1,), from 0 to n; ``levels`` shape (m,), each stretch's mean with outliers drawn in;
    ``sums`` shape (n + 1,), the sums of such values up to each; ``deviation`` is the standard deviation that a single
    value would have if the noise, correlated as it is, were independent; ``reach`` the values of a block.
    """

    edges: Index
    levels: FloatArray
    sums: FloatArray
    deviation: float
    reach: int

    @property
    def lengths(self) -> Index:
        """The values of each stretch, shape (m,)."""
        return np.diff(self.edges)

    def mean(self, start: int, stop: int) -> float:
        """Of the values in [start, stop), outliers drawn in."""
        return float((self.sums[stop] - self.sums[start]) / (stop - start))

    def start(self, place: int) -> int:
        """Where a stretch starts to the value: within half of each neighbour, where both levels fit best."""
        if place == 0:
            return 0
        before, edge, after = (int(each) for each in self.edges[place - 1 : place + 2])
        low, high = edge - min(self.reach, (edge - before) // 2), edge + min(self.reach, (after - edge) // 2)
        levels = self.levels[place - 1], self.levels[place]
        gains = np.cumsum((np.diff(self.sums[low : high + 1]) - sum(levels) / 2.0) * (levels[0] - levels[1]))
        return low + int(np.argmax(np.concatenate([[0.0], gains])))


def segments(values: FloatArray, blocks: int = BLOCKS) -> Segments:
    """Divide the values, shape (n,), n >= 1, into stretches of one level each.

    Outliers are drawn in, and block means divided so that the sum of squares about the levels and a penalty for each
    level is smallest, by dynamic programming (Jackson et al. 2005, An algorithm for optimal partitioning of data on an
    interval, IEEE Signal Processing Letters 12(2), 105-108). Under autocorrelation phi of the blocks the penalty is
    that of independent ones times (1 + phi) / (1 - phi). Edges are those of blocks. The time is O(n + blocks^2).
    """
    made = drawn_in(values)
    sums = np.concatenate([[0.0], np.cumsum(made)])
    edges = np.linspace(0, len(values), min(len(values), blocks) + 1).astype(np.intp)
    means = np.diff(sums[edges]) / np.diff(edges)
    noise, phi = _noise(means)
    variance = noise**2 * (1.0 + phi) / (1.0 - phi)
    if len(values) < _SHORT * len(means):
        variance = max(variance, _independent(made) * len(means) / len(values))
    starts = _partition(means - np.median(means), PENALTY * variance * math.log(len(means)))
    found = np.append(edges[starts], len(values))
    levels = np.diff(sums[found]) / np.diff(found)
    deviation = math.sqrt(variance * len(values) / len(means))
    return Segments(found, levels, sums, deviation, int(np.diff(edges).max()))


def _independent(values: FloatArray) -> float:
    """The variance of independent values by the squares of their differences, the largest eighth left out.

    A bound for short runs: where some values are on another level at random, medians of differences are those of the
    others. Without an eighth it is .6 times the variance of normal values, and no bound for these.
    """
    squares = np.sort(np.square(np.diff(values)))[: len(values) - 1 - len(values) // _CHANGES]
    return float(np.mean(squares)) / 2.0 if len(squares) else 0.0


def _noise(means: FloatArray) -> tuple[float, float]:
    """The standard deviation of block means about their levels, and their autocorrelation, by medians of differences.

    The median size of x(t+1) - x(t) is proportional to s sqrt(1 - phi), that of x(t+2) - x(t) to s sqrt(1 - phi^2).
    """
    least = _ROUNDING * float(np.mean(np.abs(means)))
    if len(means) < 3:
        return least, 0.0
    one = float(np.median(np.abs(np.diff(means))))
    two = float(np.median(np.abs(means[2:] - means[:-2])))
    if one <= least:
        return least, 0.0
    phi = min(max((two / one) ** 2 - 1.0, 0.0), MOST_CORRELATED)
    return _MAD * one / math.sqrt(2.0 * (1.0 - phi)), phi


def _partition(values: FloatArray, penalty: float) -> Index:
    """The starts of the stretches whose squares about their means, and penalties, have the smallest sum."""
    size = len(values)
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values, values**2))
    costs, last = np.zeros(size + 1), np.zeros(size + 1, dtype=np.intp)
    costs[0] = -penalty
    for stop in range(1, size + 1):
        lengths = np.arange(stop, 0, -1)
        about = squares[stop] - squares[:stop] - (sums[stop] - sums[:stop]) ** 2 / lengths
        cost = costs[:stop] + about
        last[stop] = np.argmin(cost)
        costs[stop] = cost[last[stop]] + penalty
    starts = [int(last[size])]
    while starts[-1] > 0:
        starts.append(int(last[starts[-1]]))
    return np.array(starts[::-1], dtype=np.intp)


REGAINED = 3
"""A level that was left and regained so often recurs: more of the same is to be expected."""

_ROUNDS = 6
_REACH = 3.5
_FAR = 10.0
_SMALLEST_GAP = 2.0
_SHORTEST = 3.0


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
