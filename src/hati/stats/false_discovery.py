"""How many of the alarms are false."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

_LAMBDA = 0.5
"""P-values above it are taken for those of true null hypotheses."""


def adaptive_benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values: of the alarms up to alpha a share of alpha is false at most, in the mean.

    Benjamini and Hochberg's (1995, Journal of the Royal Statistical Society B 57, 289-300) with the number of true null
    hypotheses estimated by (1 + #{p > 1/2}) / (1 - 1/2), no more than there are (Storey, Taylor and Siegmund 2004,
    Journal of the Royal Statistical Society B 66, 187-205, equation 9).

    >>> adaptive_benjamini_hochberg(np.array([0.01, 0.9])).tolist()
    [0.02, 0.9]
    """
    number = len(p_values)
    if not number:
        return np.empty(0)
    null = min(float(number), (1 + np.count_nonzero(p_values > _LAMBDA)) / (1.0 - _LAMBDA))
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * null / np.arange(1, number + 1)
    adjusted = np.empty(number)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return np.maximum(adjusted, p_values)
