"""The variance of a run, from groups of runs of unequal numbers and levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import chi_square_cdf
from hati.stats.resolution import resolution

_SURE = 8
"""Runs that never differ in so many degrees of freedom or more do not vary; fewer may have been rounded alike."""
_APART = 0.99


class Pooled(NamedTuple):
    """A variance and its degrees of freedom, both 0 where nothing was repeated."""

    variance: float
    freedom: float


def pooled_variance(groups: Sequence[FloatArray]) -> Pooled:
    """The variance about the mean of each group, weighted by degrees of freedom.

    Where few runs never differ it is that of rounding to the values' resolution.
    """
    freedom = sum(len(group) - 1 for group in groups)
    if freedom == 0:
        return Pooled(0.0, 0.0)
    squares = sum(map(_squares, groups))
    if squares == 0.0 and freedom < _SURE:
        squares = freedom * resolution(np.concatenate(groups)) ** 2 / 12.0
    return Pooled(squares / freedom, float(freedom))


def group_variances(groups: Sequence[FloatArray], pooled: Pooled) -> FloatArray:
    """Of each group the pooled variance, or its own where 99 % of groups would have a smaller one.

    So a run far off the others of its group does not show that the whole group is far off.
    """
    variances = []
    for group in groups:
        own, freedom = _squares(group), len(group) - 1
        alone = bool(
            freedom and pooled.variance > 0.0 and chi_square_cdf(np.array([own / pooled.variance]), freedom)[0] > _APART
        )
        variances.append(own / freedom if alone else pooled.variance)
    return np.array(variances)


def _squares(group: FloatArray) -> float:
    return float(np.sum(np.square(group - group.mean()))) if np.ptp(group) > 0.0 else 0.0


def satterthwaite(parts: FloatArray, freedoms: FloatArray) -> float:
    """The degrees of freedom of a sum of variances; the smallest of several sums, those of parts alike where all are 0.

    Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2(6),
    110-114.

    Args:
        parts: shape (sums, parts).
        freedoms: of each part, above 0, shape (parts,).
    """
    largest = parts.max(axis=1, keepdims=True, initial=0.0)
    known = np.where(largest > 0.0, parts / np.where(largest > 0.0, largest, 1.0), 1.0)
    return float(np.min(np.square(known.sum(axis=1)) / (np.square(known) @ (1.0 / freedoms))))
