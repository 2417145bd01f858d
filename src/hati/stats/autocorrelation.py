"""First-order autocorrelation, estimated so that steps in the mean hardly inflate it, and what it does to sums."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from hati.core import FloatArray
from hati.stats.least_squares import Index

LARGEST = 0.95
"""Beyond this, and below the smallest, an estimate is taken for this: a series of this length tells no more."""
SMALLEST = -0.3

_NOTHING = 1e-300
_MOST_EQUAL = 0.5


def lag_one(values: FloatArray) -> FloatArray:
    """The autocorrelation of a first-order autoregression, from differences alone.

    Under such a noise the mean square of x(t+h) - x(t) is 2 s^2 (1 - phi^h), so that those of h = 2 and h = 1 have the
    ratio 1 + phi. A step of the mean of size d adds only d^2 to one square of the first and to two of the second kind.
    With squares the estimator of Tecuapetla-Gomez and Munk (2017), Autocovariance estimation in regression with a
    discontinuous signal and m-dependent errors, Scandinavian Journal of Statistics 44(2), 346-368; with medians that
    of Chakar, Lebarbier, Levy-Leduc and Robin (2017), A robust approach for estimating change-points in the mean of an
    AR(1) process, Bernoulli 23(2), 1408-1447. Give it scores: those have no tails.

    Args:
        values: series along the last axis, shape (..., n), n > 2.

    Returns:
        Shape (...), within [-0.3, 0.95]; 0 where more than half of the values equal the one before: what is left are
        steps and not noise.
    """
    changes = np.diff(values, axis=-1)
    one = np.mean(np.square(changes), axis=-1)
    two = np.mean(np.square(values[..., 2:] - values[..., :-2]), axis=-1)
    noisy = (np.mean(changes == 0.0, axis=-1) <= _MOST_EQUAL) & (one > _NOTHING)
    ratio = np.where(noisy, two / np.maximum(one, _NOTHING), 1.0)
    return np.asarray(np.clip(ratio - 1.0, SMALLEST, LARGEST))


class Dependence(StrEnum):
    """Whether the noise of a series is correlated: estimated, or known not to be where the order of runs was random."""

    ESTIMATED = "estimated"
    INDEPENDENT = "independent"

    def of(self, scores: FloatArray) -> FloatArray:
        """The first autocorrelation of series along the last axis, shape (...)."""
        return lag_one(scores) if self is Dependence.ESTIMATED else np.zeros(scores.shape[:-1])


def sum_variance(counts: Index, phi: FloatArray) -> FloatArray:
    """The variance of the sum of so many successive values of a first-order autoregression, in variances of one.

    m (1 + phi) / (1 - phi) - 2 phi (1 - phi^m) / (1 - phi)^2; the shapes are broadcast.
    """
    rest = 1.0 - phi
    return np.asarray(counts * (1.0 + phi) / rest - 2.0 * phi * (1.0 - _power(phi, counts)) / rest**2)


def contrast_variance(starts: Index, stops: Index, size: int, phi: FloatArray) -> FloatArray:
    """The variance of the mean of a stretch less the mean of all that is around it, in that of independent values.

    Args:
        starts: where the stretches start, shape (m,).
        stops: where they stop, shape (m,).
        size: the number of values of the series.
        phi: the autocorrelation, shape (...).

    Returns:
        Shape (..., m).
    """
    sums = sum_variance(np.arange(size + 1), phi[..., None])
    inside, outside = stops - starts, size - (stops - starts)
    left, within, right = sums[..., starts], sums[..., inside], sums[..., size - stops]
    left_within, within_right = sums[..., stops], sums[..., size - starts]
    beside = 0.5 * (left_within + within_right - left - right) - within
    around = left + right + (sums[..., size, None] - left_within - within_right + within)
    variance = within / np.square(inside) + around / np.square(outside) - 2.0 * beside / (inside * outside)
    return np.asarray(variance * inside * outside / size)


def _power(phi: FloatArray, counts: Index) -> FloatArray:
    sizes = np.exp(counts * np.log(np.maximum(np.abs(phi), _NOTHING)))
    odd = np.where(np.mod(counts, 2) == 1, np.sign(phi), 1.0)
    return np.asarray(np.where(counts == 0, 1.0, sizes * odd))
