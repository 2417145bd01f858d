"""The places at which the level of a series changes: where, how large, and with one more value."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from hati.core import FloatArray
from hati.stats.effects.least_squares import Index
from hati.stats.inference.distributions import normal_quantile, normal_quantiles, normal_tails, t_quantile
from hati.stats.inference.power import POWER
from hati.stats.series.change_test import (
    FEWEST_VALUES,
    LevelDifferences,
    critical_split,
    split_p_value,
    split_statistics,
    strongest_change,
)
from hati.stats.series.dependence import Dependence, contrast_variance

_CLIP = 3.0
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations


def change_place(values: FloatArray, groups: Index, near: int) -> int:
    """The place of the best step, by least squares, with outliers drawn in.

    Args:
        values: a stretch of the series with one change, shape (n,).
        groups: the group (machine) of each value, shape (n,).
        near: the index of about where the change is; it decides what counts as an outlier.

    Returns:
        The index of the first value after the step; ``near`` where the place cannot be determined.
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
    clipped = clipped_around(values, _renumbered(groups), place)
    residuals = clipped - side_means(clipped, _renumbered(groups), place)
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


def _renumbered(groups: Index) -> Index:
    """The groups that are there, counted from 0."""
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


def change_size(values: FloatArray, groups: Index, place: int, phi: float, level: float = 0.95) -> ChangeSize:
    """The step at a known place between two levels, by least squares with a level for each group (machine).

    ``before`` is the mean before the place; ``after`` is as much more as the groups on both sides have it. The interval
    is of Student's t with the variance of a first-order autoregression and as many degrees of freedom as independent
    values would have. It knows nothing of the place being estimated.

    Args:
        values: the stretch between the neighbouring changes, shape (n,).
        groups: the group of each value, of which one at least is on both sides, shape (n,).
        place: the index of the first value after the step.
        phi: the autocorrelation of the noise.
        level: the interval's.
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
    margin = t_quantile(0.5 + 0.5 * level, independent_values(freedom, len(values), phi)) * error
    before = float(values[:place].mean())
    return ChangeSize(before, before + difference, (difference - margin, difference + margin))


def detectable_step(
    size: int, phi: float, alpha: float = 0.05, dependence: Dependence = Dependence.ESTIMATED
) -> float | None:
    """The smallest step in the middle of a series that is found with 80 % power, in standard deviations of its noise.

    For one step in normal noise. The statistic is the square root of n times the correlation of the normal scores with
    the two sides, which the step itself limits; its variance is that of a normal variable and of the estimated
    autocorrelation together where it is estimated, less where it is known to be none. None where no step is large
    enough: at most 25 values, more with autocorrelation, where that is estimated.

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
    """What the correlation with the sides exceeds with 80 % power.

    The largest that n scores can have is larger than that of endless ones. The variance is (1 - r^2)^2 / n, where r is
    the correlation's part of that: sides that do not overlap have it for certain.
    """
    scores = normal_quantiles((np.arange(1.0, size + 1.0, dtype=np.float64) - 0.375) / (size + 0.25))
    largest = float(np.mean(np.abs(scores))) / float(np.std(scores))
    part = min(1.0, _side_correlation(step) / _side_correlation(_LARGEST))
    return largest * part - normal_quantile(POWER) * (1.0 - part**2) / math.sqrt(size)


def independent_values(freedom: float, size: int, phi: float) -> float:
    """The degrees of freedom of a variance that an estimated autocorrelation has inflated.

    Those of as many independent values, and, by Satterthwaite's formula, those of an inflation (1 + phi) / (1 - phi)
    whose phi has the variance 2 / n.
    """
    of_values = freedom * min(1.0, (1.0 - phi) / (1.0 + phi))
    of_inflation = size * (1.0 - phi**2) ** 2 / 4.0
    return max(1.0, 1.0 / (1.0 / max(of_values, 1.0) + 1.0 / max(of_inflation, 1.0)))


def _side_correlation(step: float) -> float:
    """Of the normal scores with the sides of a step in the middle, in standard deviations of normal noise."""
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
    """Find where the level changes; with probability 1 - alpha nothing where nothing does.

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
        """Each place where it is best between its neighbours."""
        moved = list(places)
        for number, place in enumerate(places):
            start = moved[number - 1] if number else 0
            stop = places[number + 1] if number + 1 < len(places) else len(self.values)
            local = change_place(self.values[start:stop], self.groups[start:stop], place - start)
            moved[number] = start + local
        return moved

    def without_weak(self, places: list[int]) -> list[int]:
        """Those that are significant between their neighbours."""
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


LONGEST = 1000
"""The largest number of values since the last change point that are tested."""


def appended(
    known: tuple[ChangePoint, ...], values: FloatArray, groups: Index, alpha: float = 0.05
) -> tuple[ChangePoint, ...]:
    """The change points of a series whose last value is new.

    Known change points stay. The values since the last one, at most the last thousand, are tested at the
    level that remains for one of that number of stretches (Bonferroni), which holds for each look individually.
    ``change_points`` analyses the whole series again.

    Args:
        known: the change points of the series before, in order.
        values: all values, the new one included, shape (n,).
        groups: the group (machine) of each value, counted from 0, shape (n,).
        alpha: the level of the whole series.
    """
    last = known[-1].index if known else 0
    stretches = len(known) + max(1, math.ceil((len(values) - last) / LONGEST))
    start = max(last, len(values) - LONGEST)
    own = np.unique(groups[start:], return_inverse=True)[1]
    found = change_points(values[start:], own, alpha / stretches)
    return (*known, *(ChangePoint(start + one.index, min(1.0, one.p_value * stretches)) for one in found))
