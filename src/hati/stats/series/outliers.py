"""Single values far from their neighbours: running medians, and values drawn in."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray


def running_median(values: FloatArray, window: int) -> FloatArray:
    """The median of the ``window`` values around each, shape (n,); beyond its ends a series goes on as it ends."""
    from scipy.ndimage import median_filter  # slow to load

    return np.asarray(median_filter(values, window, mode="nearest"), dtype=np.float64)


NEIGHBOURS = 7
"""The values of a running median; what lasts for more than half as long is no outlier."""

REACH = 0.5
"""By so much of the range of the middle 80 % a value may be beyond it: what a tenth of all values has is a level."""


def drawn_in(values: FloatArray) -> FloatArray:
    """The values, none further from its neighbours' median than the noise around it reaches, shape (n,).

    The noise is that of the values about the running median of seven: the range of their middle 80 %, and half of it
    beyond on each side, 2.6 standard deviations of a normal distribution. It is that of all values: of parts, a level
    that a tenth has would be drawn in here and stay there, which looks like a change. A level that lasts for four
    values stays, and so does one that a tenth of all values has at random; an outlier does not.
    """
    middle = mirrored_median(values)
    apart = values - middle
    low, high = np.percentile(apart, [10.0, 90.0])
    reach = REACH * (high - low)
    return np.asarray(middle + np.clip(apart, low - reach, high + reach))


def mirrored_median(values: FloatArray) -> FloatArray:
    """The median of each value and the three on each side of it, fewer at the ends, shape (n,)."""
    half = min(NEIGHBOURS, len(values)) // 2
    if half == 0:
        return values.copy()
    padded = np.concatenate([values[:half][::-1], values, values[-half:][::-1]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1))
