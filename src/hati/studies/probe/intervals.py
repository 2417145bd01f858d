"""Intervals of what one window of time shows, where neighbours in time are alike."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats import normal_scores, t_quantile
from hati.studies.probe.finding import CONFIDENCE, Property, inconclusive

_UPPER = (1.0 + CONFIDENCE) / 2.0
_MANY = 1e6
_BATCHES = 8
_LARGEST = 0.98
_FEWEST = 2.0
_MOST = math.log(100.0)
"""The most by which an end of an interval of a logarithm may be apart: a series that knows less knows nothing."""
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
        wider = t_quantile(_UPPER, _BATCHES - 1.0) / t_quantile(_UPPER, _MANY)
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
    return t_quantile(_UPPER, max(1.0, size - 1.0)) * math.sqrt(variance_of(values) / size)


def variance_of(values: FloatArray) -> float:
    """The variance of a series in time, shape (n,), n >= 2: alike neighbours show less of it in one window."""
    size = effective_number(values)
    return float(np.var(values, ddof=1)) / max(_LEAST_SEEN, 1.0 - (values.size / size - 1.0) / values.size)


def variance_factor(values: FloatArray) -> float:
    """The factor from the variance of a series in time, shape (n,), n >= 2, to each end of its interval."""
    squares = (values - values.mean()) ** 2
    mean = float(squares.mean())
    return mean_factor(squares / mean) if mean else 1.0


def mean_factor(logs: FloatArray) -> float:
    """The factor to each end of the interval of a mean of logarithms, a series of shape (n,), n >= 2; at most 100."""
    return math.exp(min(_MOST, mean_margin(logs)))


def rate_property(name: str, amounts: FloatArray, times: FloatArray, unit: str) -> Property:
    """The total of amounts, shape (n,), over that of the times in ns that they took, in a second; n >= 2.

    The interval is a factor, from the mean of what each amount lacks at the total rate (the delta method).
    """
    rate = float(amounts.sum() / times.sum())
    if not rate:
        return inconclusive(name, unit, "nothing was moved")
    factor = mean_factor((amounts - rate * times) / float(amounts.mean()))
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


_MERGED = (1, 2, 4)
"""How many parts of a window are taken together: events may come in clusters that are longer than one part."""


FEWEST_EVENTS = 5
"""Of fewer events of different weights, but not of none, intervals of totals do not cover."""
MORE_EVENTS = "measure without `--quick`, or again while the machine is used as usual"
"""What to do where events are too few."""
_HEAVIER, _WELL_KNOWN = 3.0, 20
"""How far the weight of an unseen event may exceed the largest seen one, as a multiple of it, and up to which number of
events; with more events it is less."""


class Total(Struct, frozen=True):
    """The total of what ``events`` of a window weigh.

    It has a ``variance``, the weight of a ``largest`` cluster of events, and that of the largest ``unseen`` one.
    """

    value: float
    variance: float
    largest: float
    unseen: float
    events: int

    @property
    def has_too_few(self) -> bool:
        """Whether its events are too few to know what further ones weigh."""
        return 0 < self.events < FEWEST_EVENTS

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The interval of the expected total, by gamma distributions (Fay and Feuer 1997, Statistics in Medicine 16).

        Events are at least as variable as Poisson's. For independent ones of equal weight it is Garwood's (1936). The
        upper end allows for one more event of the largest unseen weight.
        """
        from scipy import special

        tail = (1.0 - confidence) / 2.0
        more, variance = self.value + self.unseen, self.variance + self.unseen**2
        high = float(special.gammaincinv(more**2 / variance, 1.0 - tail) * variance / more)
        if not self.value or not self.variance:
            return self.value, high
        scale = self.variance / self.value
        return float(special.gammaincinv(self.value / scale, tail) * scale), high


def number_of_events(parts: FloatArray) -> Total:
    """The number of events in windows of equally long parts, from that in each, shape (windows, parts)."""
    count = int(parts.sum())
    total = total_of_events(parts, np.ones(count), 1.0)
    return replace(total, unseen=total.largest)


def total_of_events(parts: FloatArray, weights: FloatArray, least: float) -> Total:
    """The total of the weights of events, shape (n,), n >= 0, in windows of equally long parts.

    The variance is the largest of Poisson's and of those between parts, which may be merged: events in clusters, or at
    a rate that wanders, vary more.

    An unseen event may weigh four times as much as the largest of up to 20, and of more, 1 + 60 / n times. In
    simulations of 5 to 200 expected events, the intervals then cover in 95 % or more, if the weights are log-normal
    with a standard deviation of their logarithm of up to 2; with 2.5, in 87 % to 93 %. No interval knows a kind of
    event that the window does not show: if 5 % of the events weigh 19 times as much as the others, 20 to 50 expected
    events cover in 88 % to 93 %.

    Args:
        parts: the weights in each part, shape (windows, parts); parts are a multiple of four.
        weights: of each event.
        least: the weight of an event where there is none.
    """
    poisson = float(weights @ weights)
    variance = max(poisson, *(_between(parts, merged) for merged in _MERGED))
    largest = float(weights.max()) * variance / poisson if poisson else least
    heavier = _HEAVIER * min(1.0, _WELL_KNOWN / weights.size) if weights.size else 0.0
    return Total(float(weights.sum()), variance, largest, largest * (1.0 + heavier), weights.size)


def _between(parts: FloatArray, merged: int) -> float:
    """The variance of the total, from that between parts, widened for their number."""
    sums = parts.reshape(len(parts), -1, merged).sum(axis=2)
    wider = t_quantile(_UPPER, len(sums) * (sums.shape[1] - 1.0)) / t_quantile(_UPPER, _MANY)
    return float(sums.shape[1] * sums.var(axis=1, ddof=1).sum()) * wider**2
