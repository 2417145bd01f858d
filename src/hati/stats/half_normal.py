"""Half-normal plots: where each effect lies if none is active."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import normal_quantile


def half_normal(sizes: FloatArray) -> FloatArray:
    """The half-normal coordinate of every effect, by the rank of its size.

    The i-th smallest of I effects gets the standard normal quantile of 0.5 + 0.5 (i - 0.5) / I
    (RES paper, equation 4). Effects of equal size share the mean of their coordinates.

    >>> [round(x, 2) for x in half_normal(np.array([3.0, -1.0])).tolist()]
    [1.15, 0.32]
    """
    sizes = np.abs(sizes)
    count = len(sizes)
    coordinates = np.array([normal_quantile(0.5 + 0.5 * (i - 0.5) / count) for i in range(1, count + 1)])
    _, group, members = np.unique(sizes, return_inverse=True, return_counts=True)
    ranked = np.empty(count)
    ranked[np.argsort(sizes, kind="stable")] = coordinates
    return (np.bincount(group, weights=ranked) / members)[group]
