"""Whether values drift over the order in which they were measured."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import t_two_sided


def rank_trend(values: FloatArray, order: FloatArray) -> tuple[float, float]:
    """Spearman's rank correlation of values with their order, and its two-sided p-value.

    The p-value is from Student's t with n - 2 degrees of freedom (Kendall and Stuart 1973, The advanced theory of
    statistics, volume 2, chapter 31). Constant or fewer than five values show no trend: (0.0, 1.0).
    """
    count = len(values)
    if count < 5 or np.ptp(values) == 0.0 or np.ptp(order) == 0.0:
        return 0.0, 1.0
    correlation = float(np.corrcoef(_ranks(values), _ranks(order))[0, 1])
    spread = max(1.0 - correlation**2, 1e-300)
    statistic = np.array([correlation * np.sqrt((count - 2) / spread)])
    return correlation, float(t_two_sided(statistic, count - 2)[0])


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1; equal values share their mean rank."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(members)
    return np.asarray((last - (members - 1) / 2.0)[group], dtype=np.float64)
