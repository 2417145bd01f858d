"""Medians of successive values."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray


def running_median(values: FloatArray, window: int) -> FloatArray:
    """The median of the ``window`` values around each, shape (n,); beyond its ends a series goes on as it ends."""
    from scipy.ndimage import median_filter  # slow to load

    return np.asarray(median_filter(values, window, mode="nearest"), dtype=np.float64)
