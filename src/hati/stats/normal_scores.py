"""Ranks on the scale of a normal distribution: what has no outliers and no tails."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import normal_quantiles
from hati.stats.least_squares import Index

_FEWEST = 8


def mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, shape (n,); equal values share their mean rank."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(members)
    return np.asarray((last - (members - 1) / 2.0)[group], dtype=np.float64)


def normal_scores(values: FloatArray, groups: Index) -> FloatArray:
    """Normal scores of a series whose groups (machines) have levels and noise of their own, shape (n,).

    The groups' medians are taken out, the rest is scaled to the groups' noise and ranked, and the rank r is given the
    normal quantile of (r - 3/8) / (n + 1/4) (Blom 1958, Statistical estimates and transformed beta-variables); then the
    groups' means are taken out, and the scores divided by their standard deviation. All 0 where nothing varies.

    Args:
        values: shape (n,).
        groups: the group of each value, counted from 0, shape (n,).
    """
    scores = normal_quantiles((mid_ranks(standardised(values, groups)) - 0.375) / (len(values) + 0.25))
    counts = np.bincount(groups)
    scores = scores - (np.bincount(groups, scores) / np.maximum(counts, 1))[groups]
    freedom = len(values) - np.count_nonzero(counts) + 1
    size = float(np.sqrt(scores @ scores / freedom))
    return np.asarray(scores / size if size > 1e-9 else np.zeros(len(values)))


def standardised(values: FloatArray, groups: Index) -> FloatArray:
    """The values less their group's median, in units of the median size of the group's successive differences.

    Steps move neither much. Of a group with few values the unit is that of all.
    """
    counts = np.bincount(groups)
    if np.count_nonzero(counts) == 1:
        return values
    made = values.copy()
    units = np.zeros(len(counts))
    for group in np.flatnonzero(counts):
        own = values[groups == group]
        made[groups == group] -= np.median(own)
        if len(own) >= _FEWEST:
            units[group] = np.median(np.abs(np.diff(own)))
    known = units[units > 0.0]
    if known.size == 0:
        return made
    return np.asarray(made / np.where(units > 0.0, units, np.median(known))[groups])
