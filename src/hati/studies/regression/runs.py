"""What the runs of positions say of these: how much their means vary, and whether they were interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hati.core import FloatArray
from hati.stats import group_variances, pooled_variance

_MOST_TOGETHER = 0.1


def run_errors(runs: Sequence[Sequence[Sequence[float]]], values: FloatArray) -> tuple[FloatArray, float]:
    """The standard errors of positions' values, shape (n,), and their degrees of freedom; none without several runs.

    The value of a position is the mean of the means of its groups (machines). The variance of a run is pooled over all
    groups of all positions, on the logarithmic scale where all values are above zero; groups whose runs vary much more
    have their own.

    Args:
        runs: for each position and group the values of its runs.
        values: of each position, in the metric's unit, shape (n,).
    """
    groups = [np.asarray(group, dtype=np.float64) for position in runs for group in position]
    positive = min(float(group.min()) for group in groups) > 0.0
    groups = [np.log(group) for group in groups] if positive else groups
    found = pooled_variance(groups)
    if not found.freedom:
        return np.zeros(0), 0.0
    of_means = group_variances(groups, found) / np.array(list(map(len, groups)))
    counts = np.array(list(map(len, runs)))
    errors = np.sqrt(np.bincount(np.repeat(np.arange(len(runs)), counts), of_means)) / counts
    return np.asarray(errors * values if positive else errors), found.freedom


def interleaved(positions: Sequence[object]) -> bool:
    """Whether runs in this order, each of a position, were interleaved: hardly one follows one of its own position.

    Of positions with several runs at most one run in ten may follow another of its position, or twice as many as a
    random order has.
    """
    if len(set(positions)) == len(positions) or len(set(positions)) < 2:
        return False
    follows = sum(one == other for one, other in pairwise(positions))
    counts = np.array([positions.count(position) for position in dict.fromkeys(positions)])
    by_chance = float(np.sum(counts * (counts - 1))) / len(positions)
    return follows <= max(_MOST_TOGETHER * len(positions), 2.0 * by_chance) and _spread(positions)


def _spread(positions: Sequence[object]) -> bool:
    """Whether the halves of the order have the same positions, for nine of ten that have several runs."""
    middle = len(positions) // 2
    first, last = set(positions[:middle]), set(positions[middle:])
    several = {position for position in set(positions) if positions.count(position) > 1}
    return len(several & first & last) >= (1.0 - _MOST_TOGETHER) * len(several)
