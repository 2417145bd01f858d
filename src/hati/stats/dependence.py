"""Dependence between successive values, its effect on sums, and single values far from their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import product

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.linear_models import Index


def running_median(values: FloatArray, window: int) -> FloatArray:
    """The median of the ``window`` values around each, shape (n,); at its ends the series repeats its end values."""
    from scipy.ndimage import median_filter  # slow to load

    return np.asarray(median_filter(values, window, mode="nearest"), dtype=np.float64)


NEIGHBOURS = 7
"""The window of a running median, in values; an excursion of more than half of it is not an outlier."""

REACH = 0.5
"""How far beyond the range of the middle 80 % a value may be, in ranges: a tenth of all values may form a level."""


def drawn_in(values: FloatArray) -> FloatArray:
    """Clip values to the reach of the noise about the median of their neighbours, shape (n,).

    The reach comes from the residuals about the running median of seven: the range of their middle 80 %, and half of it
    beyond on each side, 2.6 standard deviations of a normal distribution. It is that of the whole series. A local one
    would clip a level that a tenth of the values has in some parts and keep it in others, which looks like a change. A
    level that lasts for four values is kept, and so is one that a tenth of all values has at random; an outlier is not.
    """
    middle = mirrored_median(values)
    apart = values - middle
    low, high = np.percentile(apart, [10.0, 90.0])
    reach = REACH * (high - low)
    return np.asarray(middle + np.clip(apart, low - reach, high + reach))


def mirrored_median(values: FloatArray) -> FloatArray:
    """The median of each value and the three on each side of it, with the series mirrored at its ends, shape (n,)."""
    half = min(NEIGHBOURS, len(values)) // 2
    if half == 0:
        return values.copy()
    padded = np.concatenate([values[:half][::-1], values, values[-half:][::-1]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1))


LARGEST = 0.95
"""Estimates are clipped to ``SMALLEST`` and ``LARGEST``: a series of this length does not determine more."""
SMALLEST = -0.3

_NO_VARIANCE = 1e-300
_MOST_EQUAL = 0.5


def lag_one(values: FloatArray) -> FloatArray:
    """The autocorrelation of a first-order autoregression, from differences alone.

    Under such noise the mean square of x(t+h) - x(t) is 2 s^2 (1 - phi^h), so the ratio of those of h = 2 and h = 1 is
    1 + phi. A step of the mean of size d adds d^2 to only one square of h = 1 and to two of h = 2. With squares this is
    the estimator of Tecuapetla-Gomez and Munk (2017), Autocovariance estimation in regression with a discontinuous
    signal and m-dependent errors, Scandinavian Journal of Statistics 44(2), 346-368; with medians it would be that of
    Chakar, Lebarbier, Levy-Leduc and Robin (2017), A robust approach for estimating change-points in the mean of an
    AR(1) process, Bernoulli 23(2), 1408-1447. Pass normal scores: they have no heavy tails.

    Args:
        values: series along the last axis, shape (..., n), n > 2.

    Returns:
        Shape (...), within [-0.3, 0.95]; 0 where more than half of the values equal the one before: the rest are
        steps and not noise.
    """
    changes = np.diff(values, axis=-1)
    one = np.mean(np.square(changes), axis=-1)
    two = np.mean(np.square(values[..., 2:] - values[..., :-2]), axis=-1)
    noisy = (np.mean(changes == 0.0, axis=-1) <= _MOST_EQUAL) & (one > _NO_VARIANCE)
    ratio = np.where(noisy, two / np.maximum(one, _NO_VARIANCE), 1.0)
    return np.asarray(np.clip(ratio - 1.0, SMALLEST, LARGEST))


class Dependence(StrEnum):
    """Whether the noise of a series is correlated: estimated, or independent because the order of runs was random."""

    ESTIMATED = "estimated"
    INDEPENDENT = "independent"

    def of(self, scores: FloatArray) -> FloatArray:
        """The first autocorrelation of series along the last axis, shape (...)."""
        return lag_one(scores) if self is Dependence.ESTIMATED else np.zeros(scores.shape[:-1])


def sum_variance(counts: Index, phi: FloatArray) -> FloatArray:
    """The variance of the sum of successive values of a first-order autoregression, relative to that of one value.

    m (1 + phi) / (1 - phi) - 2 phi (1 - phi^m) / (1 - phi)^2; the shapes are broadcast.
    """
    rest = 1.0 - phi
    return np.asarray(counts * (1.0 + phi) / rest - 2.0 * phi * (1.0 - _power(phi, counts)) / rest**2)


def contrast_variance(starts: Index, stops: Index, size: int, phi: FloatArray) -> FloatArray:
    """The variance of a stretch's mean minus the mean of its surroundings, relative to that of independent values.

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
    cross = 0.5 * (left_within + within_right - left - right) - within
    around = left + right + (sums[..., size, None] - left_within - within_right + within)
    variance = within / np.square(inside) + around / np.square(outside) - 2.0 * cross / (inside * outside)
    return np.asarray(variance * inside * outside / size)


def _power(phi: FloatArray, counts: Index) -> FloatArray:
    sizes = np.exp(counts * np.log(np.maximum(np.abs(phi), _NO_VARIANCE)))
    odd = np.where(np.mod(counts, 2) == 1, np.sign(phi), 1.0)
    return np.asarray(np.where(counts == 0, 1.0, sizes * odd))


_CONSTANT = 1e-24
_FEWEST = 4


def effective_size(values: FloatArray) -> float:
    """The number of independent observations with a mean as precise as that of these, shape (n,); within [1, n].

    n / (1 + 2 sum of the autocorrelations), summed over pairs of successive lags as long as these are positive, none
    larger than the one before: the initial monotone sequence (Geyer 1992, Practical Markov chain Monte Carlo,
    Statistical Science 7(4), 473-483, section 3.3). Constant values, or fewer than four, count in full.
    """
    size = len(values)
    apart = values - np.mean(values)
    total = float(apart @ apart)
    if size < _FEWEST or total <= _CONSTANT * size * float(np.max(np.abs(values))) ** 2:
        return float(size)
    length = 1 << (2 * size - 1).bit_length()
    transformed = np.fft.rfft(apart, length)
    correlations = np.fft.irfft(transformed * np.conj(transformed), length)[:size] / total
    pairs = correlations[: size - size % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: int(ends[0]) if ends.size else len(pairs)])
    inflation = 2.0 * float(kept.sum()) - 1.0
    return float(min(max(size / inflation, 1.0), size)) if inflation > 0.0 else float(size)


WANDERING = (
    (0.0, 0.0),
    *product((0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98), (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)),
)
"""The kinds of noise: the autocorrelation of the autoregression, and its part of the variance; the first is white."""

_WINDOW = 15
_REACH = 3.5
_MAD = 1.4826  # of a normal distribution: its standard deviation by the median of absolute deviations
_RIDGE = 1e-12
_CLEAR = 3.0
_BELOW = 0.3
_STEPS = np.linspace(0.02, 10.0, 500)
_FREQUENCIES = 2000


class _Kalman(Struct, frozen=True, eq=False):
    """The filter of each kind of noise: ``gains`` and ``weights`` have shape (n, kinds), ``logs`` (kinds,)."""

    gains: FloatArray
    weights: FloatArray
    logs: FloatArray


@lru_cache(maxsize=8)
def _kalman(size: int) -> _Kalman:
    phi, part = np.array(WANDERING).T
    gains, variances = np.empty((size, len(phi))), np.empty((size, len(phi)))
    expected = part.copy()
    for place in range(size):
        variances[place] = expected + 1.0 - part
        gains[place] = phi * expected / variances[place]
        expected = phi**2 * expected - gains[place] ** 2 * variances[place] + part * (1.0 - phi**2)
    return _Kalman(gains, 1.0 / np.sqrt(variances), np.log(variances).sum(axis=0))


def without_bursts(values: FloatArray) -> FloatArray:
    """The values, shape (n,), with those beyond 3.5 standard deviations of the median of 15 replaced by that median.

    A step stays as it is; a burst of up to seven outliers is replaced like a single one (Hampel's identifier).
    """
    middle = running_median(values, _WINDOW)
    apart = np.abs(values - middle)
    reach = _REACH * _MAD * float(np.median(apart))
    return np.where(apart <= reach, values, middle) if reach > 0.0 else values


def whitened_products(columns: FloatArray) -> FloatArray:
    """The inner products of columns, shape (n, c), whitened by each kind of noise: shape (kinds, c, c)."""
    phi = np.array(WANDERING)[:, 0]
    kalman = _kalman(len(columns))
    predicted = np.zeros((len(phi), columns.shape[1]))
    found = np.zeros((len(phi), columns.shape[1], columns.shape[1]))
    for chunk in np.array_split(np.arange(len(columns)), max(1, len(columns) // 1000)):
        white = np.empty((len(chunk), *predicted.shape))
        for row, place in enumerate(chunk.tolist()):
            surprise = columns[place] - predicted
            white[row] = surprise * kalman.weights[place, :, None]
            predicted = phi[:, None] * predicted + kalman.gains[place, :, None] * surprise
        found += np.matmul(white.transpose(1, 2, 0), white.transpose(1, 0, 2))
    return found


def log_likelihoods(products: FloatArray, chosen: Sequence[int], size: int) -> FloatArray:
    """Log likelihoods of the first column given the chosen ones, in each kind of noise of any variance; shape (kinds,).

    Args:
        products: from ``whitened_products``, shape (kinds, c, c).
        chosen: the numbers of the columns that explain it.
        size: the number of values.
    """
    picked = list(chosen)
    inner = products[:, picked][:, :, picked] + _RIDGE * np.eye(len(picked)) * size
    outer = products[:, picked, 0]
    solved = np.linalg.solve(inner, outer[..., None])[..., 0]
    total = products[:, 0, 0]
    left = np.maximum(total - np.sum(outer * solved, axis=1), _RIDGE * total + np.finfo(float).tiny)
    return np.asarray(-0.5 * size * np.log(left / size) - 0.5 * _kalman(size).logs[: len(products)])


def equal_persistence(scores: FloatArray) -> float:
    """The autocorrelation of a first-order autoregression with the long-run variance of the noise.

    0 where white noise plus an autoregression is not clearly more likely than an autoregression alone: then the
    first autocorrelation suffices.
    """
    likely = log_likelihoods(whitened_products(np.column_stack([scores, np.ones(len(scores))])), [1], len(scores))
    phi, part = np.array(WANDERING).T
    alone = (part == 1.0) | (part == 0.0)
    best = int(np.argmax(likely))
    if likely[best] - float(likely[alone].max()) < _CLEAR:
        return 0.0
    inflation = 1.0 - part[best] + part[best] * (1.0 + phi[best]) / (1.0 - phi[best])
    return float((inflation - 1.0) / (inflation + 1.0))


def likely_step(size: int, phi: float, needed: float) -> float | None:
    """The step in the middle of a series that gains ``needed`` in twice the log likelihood with 80 % power.

    It is in standard deviations of normal noise with that first autocorrelation; None where a step of ten is not
    enough. The expected gain is that of mean squares (the noise's by Whittle's approximation); the gain exceeded with
    80 % power is less by .3 of its root, by simulation.
    """
    gains = _expected_gains(size, round(max(phi, 0.0), 2))
    enough = np.flatnonzero(gains - _BELOW * np.sqrt(np.maximum(gains, 0.0)) >= needed)
    return float(_STEPS[enough[0]]) if enough.size else None


@lru_cache(maxsize=64)
def _expected_gains(size: int, phi: float) -> FloatArray:
    """The expected gains of steps in the middle of series with that autocorrelation, shape (steps,)."""
    side = np.where(np.arange(size) < size // 2, -0.5, 0.5)
    products = whitened_products(np.column_stack([side, np.ones(size)]))
    squares = products[:, 0, 0] - np.square(products[:, 0, 1]) / products[:, 1, 1]
    frequencies = np.pi * (np.arange(_FREQUENCIES) + 0.5) / _FREQUENCIES
    kinds = np.array(WANDERING)
    spectra = _spectra(kinds[:, :1], kinds[:, 1:], frequencies)
    noise = size * np.mean(_spectra(np.array([[phi]]), np.ones((1, 1)), frequencies) / spectra, axis=1)
    left = np.square(_STEPS)[:, None] * squares + noise
    costs = size * np.log(left / size) + _kalman(size).logs
    return np.asarray(costs.min(axis=1) - float(np.min(size * np.log(noise / size) + _kalman(size).logs)))


def _spectra(phi: FloatArray, part: FloatArray, frequencies: FloatArray) -> FloatArray:
    return np.asarray(1.0 - part + part * (1.0 - phi**2) / (1.0 - 2.0 * phi * np.cos(frequencies) + phi**2))
