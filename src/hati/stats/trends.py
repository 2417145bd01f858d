"""Trends over time, gradual drift, and steps between positions whose values have known standard errors.

The interval of a drift's slope is not narrowed by autocorrelation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.dependence import running_median, sum_variance
from hati.stats.diagnostics import mid_ranks
from hati.stats.distributions import normal_quantile, t_quantile, t_two_sided
from hati.stats.levels import independent_values
from hati.stats.linear_models import Index, without_means
from hati.stats.power import POWER
from hati.stats.variances import spread_over_ticks

_CONFIDENCE = 0.95
_FEWEST_DF = 3
_SAME = 1e-9


def rank_trend(values: FloatArray, order: FloatArray, model: FloatArray, groups: Index) -> tuple[float, float]:
    """The partial rank correlation of values with their order, and its two-sided p-value.

    The means of the groups and the model's columns are taken out of the values; then the residuals and the order are
    ranked, and the same columns are taken out of both ranks. Both must be free of the same columns, or the
    correlation's variance is not that of Student's t. With one group and no column it is Spearman's.

    The p-value is from Student's t with n - groups - columns - 1 degrees of freedom (Kendall and Stuart 1973, The
    advanced theory of statistics, volume 2, chapters 27 and 31). With fewer than three of them, or without a residual
    of values or order, there is no trend: (0.0, 1.0).

    Args:
        values: shape (n,).
        order: shape (n,).
        model: columns to take out, shape (n, p), p may be 0.
        groups: the group of each value, counted from 0, shape (n,).
    """
    free = without_means(model, groups)
    basis, sizes, _ = np.linalg.svd(free, full_matrices=False)
    basis = basis[:, sizes > _SAME * np.sqrt(len(values))]
    df = len(values) - len(np.unique(groups)) - basis.shape[1] - 1
    if df < _FEWEST_DF:
        return 0.0, 1.0
    residuals = _rest(values, basis, groups)
    if np.max(np.abs(residuals)) <= _SAME * np.max(np.abs(values)):
        return 0.0, 1.0
    one, other = (_rest(mid_ranks(each), basis, groups) for each in (residuals, order))
    size = float(np.sqrt((one @ one) * (other @ other)))
    if size <= _SAME * len(values):
        return 0.0, 1.0
    correlation = float(one @ other) / size
    spread = max(1.0 - correlation**2, 1e-300)
    statistic = np.array([correlation * np.sqrt(df / spread)])
    return correlation, float(t_two_sided(statistic, df)[0])


def _rest(values: FloatArray, basis: FloatArray, groups: Index) -> FloatArray:
    centred = without_means(values[:, None], groups)[:, 0]
    return np.asarray(centred - basis @ (basis.T @ centred))


MOST_BLOCKS = 600
"""Longer series are reduced to the means of blocks of successive values of one group."""

FEWEST_OF_TREND = 8
"""Fewer values show no trend."""

_NOTHING = 1e-9


class GradualDrift(Struct, frozen=True):
    """The change of a value from one index to the next, with an interval at the requested level.

    A bound is infinite where there are too few values for it.
    """

    slope: float
    interval: tuple[float, float]
    p_value: float


def gradual_drift(values: FloatArray, groups: Index, phi: float) -> GradualDrift | None:
    """The median of the slopes between all pairs of values of one group (level), and Kendall's test of it.

    Theil (1950) and Sen (1968), Estimates of the regression coefficient based on Kendall's tau, Journal of the American
    Statistical Association 63(324), 1379-1389: its 95 % interval, by order statistics, formula 2.6. The variance of
    Kendall's S, the sum of those of the groups, is multiplied by the factor by which a first-order autoregression
    inflates that of the least-squares slope (in the manner of Hamed and Rao 1998, A modified Mann-Kendall trend test
    for autocorrelated data, Journal of Hydrology 204, 182-196).

    Args:
        values: shape (n,), in the order of time.
        groups: values of one group have one level: a machine, between two change points; shape (n,).
        phi: the autocorrelation of the noise.

    Returns:
        The slope, with an infinite bound where no order statistic is far enough out; None where there are too few
        values.
    """
    times, means, strata, length = _blocks(values, groups)
    pairs = [_pairs(times[strata == group], means[strata == group]) for group in np.unique(strata)]
    slopes = np.sort(np.concatenate([slopes for slopes, _ in pairs]))
    sizes = np.bincount(strata)
    freedom = int(np.sum(np.maximum(sizes - 1, 0))) - 1
    if len(means) < FEWEST_OF_TREND or freedom < 3 or not slopes.size:
        return None
    statistic = sum(signs for _, signs in pairs)
    variance = float(np.sum(sizes * (sizes - 1) * (2 * sizes + 5))) / 18.0
    between = _between_blocks(phi, length)
    deviation = math.sqrt(variance * _inflation(times, strata, between))
    independent = independent_values(freedom, len(means), between)
    distance = t_quantile(0.5 + 0.5 * _CONFIDENCE, independent) * deviation
    p_value = float(t_two_sided(np.array([max(abs(statistic) - 1.0, 0.0) / deviation]), independent)[0])
    low, high = (round(0.5 * (len(slopes) + side * distance)) for side in (-1.0, 1.0))
    interval = (
        float(slopes[low - 1]) if low >= 1 else -math.inf,
        float(slopes[high]) if high < len(slopes) else math.inf,
    )
    return GradualDrift(float(np.median(slopes)), interval, p_value)


def weighted_drift(values: FloatArray, groups: Index, errors: FloatArray, freedom: float) -> GradualDrift | None:
    """The slope by weighted least squares with a level for each group, and Student's test of it; a 95 % interval.

    Args:
        values: shape (n,), in the order of time.
        groups: values of one group have one level, shape (n,).
        errors: the standard errors of the values, shape (n,); an infinite one gives no weight.
        freedom: the degrees of freedom of the errors.

    Returns:
        None where there are too few values.
    """
    kept = np.isfinite(errors)
    if np.count_nonzero(kept) < FEWEST_OF_TREND or freedom <= 0.0:
        return None
    strata = np.unique(groups[kept], return_inverse=True)[1]
    largest = float(np.max(np.abs(values[kept]))) or 1.0
    weights = 1.0 / np.square(np.maximum(errors[kept], _NOTHING * largest))
    total = np.bincount(strata, weights)
    times, about = (
        part - (np.bincount(strata, weights * part) / total)[strata]
        for part in (np.flatnonzero(kept).astype(float), values[kept])
    )
    size = float(weights @ np.square(times))
    if size <= 0.0:
        return None
    slope, error = float(weights @ (times * about)) / size, 1.0 / math.sqrt(size)
    margin = t_quantile(0.975, freedom) * error
    p_value = float(t_two_sided(np.array([abs(slope) / error]), freedom)[0])
    return GradualDrift(slope, (slope - margin, slope + margin), p_value)


def _blocks(values: FloatArray, groups: Index) -> tuple[FloatArray, FloatArray, Index, int]:
    """The mean index and the mean of blocks, the group of each, and how many values a block has."""
    length = math.ceil(len(values) / MOST_BLOCKS)
    order = np.argsort(groups, kind="stable")
    own = np.unique(groups[order], return_inverse=True)[1]
    firsts = np.searchsorted(own, own)
    starts = np.flatnonzero((np.arange(len(order)) - firsts) % length == 0)
    counts = np.diff(np.append(starts, len(order)))
    times = np.add.reduceat(order.astype(float), starts) / counts
    means = np.add.reduceat(values[order], starts) / counts
    return times, means, np.asarray(own[starts], dtype=np.intp), length


def _pairs(times: FloatArray, values: FloatArray) -> tuple[FloatArray, float]:
    """The slopes between all pairs, and Kendall's S."""
    first, second = np.triu_indices(len(values), 1)
    differences = values[second] - values[first]
    return differences / (times[second] - times[first]), float(np.sum(np.sign(differences)))


def _between_blocks(phi: float, length: int) -> float:
    """The autocorrelation of block means with which a first-order autoregression has the same long-run variance."""
    within = float(sum_variance(np.array([length]), np.array(phi))[0]) / length
    ratio = (1.0 + phi) / (1.0 - phi) / within
    return (ratio - 1.0) / (ratio + 1.0)


def _inflation(times: FloatArray, strata: Index, phi: float) -> float:
    """The variance of the least-squares slope relative to that for independent values."""
    order = np.argsort(times, kind="stable")
    centred = times - (np.bincount(strata, times) / np.maximum(np.bincount(strata), 1))[strata]
    along = centred[order]
    far = np.abs(np.subtract.outer(np.arange(len(along)), np.arange(len(along))))
    correlations = np.power(np.abs(phi), far) * np.where(far % 2 == 1, math.copysign(1.0, phi), 1.0)
    return float(along @ correlations @ along) / float(along @ along)


UNCONFIRMED = 3
"""The smallest number of positions of a level, if each has a single run: fewer are outliers."""

FEWEST_DIFFERENCES = 5
"""The variance between positions is estimated from at least that number of successive differences."""

_MAD = 1.4826 / math.sqrt(2.0)  # of differences of normal variables: the standard deviation of one of these
_LINE = 10.0
_SLOPES = 5


class Positions(Struct, frozen=True, eq=False):
    """Values of positions in order, with their variation where no level changes.

    ``values`` and ``errors`` (standard errors) have shape (n,), ``freedom`` is the number of degrees of freedom of
    the errors, ``confirmed`` marks the positions on which several runs agree, shape (n,). ``surcharge`` is the
    additional penalty for a level of fewer than three positions, in penalties of a step: 0 where positions vary by
    their runs alone, 1 where sessions may have heavy tails.
    """

    values: FloatArray
    errors: FloatArray
    freedom: float
    confirmed: NDArray[np.bool_]
    surcharge: float = 0.0


class PositionStep(Struct, frozen=True):
    """A step: the first position of the new level with its interval, and the levels with the step's interval.

    Intervals have 95 % confidence; ``interval`` is of ``after`` less ``before``, the levels at the step.
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
    """Whether every value lasts for three positions or more; of independent ticks at most one series in thirty does."""
    edges = np.flatnonzero(np.diff(values)) + 1
    return bool(np.diff(np.concatenate([[0], edges, [len(values)]])).min() >= UNCONFIRMED)


def spread_freedom(differences: int) -> float:
    """The degrees of freedom with which Student's t is safe for ``spread_between``: by simulation of 6 to 30 positions.

    With a third of the differences, 1 % of 3,000 series of normal positions each show a step, at a nominal 5 %.
    """
    return differences / 3.0


def clipped_around_neighbours(values: FloatArray, deviation: float) -> FloatArray:
    """The values, shape (n,), clipped to 2.5 of these deviations around the medians of five successive ones."""
    middle = running_median(values, 5)
    reach = 2.5 * deviation
    return np.asarray(middle + np.clip(values - middle, -reach, reach))


def position_steps(positions: Positions, alpha: float) -> PositionSteps:
    """Find the levels with the smallest sum of weighted squares and of a penalty for each step.

    The penalty of a step is the square of the quantile of Student's t at alpha / (n - 1), so that with one step more
    the error is at most alpha (Bonferroni); the search over all partitions is exact (Jackson et al. 2005, An algorithm
    for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12(2), 105-108). A line through all
    levels is fitted where it clearly does better than steps alone and there are enough positions to show a trend.

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
    """The slope by weighted least squares within the levels."""
    weights, strata = _weights(positions), _strata(len(positions.values), places)
    total = np.bincount(strata, weights)
    times, values = (
        part - (np.bincount(strata, weights * part) / total)[strata]
        for part in (np.arange(len(weights), dtype=float), positions.values)
    )
    size = float(weights @ times**2)
    return float(weights @ (times * values)) / size if size > 0.0 else 0.0


def _lines(positions: Positions, places: tuple[int, ...], penalty: float) -> list[tuple[float, tuple[int, ...]]]:
    """Slopes and the steps around their lines, fitted alternately: from no step, all steps and each single one."""
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
