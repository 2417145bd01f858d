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


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values: of what is rejected up to alpha, in the mean at most that share is rejected falsely.

    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B
    57(1), 289-300: the i-th smallest of m is compared with i alpha / m.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    ratios = p_values[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(ratios[::-1])[::-1])
    return adjusted
