"""The logarithm of the sample variance as a response, for effects on variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray


def log_variances(samples: Sequence[FloatArray], weights: Sequence[FloatArray] | None = None) -> FloatArray | None:
    """The ln s^2 of every sample, or None where one has fewer than two values or does not vary.

    The Skoll paper's third response. The logarithm makes the variance of s^2 nearly free of its mean
    (Bartlett and Kendall 1946, JRSS Supplement 8(1), 128-138).

    Args:
        samples: any number of values each.
        weights: of the values, inversely proportional to their variances within a sample; equal where there are none.
    """
    if not samples or min(len(sample) for sample in samples) < 2:
        return None
    variances = np.array(list(map(_variance, samples, weights or [np.ones(len(sample)) for sample in samples])))
    scales = np.array([np.max(np.abs(sample)) for sample in samples])
    if np.any(variances <= (1e-14 * scales) ** 2):
        return None
    return np.asarray(np.log(variances), dtype=np.float64)


def _variance(values: FloatArray, weights: FloatArray) -> float:
    squares = (values - np.average(values, weights=weights)) ** 2
    return float(weights @ squares) / (len(values) - 1)
