"""One value more: change points kept up to date without looking at the whole series again."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.change_points import ChangePoint, change_points
from hati.stats.least_squares import Index

LONGEST = 1000
"""Of the values since the last change point so many are looked at."""


def appended(
    known: tuple[ChangePoint, ...], values: FloatArray, groups: Index, alpha: float = 0.05
) -> tuple[ChangePoint, ...]:
    """The change points of a series whose last value is new.

    What was known stands; the values since the last change point, the last thousand of them at most, are tested at the
    level that remains for one of so many stretches (Bonferroni), which holds for each look by itself. The whole series
    is told anew by ``change_points``.

    Args:
        known: the change points of the series before, in order.
        values: all values, the new one included, shape (n,).
        groups: the group (machine) of each value, counted from 0, shape (n,).
        alpha: the level of the whole series.
    """
    last = known[-1].index if known else 0
    stretches = len(known) + max(1, math.ceil((len(values) - last) / LONGEST))
    start = max(last, len(values) - LONGEST)
    own = np.unique(groups[start:], return_inverse=True)[1]
    found = change_points(values[start:], own, alpha / stretches)
    return (*known, *(ChangePoint(start + one.index, min(1.0, one.p_value * stretches)) for one in found))
