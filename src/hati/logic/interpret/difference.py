"""Differences, of which rounding decides nothing: 1.15 times 100 is a little less than 115 to a computer."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

_ROUNDING = 1e-14
"""Of the greater number: no measurement is so precise."""


def difference(left: float, right: float) -> float:
    """Left less right; 0 where they differ by rounding alone."""
    return left - right if abs(left - right) > _ROUNDING * max(abs(left), abs(right)) else 0.0


def differences(left: FloatArray, right: FloatArray | float) -> FloatArray:
    """The same of each, shape of the left."""
    found = left - right
    return np.where(np.abs(found) > _ROUNDING * np.maximum(np.abs(left), np.abs(right)), found, 0.0)
