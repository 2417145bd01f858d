"""Intervals of what one window of time shows, where neighbours in time are alike."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats import normal_scores, t_quantile
from hati.studies.probe.finding import CONFIDENCE, Property

_UPPER = (1.0 + CONFIDENCE) / 2.0
_BATCHES = 8
_LARGEST = 0.98
_FEWEST = 2.0
_LEAST_SEEN = 0.3
"""The least fraction of the variance that a series of few independent values is assumed to show."""


def effective_number(values: FloatArray) -> float:
    """The number of independent values that know as much of the center as a series, shape (n,), n >= 2; from 2 to n.

    It is the smaller of two, of normal scores: that of a first-order autoregression, n (1 - phi) / (1 + phi), with phi
    corrected for its bias of (1 + 4 phi) / n (Marriott and Pope 1954, Biometrika 41, 390-402), and that of the means of
    eight batches, which also show what changes slowly below a scatter of single values.
    """
    scores, n = normal_scores(values, np.zeros(values.size, dtype=np.intp)), values.size
    total = float(scores @ scores)
    if total == 0.0 or n <= _FEWEST:
        return float(n)
    lag = float(scores[1:] @ scores[:-1]) / total
    phi = min(_LARGEST, max(0.0, lag + (1.0 + 4.0 * lag) / n))
    found = n * (1.0 - phi) / (1.0 + phi)
    if n >= 2 * _BATCHES:
        means = scores[n % _BATCHES :].reshape(_BATCHES, -1).mean(axis=1)
        between = float(means.var(ddof=1)) / _BATCHES
        wider = t_quantile(_UPPER, _BATCHES - 1.0) / t_quantile(_UPPER, 1e6)
        found = min(found, total / (n - 1) / max(between * wider**2, 1e-300))
    return max(_FEWEST, found)


def series_quantile_interval(values: FloatArray, probability: float) -> tuple[float, float]:
    """The order statistics that cover a quantile of a series in time, shape (n,), n >= 2, with about 95 % confidence.

    They are those of as many independent values as the series is worth (after Heidelberger and Lewis 1984, Operations
    Research 32, 185-209). An end is the smallest or the largest value where these are too few.
    """
    from scipy import special

    ordered, trials = np.sort(values), int(effective_number(values))
    low, high = (math.ceil(special.bdtrik(tail, trials, probability)) for tail in (1.0 - _UPPER, _UPPER))
    first = math.floor((low - 1) * values.size / trials)
    last = math.ceil((high + 1) * values.size / trials) - 1
    return float(ordered[max(0, first)]), float(ordered[min(last, values.size - 1)])


def median_property(name: str, values: FloatArray, unit: str) -> Property:
    """The median of a series in time, shape (n,), n >= 2."""
    return Property(name, float(np.median(values)), unit, series_quantile_interval(values, 0.5))


def mean_margin(values: FloatArray) -> float:
    """The half-width of the interval of the mean of a series in time, shape (n,), n >= 2: Student's."""
    size = effective_number(values)
    seen = max(_LEAST_SEEN, 1.0 - (values.size / size - 1.0) / values.size)
    error = math.sqrt(float(np.var(values, ddof=1)) / seen / size)
    return t_quantile(_UPPER, max(1.0, size - 1.0)) * error


def rate_property(name: str, amounts: FloatArray, times: FloatArray, unit: str) -> Property:
    """The total of amounts, shape (n,), over that of the times in ns that they took, in a second; n >= 2.

    The interval is a factor, from the mean of what each amount lacks at the total rate (the delta method).
    """
    rate = float(amounts.sum() / times.sum())
    factor = math.exp(mean_margin(amounts - rate * times) / float(amounts.mean()))
    return Property(name, rate * 1e9, unit, (rate / factor * 1e9, rate * factor * 1e9))


def median_ratio_property(name: str, values: FloatArray, reference: FloatArray) -> Property:
    """The median of a series over that of another one, of positive values.

    The interval combines the distances of both medians' ends in logarithms (Zou and Donner 2008, Statistics in Medicine
    27, 1693-1702).
    """
    (value, low, high), (other, other_low, other_high) = (
        np.log([np.median(series), *series_quantile_interval(series, 0.5)]) for series in (values, reference)
    )
    ratio = float(value - other)
    below, above = math.hypot(value - low, other_high - other), math.hypot(high - value, other - other_low)
    return Property(name, math.exp(ratio), "1", (math.exp(ratio - below), math.exp(ratio + above)))
