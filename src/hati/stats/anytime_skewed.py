"""A t-test that may be looked at after every value, of values that may be skewed.

``anytime_e_values`` takes values for symmetric. Here the null hypothesis is that they are normal or exponential, the
tail toward what would refute it, with a mean of zero and any scale. An e-value is the likelihood of the values' ratios
where the standardised mean is above zero, over the largest of those under the null hypothesis: as the ratio to each of
these is a martingale that starts at 1, the smaller of both ever reaches 1 / alpha with a probability of at most alpha
under either (Wasserman, Ramdas and Balakrishnan 2020, PNAS 117, 16880-16890, section 8; Ville's inequality).
"""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import log_confluent, log_gamma, log_sum_of_exponentials, t_cdfs

_AGAINST_NORMAL = 1.0
"""The deviation of the standardised mean: the unit-information prior of ``anytime_e_values``."""
_AGAINST_EXPONENTIAL = (1.0, 4.0, 16.0, 64.0)
"""Alike probable: an exponential distribution is refuted by values that hardly vary beside their mean."""
_LARGEST = 700.0
_LEAST = 1e-300


def skewed_e_values(sizes: FloatArray, sums: FloatArray, squares: FloatArray, largest: FloatArray) -> FloatArray:
    """The e-value against a mean of at most zero, of so many values with that sum, sum of squares and largest value.

    All are of one shape, sizes at least 1; so is what is returned, which is 0 where the mean is not above zero.

    >>> values = np.array([1.0, 2.0, 1.5, 1.8, 1.6, 1.2])
    >>> sums, squares = np.cumsum(values), np.cumsum(values**2)
    >>> skewed_e_values(np.arange(1.0, 7.0), sums, squares, np.maximum.accumulate(values)).round(2).tolist()
    [1.44, 1.02, 1.8, 2.71, 6.29, 13.01]
    """
    above = sums > 0.0
    unit = np.where(above, np.maximum(np.maximum(largest, sums / sizes), _LEAST), 1.0)  # rounding aside, the largest
    scaled, squared = np.where(above, sums / unit, 1.0), np.where(above, squares / unit / unit, 1.0)
    against_normal = _log_shifted(sizes, scaled, squared, _AGAINST_NORMAL)
    mixed = [_log_shifted(sizes, scaled, squared, deviation) for deviation in _AGAINST_EXPONENTIAL]
    likely = log_sum_of_exponentials(np.stack(mixed)) - math.log(len(mixed))
    against_exponential = likely + _log_normal(sizes, squared) - _log_exponential(sizes, scaled)
    logs = np.minimum(np.minimum(against_normal, against_exponential), _LARGEST)
    return np.asarray(np.where(above, np.exp(logs), 0.0), dtype=np.float64)


def fewest_of_a_share(alpha: float, share: float) -> int:
    """How many values it takes for all to be of so large a share of a distribution with a probability of alpha.

    >>> fewest_of_a_share(0.01, 0.7), fewest_of_a_share(0.05, 0.5)
    (13, 5)
    """
    return math.ceil(math.log(alpha) / math.log(share))


def _log_shifted(sizes: FloatArray, sums: FloatArray, squares: FloatArray, deviation: float) -> FloatArray:
    """The logarithm of the likelihood over the normal one, of a half-normal standardised mean above zero."""
    known = sizes + deviation**-2.0  # the precision of the mean with the prior's
    explained = sums**2 / (known * squares)
    statistics = np.sqrt(sizes * explained / (1.0 - explained))
    positive = np.log(2.0 * t_cdfs(statistics, sizes))
    return np.asarray(
        positive - np.log(deviation * np.sqrt(known)) - sizes / 2.0 * np.log1p(-explained), dtype=np.float64
    )


def _log_normal(sizes: FloatArray, squares: FloatArray) -> FloatArray:
    """The logarithm of the likelihood of normal values with mean zero, the logarithm of their scale being uniform."""
    density = -sizes / 2.0 * math.log(2.0 * math.pi) - math.log(2.0)
    return np.asarray(density + log_gamma(sizes / 2.0) + sizes / 2.0 * np.log(2.0 / squares), dtype=np.float64)


def _log_exponential(sizes: FloatArray, sums: FloatArray) -> FloatArray:
    """The same of exponential values with mean zero, the tail below it, of which the largest is 1."""
    return np.asarray(sums - sizes - np.log(sizes) + log_confluent(sizes, sums), dtype=np.float64)
