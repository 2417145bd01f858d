"""Steps between positions whose values have known standard errors: from two positions on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.effects.least_squares import Index
from hati.stats.inference.distributions import normal_quantile, t_quantile, t_two_sided
from hati.stats.inference.power import POWER
from hati.stats.samples.variances import spread_over_ticks
from hati.stats.series.dependence import running_median
from hati.stats.series.trends import FEWEST_OF_TREND

UNCONFIRMED = 3
"""Positions that a level has at least where they have a single run each: fewer are outliers."""

FEWEST_DIFFERENCES = 5
"""The variance between positions is estimated from at least that number of successive differences."""

_MAD = 1.4826 / math.sqrt(2.0)  # of differences of normal variables: the standard deviation of one of these
_LINE = 10.0
_SLOPES = 5
_NOTHING = 1e-9


class Positions(Struct, frozen=True, eq=False):
    """Values of positions in order, with what they vary by where no level changes.

    ``values`` and ``errors`` (standard errors) have shape (n,), ``freedom`` is the number of degrees of freedom of
    the errors, ``confirmed`` says of which positions several runs agree, shape (n,). ``surcharge`` is what a level of
    fewer than three positions costs beyond its step, in steps: 0 where positions vary by their runs alone, 1 where
    sessions may have heavy tails.
    """

    values: FloatArray
    errors: FloatArray
    freedom: float
    confirmed: NDArray[np.bool_]
    surcharge: float = 0.0


class PositionStep(Struct, frozen=True):
    """A step: the first position of the new level, the interval of that, and the levels with the step's interval.

    Intervals are of 95 %. ``before`` and ``after`` are the levels at the step.
    """

    index: int
    indexes: tuple[int, int]
    before: float
    after: float
    interval: tuple[float, float]
    p_value: float


class PositionSteps(Struct, frozen=True, eq=False):
    """The steps, around a line of that slope (0: none), and the number of the level of each position, shape (n,)."""

    steps: tuple[PositionStep, ...]
    slope: float
    strata: Index


def spread_between(series: Sequence[FloatArray], tick: float) -> float:
    """The standard deviation of positions about their levels, by the median of successive differences.

    A step adds to one difference, a spike to two; fewer than half of them do not matter much. Where values have ticks
    the median is that of grouped differences. Values that stay the same for three positions or more each have no noise.

    Args:
        series: the values of each machine, shape (n,); at least two of one.
        tick: the step that values are rounded to; 0 where ties do not come from rounding.
    """
    if all(map(_stays, series)):
        return 0.0
    distances = np.abs(np.concatenate([np.diff(values) for values in series]))
    return _MAD * float(np.median(spread_over_ticks(distances, tick)))


def _stays(values: FloatArray) -> bool:
    """Whether each value is repeated by its neighbours: of independent ticks at most one series in thirty is such."""
    edges = np.flatnonzero(np.diff(values)) + 1
    return bool(np.diff(np.concatenate([[0], edges, [len(values)]])).min() >= UNCONFIRMED)


def spread_freedom(differences: int) -> float:
    """The degrees of freedom with which Student's t is safe for ``spread_between``: by simulation of 6 to 30 positions.

    With a third of the differences, 3,000 series of normal positions each show a step in 1 % at a nominal 5 %.
    """
    return differences / 3.0


def clipped_around_neighbours(values: FloatArray, deviation: float) -> FloatArray:
    """The values, shape (n,), clipped to 2.5 of these deviations around the medians of five successive ones."""
    middle = running_median(values, 5)
    reach = 2.5 * deviation
    return np.asarray(middle + np.clip(values - middle, -reach, reach))


def position_steps(positions: Positions, alpha: float) -> PositionSteps:
    """Find the levels with the smallest weighted sum of squares and penalty; alpha for any step where there is none.

    The penalty of a step is the square of the quantile of Student's t at alpha / (n - 1), so that with one step more
    the error is at most alpha (Bonferroni); the search over all partitions is exact (Jackson et al. 2005, An algorithm
    for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12(2), 105-108). A line through all
    levels is taken where it clearly does better than steps alone, of positions that suffice to show a trend.

    Args:
        positions: at least two.
        alpha: the probability of any step in a series without one.
    """
    penalty = _critical(len(positions.values), positions.freedom, alpha) ** 2
    slope, places = 0.0, _partition(positions, 0.0, penalty)
    if places and len(positions.values) >= FEWEST_OF_TREND:
        slope, places = min(
            [(0.0, places), *_lines(positions, places, penalty)],
            key=lambda one: _cost(positions, one[0], one[1], penalty) + (max(_LINE, penalty) if one[0] else 0.0),
        )
    return _described(positions, slope, places)


def detectable_position_step(positions: Positions, alpha: float) -> float:
    """The step in the middle that is found with 80 % power, had nothing else changed."""
    half = len(positions.values) // 2
    weights = _weights(positions)
    error = math.sqrt(1.0 / float(weights[:half].sum()) + 1.0 / float(weights[half:].sum()))
    return (_critical(len(weights), positions.freedom, alpha) + normal_quantile(POWER)) * error


def _critical(size: int, freedom: float, alpha: float) -> float:
    return t_quantile(1.0 - 0.5 * alpha / max(size - 1, 1), freedom)


def _weights(positions: Positions) -> FloatArray:
    least = _NOTHING * (float(np.max(np.abs(positions.values))) or 1.0)
    return np.asarray(1.0 / np.square(np.maximum(positions.errors, least)))


def _straight(positions: Positions, slope: float) -> FloatArray:
    size = len(positions.values)
    return np.asarray(positions.values - slope * (np.arange(size) - 0.5 * (size - 1)))


def _partition(positions: Positions, slope: float, penalty: float) -> tuple[int, ...]:
    """The places of the steps; a level has several runs or three positions."""
    values, weights = _straight(positions, slope), _weights(positions)
    values = values - float(np.median(values))
    size = len(values)
    sums, firsts, squares = (
        np.concatenate([[0.0], np.cumsum(part)]) for part in (weights, weights * values, weights * values**2)
    )
    alone = np.concatenate([[0], np.cumsum(~positions.confirmed)])
    costs, last = np.zeros(size + 1), np.zeros(size + 1, dtype=np.intp)
    costs[0] = -penalty
    for stop in range(1, size + 1):
        starts = np.arange(stop)
        about = squares[stop] - squares[:stop] - np.square(firsts[stop] - firsts[:stop]) / (sums[stop] - sums[:stop])
        enough = (stop - starts >= UNCONFIRMED) | (alone[stop] == alone[:stop])
        few = positions.surcharge * penalty * ((stop - starts < UNCONFIRMED) & (stop - starts < size))
        cost = np.where(enough, costs[:stop] + np.maximum(about, 0.0) + few, np.inf)
        last[stop] = np.argmin(cost)
        costs[stop] = cost[last[stop]] + penalty
    places = []
    stop = int(last[size])
    while stop > 0:
        places.append(stop)
        stop = int(last[stop])
    return tuple(places[::-1])


def _strata(size: int, places: tuple[int, ...]) -> Index:
    return np.asarray(np.searchsorted(np.array(places, dtype=np.intp), np.arange(size), side="right"), dtype=np.intp)


def _slope(positions: Positions, places: tuple[int, ...]) -> float:
    """By weighted least squares within the levels."""
    weights, strata = _weights(positions), _strata(len(positions.values), places)
    total = np.bincount(strata, weights)
    times, values = (
        part - (np.bincount(strata, weights * part) / total)[strata]
        for part in (np.arange(len(weights), dtype=float), positions.values)
    )
    size = float(weights @ times**2)
    return float(weights @ (times * values)) / size if size > 0.0 else 0.0


def _lines(positions: Positions, places: tuple[int, ...], penalty: float) -> list[tuple[float, tuple[int, ...]]]:
    """Lines, and the steps around them in turn, from no step, all steps and each single one."""
    found = []
    for start in ((), places, *((place,) for place in places)):
        own: tuple[int, ...] = start
        for _ in range(_SLOPES):
            slope = _slope(positions, own)
            moved = _partition(positions, slope, penalty)
            found.append((slope, moved))
            if moved == own:
                break
            own = moved
    return found


def _cost(positions: Positions, slope: float, places: tuple[int, ...], penalty: float) -> float:
    values, weights = _straight(positions, slope), _weights(positions)
    strata = _strata(len(values), places)
    means = np.bincount(strata, weights * values) / np.bincount(strata, weights)
    few = int(np.count_nonzero(np.bincount(strata) < UNCONFIRMED)) if places else 0
    return float(weights @ np.square(values - means[strata])) + penalty * (len(places) + positions.surcharge * few)


def _described(positions: Positions, slope: float, places: tuple[int, ...]) -> PositionSteps:
    size = len(positions.values)
    edges = (0, *places, size)
    steps = tuple(_step(positions, slope, edges[number : number + 3]) for number in range(len(places)))
    return PositionSteps(steps, slope, _strata(size, places))


def _step(positions: Positions, slope: float, around: tuple[int, ...]) -> PositionStep:
    start, place, stop = around
    size = len(positions.values)
    values, weights = _straight(positions, slope)[start:stop], _weights(positions)[start:stop]
    sums, firsts = np.cumsum(weights)[:-1], np.cumsum(weights * values)[:-1]
    total, whole = float(weights.sum()), float(weights @ values)
    before, after = firsts / sums, (whole - firsts) / (total - sums)
    variances = 1.0 / sums + 1.0 / (total - sums)
    gains = np.square(after - before) / variances
    own = place - start - 1
    wide = t_quantile(0.975, positions.freedom)
    widened = (wide / normal_quantile(0.975)) ** 2
    near = np.flatnonzero(gains >= gains[own] + 2.0 * math.log(1.0 - math.sqrt(0.95)) * widened) + start + 1
    drifted = slope * (place - 0.5 * (size - 1))
    margin = wide * math.sqrt(variances[own])
    change = float(after[own] - before[own])
    chance = float(t_two_sided(np.array([math.sqrt(gains[own])]), positions.freedom)[0])
    return PositionStep(
        index=place,
        indexes=(min(int(near[0]), place), max(int(near[-1]), place)),
        before=float(before[own]) + drifted,
        after=float(after[own]) + drifted,
        interval=(change - margin, change + margin),
        p_value=min(1.0, (size - 1) * chance),
    )
