"""The logarithm of the sample variance as a response, for effects on variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray


def log_variances(samples: Sequence[FloatArray]) -> FloatArray | None:
    """The ln s^2 of every sample, or None where one has fewer than two values or does not vary.

    Seed 001's third response. The logarithm makes the variance of s^2 nearly free of its mean
    (Bartlett and Kendall 1946, JRSS Supplement 8(1), 128-138).
    """
    if not samples or min(len(sample) for sample in samples) < 2:
        return None
    variances = np.array([np.var(sample, ddof=1) for sample in samples])
    scales = np.array([np.max(np.abs(sample)) for sample in samples])
    if np.any(variances <= (1e-14 * scales) ** 2):
        return None
    return np.asarray(np.log(variances), dtype=np.float64)
