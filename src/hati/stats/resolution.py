"""How coarse values are: what a clock, a counter or a printed number rounds to."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

_EQUAL = 1e-9
"""Values that differ by less, relative to the largest, differ by rounding only."""


def resolution(values: FloatArray) -> float:
    """The smallest distance between two different values, 0 where there is only one; of values with ticks the tick."""
    gaps = np.diff(np.sort(values))
    apart = gaps[gaps > _EQUAL * float(np.max(np.abs(values)))]
    return float(apart.min()) if len(apart) else 0.0


def spread_over_ticks(distances: FloatArray, tick: float) -> FloatArray:
    """Distances in multiples of a tick, each class of them spread evenly over what is rounded to it; at least 0.

    The median of the result is that of grouped values: it is above zero even where most distances are zero.
    """
    if tick == 0.0:
        return distances
    ordered = np.sort(distances)
    multiples, starts, counts = np.unique(np.rint(ordered / tick), return_index=True, return_counts=True)
    lows, highs = np.maximum(multiples - 0.5, 0.0), multiples + 0.5
    ranks = (np.arange(len(ordered)) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts)
    return np.asarray(tick * (np.repeat(lows, counts) + ranks * np.repeat(highs - lows, counts)))
