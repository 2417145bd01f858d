"""The places at which the level of a series changes, how large the changes are, and the levels between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.change_test import (
    FEWEST_VALUES,
    LevelDifferences,
    critical_split,
    split_p_value,
    split_statistics,
    strongest_change,
)
from hati.stats.dependence import Dependence, contrast_variance, drawn_in, running_median
from hati.stats.distributions import normal_quantile, normal_quantiles, normal_tails, t_quantile
from hati.stats.linear_models import Index
from hati.stats.power import POWER
from hati.stats.variances import resolution

_CONFIDENCE = 0.95
_CLIP = 3.0
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def change_place(values: FloatArray, groups: Index, near: int) -> int:
    """The place of the best step, by least squares, with outliers drawn in.

    Args:
        values: a stretch of the series with one change, shape (n,).
        groups: the group (machine) of each value, shape (n,).
        near: the approximate index of the change; it decides what counts as an outlier.

    Returns:
        The index of the first value after the step; ``near`` where the place cannot be determined.
    """
    statistics = _splits(values, groups, near)
    if not statistics.statistics.size:
        return near
    return int(statistics.stops[np.argmax(statistics.statistics)])


def place_interval(values: FloatArray, groups: Index, place: int, phi: float) -> tuple[int, int]:
    """A 95 % interval of the place: the first and the last place that are not much worse than the best one.

    Around a true change, twice the log likelihood ratio against the best place is the larger of two independent maxima
    of random walks with a drift, each of which exceeds c with probability exp(-c / 2). The interval holds all places
    with a ratio of c = -2 ln(1 - sqrt(.95)) or less (Siegmund 1988, Confidence sets in change-point problems,
    International Statistical Review 56(1), 31-48). Under autocorrelation the ratio is divided by (1 + phi) / (1 - phi).

    Args:
        values: a stretch of the series with one change, shape (n,).
        groups: the group (machine) of each value, shape (n,).
        place: the best place.
        phi: the autocorrelation of the noise.
    """
    splits = _splits(values, groups, place)
    if not splits.statistics.size:
        return place, place
    squares = np.square(splits.statistics)
    best = float(squares.max())
    clipped = clipped_around(values, _renumbered(groups), place)
    residuals = clipped - side_means(clipped, _renumbered(groups), place)
    variance = float(residuals @ residuals) / max(len(values) - 2, 1)
    if variance <= 0.0:
        return place, place
    largest = -2.0 * math.log(1.0 - math.sqrt(_CONFIDENCE)) * variance * max((1.0 + phi) / (1.0 - phi), 1.0)
    inside = splits.stops[squares >= best - largest]
    return min(int(inside[0]), place), max(int(inside[-1]), place)


def side_means(values: FloatArray, groups: Index, place: int) -> FloatArray:
    """The mean of each value's group on its side of a place, shape (n,)."""
    sides = 2 * groups + (np.arange(len(values)) >= place)
    counts = np.maximum(np.bincount(sides), 1)
    return np.asarray((np.bincount(sides, values) / counts)[sides])


def _renumbered(groups: Index) -> Index:
    """The groups that occur, renumbered from 0."""
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.intp)


def clipped_around(values: FloatArray, groups: Index, place: int) -> FloatArray:
    """The values with outliers drawn in: to three standard deviations beyond the levels of both sides.

    Levels are medians, standard deviations by the median of absolute deviations; each group is clipped individually.
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


def _splits(values: FloatArray, groups: Index, place: int) -> LevelDifferences:
    own = _renumbered(groups)
    clipped = clipped_around(values, own, place)
    counts = np.bincount(own)
    centred = clipped - (np.bincount(own, clipped) / counts)[own]
    return split_statistics(centred, own, np.zeros(()))


_LARGEST = 6.0
_EXACT = 1e-4
_DRAWS = 400


class ChangeSize(Struct, frozen=True):
    """The levels before and after a change, and a confidence interval of their difference."""

    before: float
    after: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


def change_size(values: FloatArray, groups: Index, place: int, phi: float) -> ChangeSize:
    """The step at a known place between two levels, by least squares with a level for each group (machine).

    ``before`` is the mean before the place; ``after`` adds the step of the groups with values on both sides. The
    95 % interval is of Student's t with the variance of a first-order autoregression and the degrees of freedom of the
    equivalent independent values. It ignores that the place is estimated.

    Args:
        values: the stretch between the neighbouring changes, shape (n,).
        groups: the group of each value, shape (n,); at least one group is on both sides.
        place: the index of the first value after the step.
        phi: the autocorrelation of the noise.
    """
    own = _renumbered(groups)
    after = np.arange(len(values)) >= place
    behind = np.bincount(own, ~after)
    ahead = np.bincount(own, after)
    weights = behind * ahead / (behind + ahead)
    means = np.bincount(own, np.where(after, values, 0.0)) / np.maximum(ahead, 1)
    means -= np.bincount(own, np.where(after, 0.0, values)) / np.maximum(behind, 1)
    difference = float(weights @ means / weights.sum())
    residuals = values - side_means(values, own, place)
    levels = int(np.count_nonzero(behind)) + int(np.count_nonzero(ahead))
    freedom = max(len(values) - levels, 1)
    starts, stops = np.array([0]), np.array([place])
    inflation = float(contrast_variance(starts, stops, len(values), np.array(phi))[0])
    error = math.sqrt(float(residuals @ residuals) / freedom * inflation / float(weights.sum()))
    margin = t_quantile(0.5 + 0.5 * _CONFIDENCE, independent_values(freedom, len(values), phi)) * error
    before = float(values[:place].mean())
    return ChangeSize(before, before + difference, (difference - margin, difference + margin))


def detectable_step(
    size: int, phi: float, alpha: float = 0.05, dependence: Dependence = Dependence.ESTIMATED
) -> float | None:
    """The smallest step in the middle of a series that is found with 80 % power, in standard deviations of its noise.

    This holds for a single step in normal noise. The statistic is sqrt(n) times the correlation of the normal scores
    with the two sides, which is limited even for large steps. Its variance includes that of the autocorrelation where
    this is estimated, and is smaller where the noise is known to be independent. None where no step is large enough: at
    most 25 values, more with autocorrelation, where that is estimated.

    Args:
        size: the number of values.
        phi: the autocorrelation of the noise.
        alpha: the level of the test.
        dependence: of the noise.
    """
    if size < FEWEST_VALUES:
        return None
    critical = critical_split(size, alpha, dependence)
    if dependence is Dependence.INDEPENDENT:
        return _smallest(lambda step: _low_correlation(step, size) >= critical / math.sqrt(size))
    half = np.array([size // 2])
    inflation = float(contrast_variance(np.array([0]), half, size, np.array(phi))[0])
    by_estimate = critical * math.sqrt(2.0 / size) / (1.0 - phi**2)
    needed = (critical + normal_quantile(POWER) * math.hypot(1.0, by_estimate)) * math.sqrt(inflation / size)
    return _smallest(lambda step: _side_correlation(step) >= needed)


def _smallest(reached: Callable[[float], bool]) -> float | None:
    low, high = 0.0, _LARGEST
    if not reached(high):
        return None
    while high - low > _EXACT:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _low_correlation(step: float, size: int) -> float:
    """The correlation with the sides that is exceeded with 80 % power.

    The largest correlation of n scores is above that of infinitely many. The variance is (1 - r^2)^2 / n, r being the
    correlation relative to the largest: it is zero where the sides do not overlap.
    """
    scores = normal_quantiles((np.arange(1.0, size + 1.0, dtype=np.float64) - 0.375) / (size + 0.25))
    largest = float(np.mean(np.abs(scores))) / float(np.std(scores))
    part = min(1.0, _side_correlation(step) / _side_correlation(_LARGEST))
    return largest * part - normal_quantile(POWER) * (1.0 - part**2) / math.sqrt(size)


def independent_values(freedom: float, size: int, phi: float) -> float:
    """The degrees of freedom of a variance that an estimated autocorrelation has inflated.

    They combine those of the equivalent independent values and, by Satterthwaite's formula, those of an inflation
    (1 + phi) / (1 - phi) whose phi has the variance 2 / n.
    """
    of_values = freedom * min(1.0, (1.0 - phi) / (1.0 + phi))
    of_inflation = size * (1.0 - phi**2) ** 2 / 4.0
    return max(1.0, 1.0 / (1.0 / max(of_values, 1.0) + 1.0 / max(of_inflation, 1.0)))


def _side_correlation(step: float) -> float:
    """The correlation of the normal scores with the sides of a step, in standard deviations, in the middle."""
    noise = normal_quantiles((np.arange(_DRAWS) + 0.5) / _DRAWS)
    above = normal_tails(-(noise + step))  # of the upper side's values, by the lower side's distribution
    return float(np.mean(normal_quantiles(0.5 * above + 0.5 * normal_tails(-noise))))


_MOST_ROUNDS = 8
_Found = TypeVar("_Found")


class ChangePoint(Struct, frozen=True):
    """The index of the first value on a new level, and the p-value, corrected for places and segments."""

    index: int
    p_value: float


def change_points(
    values: FloatArray, groups: Index, alpha: float = 0.05, dependence: Dependence = Dependence.ESTIMATED
) -> tuple[ChangePoint, ...]:
    """Find the changes of level; in a series without any, none is found with probability 1 - alpha.

    Segments are split at the strongest sign first, as long as its p-value, times the number of segments among which
    it was chosen, is at most alpha (Bonferroni). Then each place is searched again between its neighbours, and each
    change is tested again between them: changes that are not significant there are dropped, the weakest first.

    Args:
        values: shape (n,), in the order of time.
        groups: values of one group (machine) share a level; counted from 0, shape (n,).
        alpha: the probability of finding anything in a series that does not change.
        dependence: the noise's autocorrelation.
    """
    search = _Search(values, groups, alpha, dependence)
    places = search.split()
    for _ in range(_MOST_ROUNDS):
        moved = search.without_weak(search.relocated(places))
        if moved == places:
            break
        places = moved
    chances = search.chances(places)
    return tuple(map(ChangePoint, places, chances))


class _Search(Struct, frozen=True, eq=False):
    values: FloatArray
    groups: Index
    alpha: float
    dependence: Dependence
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def split(self) -> list[int]:
        """The places by splitting, strongest first."""
        segments = [(0, len(self.values))]
        found = {segments[0]: self._part(*segments[0], strongest_change)}
        while True:
            chosen = min(segments, key=lambda segment: found[segment].p_value)
            if found[chosen].p_value * len(segments) > self.alpha:
                return sorted(start for start, _ in segments if start)
            edges = [chosen[0], *(chosen[0] + place for place in found[chosen].places), chosen[1]]
            parts = list(pairwise(edges))
            found.update({part: self._part(*part, strongest_change) for part in parts})
            segments = [segment for segment in segments if segment != chosen] + parts

    def relocated(self, places: list[int]) -> list[int]:
        """The places, each moved to the best one between its neighbours."""
        moved = list(places)
        for number, place in enumerate(places):
            start = moved[number - 1] if number else 0
            stop = places[number + 1] if number + 1 < len(places) else len(self.values)
            local = change_place(self.values[start:stop], self.groups[start:stop], place - start)
            moved[number] = start + local
        return moved

    def without_weak(self, places: list[int]) -> list[int]:
        """The places that are significant between their neighbours."""
        kept = list(places)
        while kept:
            chances = self.chances(kept)
            weakest = int(np.argmax(chances))
            if chances[weakest] <= self.alpha:
                break
            del kept[weakest]
        return kept

    def chances(self, places: list[int]) -> list[float]:
        """The p-value of each change between its neighbours, times the number of segments."""
        edges = [0, *places, len(self.values)]
        return [
            min(1.0, len(places) * self._chance(start, stop)) for start, stop in zip(edges, edges[2:], strict=False)
        ]

    def _chance(self, start: int, stop: int) -> float:
        if (start, stop) not in self.known:
            self.known[start, stop] = self._part(start, stop, split_p_value)
        return self.known[start, stop]

    def _part(self, start: int, stop: int, test: Callable[[FloatArray, Index, Dependence], _Found]) -> _Found:
        return test(self.values[start:stop], _renumbered(self.groups[start:stop]), self.dependence)


BLOCKS = 80
"""The number of block means of a run; blocks account for correlation within them."""

PENALTY = 4.0
"""The cost of another level, in log(blocks) variances of a block; 2 is Schwarz's criterion for its mean alone."""

MOST_CORRELATED = 0.5
"""The largest autocorrelation that is assumed for successive blocks."""

_SHORT = 3
"""With fewer values per block, medians of differences of block means behave like those of single values."""

_CHANGES = 8
"""One in eight differences of successive values may be a change of the level."""

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
        """The mean of the values in [start, stop), outliers drawn in."""
        return float((self.sums[stop] - self.sums[start]) / (stop - start))

    def start(self, place: int) -> int:
        """The exact start of a stretch: where both levels fit best, within a block and half of each neighbour."""
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

    This is a lower bound for short runs: where some values are on another level at random, medians of differences only
    show the others. Without an eighth it is .6 times the variance of normal values, so it does not bind for these.
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
    """The starts of the stretches that minimise the sum of squares about their means and of penalties."""
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
"""A level that was left and regained this often is expected to recur."""

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
    """The two levels of a series that leaves and regains one of them at least three times; None for other series.

    Values and levels are matched by the path with the smallest sum of squares, outliers drawn in, and a penalty of
    1.5 log n variances for each change (Viterbi's algorithm); levels and path are refined alternately. Levels are at
    least two standard deviations apart, stays last at least three values in the mean, and twice the log likelihood
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
