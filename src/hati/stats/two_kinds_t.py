"""Student's t of values that are of two kinds, each kind of one value, as far as their mean lies from the rarer kind's.

With k of n values of the rarer kind, of which the share is q, sqrt(n - 1) (q - k/n) / sqrt(k/n (1 - k/n)): infinite
where none is, and the less the more there are, so that its tail is the binomial distribution's.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import binomial_cdfs

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
