"""One value for each configuration that was run several times."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.least_squares import Index, without_means


def unit_means(values: FloatArray, units: Index, blocks: Index) -> FloatArray:
    """Each unit's mean, cleared of the blocks in which it happens to have been run; shape (units,).

    Least squares of units plus blocks; with complete blocks the plain means. The mean over all values stays.

    Args:
        values: shape (n,).
        units: the unit of each value, counted from 0, each with a value at least.
        blocks: the block of each value.
    """
    members = np.bincount(units)
    indicators = np.asarray(blocks[:, None] == np.unique(blocks)[None, 1:], dtype=np.float64)
    free = without_means(indicators, units)
    shifts = np.linalg.lstsq(free, values - (np.bincount(units, weights=values) / members)[units], rcond=None)[0]
    added = indicators @ shifts
    return np.asarray(np.bincount(units, weights=values - (added - added.mean())) / members)
