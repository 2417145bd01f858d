"""Single values far from their neighbours, drawn in to where these are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hati.core import FloatArray

NEIGHBOURS = 7
"""The values of a running median; what lasts for more than half as long is no outlier."""

WINDOW = 100
"""The values about which the noise is told; as many on both sides together are looked at with them."""

REACH = 0.5
"""By so much of the range of the middle 80 % a value may be beyond it: what a tenth of all values has is a level."""


def drawn_in(values: FloatArray) -> FloatArray:
    """The values, none further from its neighbours' median than the noise around it reaches, shape (n,).

    The noise is that of the values about the running median of seven: the range of their middle 80 %, among some two
    hundred values around, and half of it beyond on each side, 2.6 standard deviations of a normal distribution. A level
    that lasts for four values stays, and so does one that a tenth of all values has by turns; an outlier does not.
    """
    middle = running_median(values)
    apart = values - middle
    made = np.empty_like(apart)
    edges = np.linspace(0, len(values), max(1, len(values) // WINDOW) + 1).astype(np.intp)
    for start, stop in pairwise(edges):
        around = apart[max(0, start - WINDOW // 2) : stop + WINDOW // 2]
        low, high = np.percentile(around, [10.0, 90.0])
        reach = REACH * (high - low)
        made[start:stop] = np.clip(apart[start:stop], low - reach, high + reach)
    return np.asarray(middle + made)


def running_median(values: FloatArray) -> FloatArray:
    """The median of each value and the three on each side of it, fewer at the ends, shape (n,)."""
    half = min(NEIGHBOURS, len(values)) // 2
    if half == 0:
        return values.copy()
    padded = np.concatenate([values[:half][::-1], values, values[-half:][::-1]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1))
