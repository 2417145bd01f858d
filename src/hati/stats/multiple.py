"""Many questions at once."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: rejecting those up to alpha errs at all in at most alpha of all studies.

    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2),
    65-70: the i-th smallest of m is compared with alpha / (m - i + 1).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return adjusted
