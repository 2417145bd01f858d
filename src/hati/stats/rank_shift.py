"""The shift between two samples by ranks: some runs on another level hardly move it."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.difference import Difference, difference
from hati.stats.distributions import kolmogorov_above, normal_tails
from hati.stats.resolution import resolution

_FEWEST = 10
"""Of fewer the interval by ranks is too uncertain: of 776 clusters of five and five runs two had a wrong sign."""
_ERRORS = 1.3
"""Standard errors of Wilcoxon's statistic: wider intervals need more runs, narrower ones are less certain."""


def rank_shift(first: FloatArray, second: FloatArray) -> Difference:
    """The median of all differences between a value of the second sample and one of the first.

    The estimate of Hodges and Lehmann (1963, Annals of Mathematical Statistics 34, 598-611). Its standard error is the
    half-width, divided by 1.3, of the interval by Wilcoxon's test at 1.3 standard errors of its statistic (Lehmann
    1963, 34, 1507-1512), at least that of rounding. The statistic's error is that of placements where it is larger than
    that of equal distributions, so that spreads may differ (Brunner and Munzel 2000, Biometrical Journal 42, 17-25),
    with its degrees of freedom.

    Where both ends of that interval are at one level or tick, the error is too small. The p-value is therefore at least
    the smaller one of two tests that hold for any equal distributions: Wilcoxon's, and Smirnov's, which finds a shift
    of most runs where some are on another level. Of fewer than ten values on a side it is the difference of the means.

    Args:
        first: one per run, in any unit, shape (runs,).
        second: in the same unit, shape (runs,).
    """
    sizes = len(first), len(second)
    if min(sizes) < _FEWEST:
        return difference(first, second)
    apart = np.sort(np.subtract.outer(second, first), axis=None)
    pairs = len(apart)
    error, df = _error_of_the_statistic(first, second - np.median(apart))
    half = _ERRORS * error
    low, middle, high = np.interp((pairs - 1) / 2.0 + np.array([-half, 0.0, half]), np.arange(pairs), apart)
    width = float(high - low) / (2.0 * _ERRORS)
    rounding = resolution(np.concatenate((first, second))) ** 2 / 12.0
    least = min(_wilcoxon(first, second), _smirnov(first, second))
    variance = max(width**2 / (1.0 / sizes[0] + 1.0 / sizes[1]), rounding)
    return Difference(float(middle), variance, df, sizes, least=least)


def _error_of_the_statistic(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """The standard error of Wilcoxon's statistic for samples of equal medians, and its degrees of freedom."""
    count, other = len(first), len(second)
    equal = count * other * (count + other + 1) / 12.0
    parts = count * float(np.var(_below(first, second), ddof=1)), other * float(np.var(_below(second, first), ddof=1))
    if sum(parts) <= equal:
        return math.sqrt(equal), count + other - 2.0
    df = sum(parts) ** 2 / (parts[0] ** 2 / (count - 1) + parts[1] ** 2 / (other - 1))
    return math.sqrt(sum(parts)), df


def _below(values: FloatArray, others: FloatArray) -> FloatArray:
    """How many of the others are below each value, equal ones counted half."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(left + right, dtype=np.float64) / 2.0


def _wilcoxon(first: FloatArray, second: FloatArray) -> float:
    """The two-sided p-value of Wilcoxon's test, by the normal distribution with ties."""
    pairs, every = len(first) * len(second), np.concatenate((first, second))
    ties, runs = np.unique(every, return_counts=True)[1].astype(np.float64), len(every)
    variance = pairs / 12.0 * (runs + 1 - float(np.sum(ties**3 - ties)) / (runs * (runs - 1)))
    beyond = abs(float(_below(first, second).sum()) - pairs / 2.0) - 0.5
    if beyond <= 0.0 or variance <= 0.0:
        return 1.0
    return 2.0 * float(normal_tails(np.array(beyond / math.sqrt(variance))))


def _smirnov(first: FloatArray, second: FloatArray) -> float:
    """The p-value of Smirnov's test of equal distributions; by the limit, which is conservative for few values."""
    every = np.concatenate((first, second))
    parts = [np.searchsorted(np.sort(values), every, "right") / len(values) for values in (first, second)]
    largest = float(np.max(np.abs(parts[0] - parts[1])))
    return kolmogorov_above(largest / math.sqrt(1.0 / len(first) + 1.0 / len(second)))
