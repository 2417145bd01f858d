"""Student's t of values that are not normal: skewed like exponential ones, or of two kinds."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hati.core import FloatArray
from hati.stats.inference.distributions import beta_quantiles, binomial_cdfs, gamma_cdf, t_cdf

_NODES = 400
_FARTHEST = 1e9
_HALVINGS = 80


def skewed_t_above(statistic: float, size: int) -> float:
    """The larger of P(T > statistic) of so many normal and so many exponential values.

    >>> round(skewed_t_above(4.0, 10), 3), round(skewed_t_above(-1.0, 10), 3)
    (0.03, 0.828)
    """
    normal = t_cdf(-statistic, size - 1.0)
    if statistic <= 0.0:
        return normal
    variations, weights = _variations(size)
    below = gamma_cdf(size / (1.0 + statistic * variations / math.sqrt(size)), float(size))
    return max(normal, float(weights @ below))


@lru_cache(maxsize=4096)
def skewed_t_critical(size: int, alpha: float) -> float:
    """The statistic at which ``skewed_t_above`` is alpha, below one half.

    >>> round(skewed_t_critical(5, 0.01), 1), round(skewed_t_critical(40, 0.01), 1)
    (10.5, 3.4)
    """
    low, high = 0.0, 1.0
    while skewed_t_above(high, size) > alpha and high < _FARTHEST:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if skewed_t_above(middle, size) > alpha else (low, middle)
    return high


@lru_cache(maxsize=1024)
def _variations(size: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients of variation of so many exponential values, denser where they are small, with their weights.

    The sum of squares of what parts each is of their sum has mean 2 / (n + 1) (Dirichlet distribution).
    """
    mean, square = 1.0 / (size + 1.0), (4.0 * size + 20.0) / ((size + 1.0) * (size + 2.0) * (size + 3.0))
    variance = (square - (2.0 / (size + 1.0)) ** 2) * (size / (size - 1.0)) ** 2
    precision = mean * (1.0 - mean) / variance - 1.0
    places = (np.arange(_NODES) + 0.5) / _NODES
    shares = beta_quantiles(places**2, mean * precision, (1.0 - mean) * precision)
    return np.sqrt(size * shares), places / places.sum()


_ROUNDING = 1.0 + 1e-9
"""A statistic that is larger by less is the same."""


def two_kinds_t_above(statistic: float, size: int, share: float) -> float:
    """P(T >= statistic) of so many values, of a statistic above zero.

    >>> round(two_kinds_t_above(4.0, 13, 0.3), 4), round(two_kinds_t_above(2.0, 13, 0.3), 4)
    (0.0097, 0.0637)
    """
    statistics, below = _possible(size, share)
    return float(below[np.searchsorted(-statistics, -statistic / _ROUNDING, side="right") - 1])


def two_kinds_t_critical(size: int, alpha: float, share: float) -> float:
    """The statistic above which ``two_kinds_t_above`` is at most alpha; infinite where so few values have none.

    >>> round(two_kinds_t_critical(18, 0.01, 0.3), 2), two_kinds_t_critical(12, 0.01, 0.3)
    (4.4, inf)
    """
    statistics, below = _possible(size, share)
    rejected = int(np.searchsorted(below, alpha, side="right"))
    if not rejected:
        return math.inf
    return float(statistics[rejected]) * _ROUNDING if rejected < len(statistics) else 0.0


@lru_cache(maxsize=1024)
def _possible(size: int, share: float) -> tuple[FloatArray, FloatArray]:
    """The statistics above zero, descending, with the probability of each or a larger one."""
    counts = np.arange(math.ceil(size * share), dtype=np.float64)
    shares = counts / size
    with np.errstate(divide="ignore"):
        statistics = math.sqrt(size - 1.0) * (share - shares) / np.sqrt(shares * (1.0 - shares))
    return statistics, binomial_cdfs(counts, size, share)
