"""Trends over time: by ranks, and creeping change with a slope and an interval that autocorrelation does not
narrow.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.effects.diagnostics import mid_ranks
from hati.stats.effects.least_squares import Index, without_means
from hati.stats.inference.distributions import t_quantile, t_two_sided
from hati.stats.series.change_points import independent_values
from hati.stats.series.dependence import sum_variance

_FEWEST_DF = 3
_SAME = 1e-9


def rank_trend(values: FloatArray, order: FloatArray, model: FloatArray, groups: Index) -> tuple[float, float]:
    """The partial rank correlation of values with their order, and its two-sided p-value.

    The means of the groups and the model's columns are taken out of the values; then the residuals and the order are
    ranked and the same is taken out of both ranks. What one is free of the other must be free of too, or the
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
"""Longer series are taken in blocks of successive values of one group, by their means."""

FEWEST_OF_TREND = 8
"""Fewer values show no trend."""

_NOTHING = 1e-9


class GradualDrift(Struct, frozen=True):
    """The change of a value from one index to the next, with an interval at the requested level.

    A bound is infinite where too few values bound it.
    """

    slope: float
    interval: tuple[float, float]
    p_value: float


def gradual_drift(values: FloatArray, groups: Index, phi: float, level: float = 0.95) -> GradualDrift | None:
    """The median of the slopes between all pairs of values of one group (level), and Kendall's test of it.

    Theil (1950) and Sen (1968), Estimates of the regression coefficient based on Kendall's tau, Journal of the American
    Statistical Association 63(324), 1379-1389: its interval, by order statistics, formula 2.6. The variance of
    Kendall's S, the sum of those of the groups, is multiplied by what a first-order autoregression does to that of the
    least-squares slope (in the manner of Hamed and Rao 1998, A modified Mann-Kendall trend test for autocorrelated
    data, Journal of Hydrology 204, 182-196).

    Args:
        values: shape (n,), in the order of time.
        groups: values of one group have one level: a machine, between two change points; shape (n,).
        phi: the autocorrelation of the noise.
        level: the interval's.

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
    distance = t_quantile(0.5 + 0.5 * level, independent) * deviation
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
    """The autocorrelation of blocks' means with which a first-order autoregression of them has the same long run."""
    within = float(sum_variance(np.array([length]), np.array(phi))[0]) / length
    ratio = (1.0 + phi) / (1.0 - phi) / within
    return (ratio - 1.0) / (ratio + 1.0)


def _inflation(times: FloatArray, strata: Index, phi: float) -> float:
    """By how much the variance of the least-squares slope is that of independent values."""
    order = np.argsort(times, kind="stable")
    centred = times - (np.bincount(strata, times) / np.maximum(np.bincount(strata), 1))[strata]
    along = centred[order]
    far = np.abs(np.subtract.outer(np.arange(len(along)), np.arange(len(along))))
    correlations = np.power(np.abs(phi), far) * np.where(far % 2 == 1, math.copysign(1.0, phi), 1.0)
    return float(along @ correlations @ along) / float(along @ along)
