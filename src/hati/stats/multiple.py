"""Many questions at once."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

_LAMBDA = 0.5
"""P-values above it are taken for those of true null hypotheses."""


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: rejecting those up to alpha errs at all in at most alpha of all studies.

    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2),
    65-70: the i-th smallest of m is compared with alpha / (m - i + 1).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((holm_factors(p_values) * p_values)[order]))
    return adjusted


def holm_factors(p_values: FloatArray) -> FloatArray:
    """By what Holm's procedure divides alpha for each p-value: how many are not smaller.

    >>> holm_factors(np.array([0.01, 0.04, 0.03])).tolist()
    [3.0, 1.0, 2.0]
    """
    factors = np.empty(len(p_values))
    factors[np.argsort(p_values, kind="stable")] = np.arange(len(p_values), 0, -1)
    return factors


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values: of what is rejected up to alpha, in the mean at most that share is rejected falsely.

    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B
    57(1), 289-300: the i-th smallest of m is compared with i alpha / m.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    return _stepped_up(p_values, len(p_values))


def adaptive_benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """The same with the number of true null hypotheses estimated; no smaller than the p-values themselves.

    That number is (1 + #{p > 1/2}) / (1 - 1/2), no more than there are (Storey, Taylor and Siegmund 2004, Journal of
    the Royal Statistical Society B 66, 187-205, equation 9).

    >>> adaptive_benjamini_hochberg(np.array([0.01, 0.9])).tolist()
    [0.02, 0.9]
    """
    null = min(float(len(p_values)), (1 + np.count_nonzero(p_values > _LAMBDA)) / (1.0 - _LAMBDA))
    return np.maximum(_stepped_up(p_values, null), p_values)


def critical_p_value(others: FloatArray, alpha: float) -> float:
    """The largest p-value that ``adaptive_benjamini_hochberg`` rejects at alpha, up to 1/2, beside those others.

    >>> critical_p_value(np.array([0.9, 0.8, 0.7]), 0.01)
    0.0025
    """
    null = min(len(others) + 1.0, (1 + np.count_nonzero(others > _LAMBDA)) / (1.0 - _LAMBDA))
    limits = alpha * np.arange(1, len(others) + 2) / null
    reached = np.searchsorted(np.sort(others), limits, side="right") >= np.arange(len(others) + 1)
    return min(float(np.max(limits[reached])), alpha)


def _stepped_up(p_values: FloatArray, null: float) -> FloatArray:
    """Benjamini and Hochberg's adjustment where so many null hypotheses are true."""
    order = np.argsort(p_values, kind="stable")
    ratios = p_values[order] * null / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(ratios[::-1])[::-1])
    return adjusted
