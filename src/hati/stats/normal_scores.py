"""Ranks on the scale of a normal distribution: what has no outliers and no tails."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import normal_quantiles
from hati.stats.least_squares import Index


def mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, shape (n,); equal values share their mean rank."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(members)
    return np.asarray((last - (members - 1) / 2.0)[group], dtype=np.float64)


def normal_scores(values: FloatArray, groups: Index) -> FloatArray:
    """Normal scores of a series whose groups (machines) have levels of their own, shape (n,).

    The groups' medians are taken out, the rest is ranked, and the rank r is given the normal quantile of
    (r - 3/8) / (n + 1/4) (Blom 1958, Statistical estimates and transformed beta-variables); then the groups' means are
    taken out, and the scores divided by their standard deviation. All 0 where nothing varies.

    Args:
        values: shape (n,).
        groups: the group of each value, counted from 0, shape (n,).
    """
    scores = normal_quantiles((mid_ranks(_around_medians(values, groups)) - 0.375) / (len(values) + 0.25))
    counts = np.bincount(groups)
    scores = scores - (np.bincount(groups, scores) / np.maximum(counts, 1))[groups]
    freedom = len(values) - np.count_nonzero(counts) + 1
    size = float(np.sqrt(scores @ scores / freedom))
    return np.asarray(scores / size if size > 1e-9 else np.zeros(len(values)))


def _around_medians(values: FloatArray, groups: Index) -> FloatArray:
    if groups.max() == 0:
        return values
    centred = values.copy()
    for group in np.unique(groups):
        chosen = groups == group
        centred[chosen] -= np.median(values[chosen])
    return centred
