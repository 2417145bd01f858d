"""t-tests that may be looked at after every value, also of values that may be skewed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.inference.distributions import log_confluent, log_gamma, log_sum_of_exponentials, t_cdfs


def anytime_e_values(values: FloatArray) -> FloatArray:
    """The e-value against a mean of zero after each value.

    Args:
        values: in the order in which they came, shape (n,), finite.

    Returns:
        Shape (n,), positive; the first is 1.

    >>> anytime_e_values(np.array([1.0, 2.0, 1.5, 1.8])).round(2).tolist()
    [1.0, 1.44, 3.02, 7.56]
    """
    sizes = np.arange(1, len(values) + 1)
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    sums, squares = np.cumsum(values / largest), np.cumsum((values / largest) ** 2)
    share = np.divide(sums**2, sizes * squares, out=np.zeros(len(values)), where=squares > 0.0)
    known = 1.0 + sizes  # the precision of the mean with the prior's
    logs = -np.log(known) / 2.0 - sizes / 2.0 * np.log1p(-np.minimum(share, 1.0) * sizes / known)
    return np.asarray(np.exp(np.minimum(logs, _LARGEST)), dtype=np.float64)


_LARGEST = 700.0
"""The logarithm of the largest reported e-value."""


def anytime_critical(size: int, alpha: float) -> float:
    """The size of Student's t statistic of ``size`` values from which on the e-value is at least 1 / alpha.

    Times the standard error it is the half-width of the confidence sequence. Infinite where no statistic reaches it.

    >>> round(anytime_critical(20, 0.05), 2), anytime_critical(2, 0.05)
    (3.42, inf)
    """
    known = 1.0 + size
    factor = math.exp((math.log(known) - 2.0 * math.log(alpha)) / size)
    if factor >= known:
        return math.inf
    return math.sqrt((size - 1) * (factor - 1.0) / (1.0 - factor / known))


def anytime_e_value(statistic: float, size: int) -> float:
    """The e-value of a Student's t statistic of ``size`` values, at least two; ``anytime_critical`` inverts it.

    >>> round(anytime_e_value(anytime_critical(20, 0.05), 20), 6)
    20.0
    """
    known = 1.0 + size
    share = 1.0 / (1.0 + (size - 1) / statistic**2) if statistic else 0.0
    return math.exp(min(-math.log(known) / 2.0 - size / 2.0 * math.log1p(-share * size / known), _LARGEST))


def fewest_signs(alpha: float) -> int:
    """How many values it takes for their signs alone to be that improbable where each sign is a fair coin's.

    >>> fewest_signs(0.05), fewest_signs(0.01)
    (6, 8)
    """
    return 1 + math.ceil(-math.log2(alpha))


_AGAINST_NORMAL = 1.0
"""The deviation of the standardised mean: the unit-information prior of ``anytime_e_values``."""
_AGAINST_SKEWED = (1.0, 4.0, 16.0, 64.0)
"""Equally probable: values that hardly vary relative to their mean refute a distribution that ends."""
_BETWEEN = 4.0
"""The shape of the gamma distribution: its skewness is 1, that of the exponential one 2."""
_STEP = 0.5
_ASIDE = 0.5
_DEVIATIONS = 4.0
"""The integral over scales: the step in deviations of the integrand, and how far beyond its modes it goes."""


def skewed_e_values(values: FloatArray) -> FloatArray:
    """The e-value against a mean of at most zero, after each value.

    Args:
        values: in the order in which they came, shape (n,), n >= 1, finite.

    Returns:
        Shape (n,); 0 where the mean is not above zero.

    >>> skewed_e_values(np.array([1.0, 2.0, 1.5, 1.8, 1.6, 1.2])).round(2).tolist()
    [1.44, 1.02, 1.8, 2.71, 6.29, 13.01]
    """
    scaled = _scaled(values)
    sizes = np.arange(1.0, len(values) + 1.0)
    return _e_values(scaled, sizes, lambda each: np.cumsum(each, axis=-1), np.maximum.accumulate(scaled))


def skewed_e_value(values: FloatArray, size: float) -> float:
    """The last e-value of ``size`` values, if all were like these, shape (n,).

    >>> round(skewed_e_value(np.array([1.0, 2.0, 1.5, 1.8, 1.6, 1.2]), 6), 2)
    13.01
    """
    scaled, times = _scaled(values), size / len(values)
    largest = scaled.max(keepdims=True)
    return float(_e_values(scaled, np.array([size]), lambda each: times * each.sum(-1, keepdims=True), largest)[0])


def fewest_of_a_share(alpha: float, share: float) -> int:
    """How many values it takes for all to be of so large a share of a distribution with a probability of alpha.

    >>> fewest_of_a_share(0.01, 0.7), fewest_of_a_share(0.05, 0.5)
    (13, 5)
    """
    return math.ceil(math.log(alpha) / math.log(share))


class _Summed(Struct, frozen=True, eq=False):
    """Numbers of values with their sums, sums of squares and largest values, which are above zero, shape (looks,)."""

    sizes: FloatArray
    sums: FloatArray
    squares: FloatArray
    largest: FloatArray


def _scaled(values: FloatArray) -> FloatArray:
    return np.asarray(values / (float(np.abs(values).max()) or 1.0), dtype=np.float64)


def _e_values(
    values: FloatArray, sizes: FloatArray, summed: Callable[[FloatArray], FloatArray], largest: FloatArray
) -> FloatArray:
    """Of looks at the values, over which the last axis is ``summed``."""
    sums = summed(values)
    found, above = np.zeros(len(sizes)), sums > 0.0
    if not above.any():
        return found
    summary = _Summed(*(each[above] for each in (sizes, sums, summed(values**2), np.maximum(largest, sums / sizes))))
    scales = _scales(summary)
    with np.errstate(divide="ignore"):
        rests = summed(np.log(np.maximum(1.0 - np.exp(scales)[:, None] * values, 0.0)))[:, above]
    shifted = [_log_shifted(summary, deviation) for deviation in _AGAINST_SKEWED]
    likely = log_sum_of_exponentials(np.stack(shifted)) - math.log(len(shifted)) + _log_normal(summary)
    logs = np.minimum(
        _log_shifted(summary, _AGAINST_NORMAL),
        likely - np.maximum(_log_exponential(summary), _log_between(summary, scales, rests)),
    )
    found[above] = np.exp(np.minimum(logs, _LARGEST))
    return found


def _log_shifted(summary: _Summed, deviation: float) -> FloatArray:
    """The logarithm of the likelihood over the normal one, of a half-normal standardised mean above zero."""
    known = summary.sizes + deviation**-2.0  # the precision of the mean with the prior's
    explained = summary.sums**2 / (known * summary.squares)
    statistics = np.sqrt(summary.sizes * explained / (1.0 - explained))
    positive = np.log(2.0 * t_cdfs(statistics, summary.sizes))
    return np.asarray(
        positive - np.log(deviation * np.sqrt(known)) - summary.sizes / 2.0 * np.log1p(-explained), dtype=np.float64
    )


def _log_normal(summary: _Summed) -> FloatArray:
    """The logarithm of the likelihood of normal values with mean zero, the logarithm of their scale being uniform."""
    halves = summary.sizes / 2.0
    density = -halves * math.log(2.0 * math.pi) - math.log(2.0)
    return np.asarray(density + log_gamma(halves) + halves * np.log(2.0 / summary.squares), dtype=np.float64)


def _log_exponential(summary: _Summed) -> FloatArray:
    """The same of exponential values with mean zero, the tail below it: none is above its scale."""
    sums = summary.sums / summary.largest
    exact = sums - summary.sizes - np.log(summary.sizes) + log_confluent(summary.sizes, sums)
    return np.asarray(exact - summary.sizes * np.log(summary.largest), dtype=np.float64)


def _log_between(summary: _Summed, scales: FloatArray, rests: FloatArray) -> FloatArray:
    """The same of gamma variates, by the sum over logarithms of inverse scales, shape (scales,).

    ``rests`` are the sums of the logarithms of the values' distances, in their scale, from the distribution's end, in
    shape (scales, looks): minus infinity where one is beyond.
    """
    logs = (
        scales[:, None] * summary.sizes + (_BETWEEN - 1.0) * rests + _BETWEEN * np.exp(scales)[:, None] * summary.sums
    )
    likely = log_sum_of_exponentials(logs) + math.log(scales[0] - scales[1])
    density = _BETWEEN * math.log(_BETWEEN) - _BETWEEN - math.lgamma(_BETWEEN)
    return np.asarray(likely + summary.sizes * density, dtype=np.float64)


def _scales(summary: _Summed) -> FloatArray:
    """Logarithms of inverse scales, descending from where the first look's largest value ends the distribution.

    In the logarithm the likelihood is concave, with a curvature above the number of values; its mode is within
    0.48 of the largest value, or of shape deviations.
    """
    step = _STEP / math.sqrt(summary.sizes[-1])
    deviations = np.sqrt(_BETWEEN * summary.squares / summary.sizes)
    modes = -np.log(np.maximum(summary.largest, deviations))
    least = float(np.min(modes - _DEVIATIONS / np.sqrt(summary.sizes))) - _ASIDE
    return np.arange(-math.log(float(summary.largest.min())) - step / 2.0, least, -step)
