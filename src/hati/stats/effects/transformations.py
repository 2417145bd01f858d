"""Scales on which effects are estimated: Box-Cox, normal scores, and the logarithm of variances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.effects.least_squares import Index, without_means
from hati.stats.inference.distributions import normal_quantiles

_POWERS = np.round(np.arange(-60, 61) * 0.05, 2)
_SAME = 1e-9
_ENTRIES = 4_000_000
_DROP = 1.920729410347062  # half of the 95 % quantile of chi-square with one degree of freedom


class BoxCox(Struct, frozen=True):
    """The profile likelihood of the power in a power transformation of the response.

    ``power`` maximises it over [-3, 3]; ``interval`` is its 95 % likelihood interval, cut at those limits;
    ``log_gain`` is the log likelihood at power 0 (the logarithm) minus that at power 1 (no transformation).
    """

    power: float
    interval: tuple[float, float]
    log_gain: float


def box_cox(values: FloatArray, model: FloatArray, groups: Index) -> BoxCox:
    """How well a linear model fits each power of the values, besides a mean for each group.

    Box and Cox (1964), An analysis of transformations, JRSS B 26(2), 211-252, section 3: with the
    responses divided by their geometric mean, the log likelihood is -n/2 ln(residual sum of squares).

    Args:
        values: the responses, shape (n,), all above zero.
        model: the model's columns besides, shape (n, p), p may be 0.
        groups: the group of each value, shape (n,).
    """
    logs = np.log(values)
    logs = logs - logs.mean()
    basis, sizes, _ = np.linalg.svd(without_means(model, groups), full_matrices=False)
    basis = basis[:, sizes > _SAME * np.sqrt(len(values))]
    step = max(1, _ENTRIES // len(values))
    parts = [_squares(logs, _POWERS[i : i + step], basis, groups) for i in range(0, len(_POWERS), step)]
    likelihood = -0.5 * len(values) * np.log(np.concatenate(parts))
    power, best = _peak(likelihood)
    low, high = _crossings(likelihood, best - _DROP)
    zero, one = (int(np.flatnonzero(power_ == _POWERS)[0]) for power_ in (0.0, 1.0))
    return BoxCox(power, (low, high), float(likelihood[zero] - likelihood[one]))


def _squares(logs: FloatArray, powers: FloatArray, basis: FloatArray, groups: Index) -> FloatArray:
    """The residual sum of squares for each power."""
    with np.errstate(divide="ignore", invalid="ignore"):
        transformed = np.expm1(np.outer(logs, powers)) / powers
    transformed[:, powers == 0.0] = logs[:, None]
    centred = without_means(transformed, groups)
    residuals = centred - basis @ (basis.T @ centred)
    # Rounding leaves a little of an exact fit; without a floor it would be compared by its last digits.
    floor = len(logs) * (1e-12 * np.abs(transformed).max(axis=0)) ** 2 + np.finfo(float).tiny
    return np.asarray(np.maximum(np.sum(residuals**2, axis=0), floor))


def _peak(likelihood: FloatArray) -> tuple[float, float]:
    """The maximum between the grid's points, by a parabola through the best three."""
    i = int(np.argmax(likelihood))
    if i in (0, len(_POWERS) - 1):
        return float(_POWERS[i]), float(likelihood[i])
    left, middle, right = likelihood[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    step = float(_POWERS[1] - _POWERS[0])
    return float(_POWERS[i]) + shift * step, float(middle - 0.25 * (left - right) * shift)


def _crossings(likelihood: FloatArray, level: float) -> tuple[float, float]:
    """Where the likelihood rises above a level for the first time, and falls below it for the last."""
    above = np.flatnonzero(likelihood >= level)
    if not len(above):  # a peak narrower than the grid
        i = int(np.argmax(likelihood))
        return float(_POWERS[max(i - 1, 0)]), float(_POWERS[min(i + 1, len(_POWERS) - 1)])
    low, high = int(above[0]), int(above[-1])
    return _between(likelihood, level, low, low - 1), _between(likelihood, level, high, high + 1)


def _between(likelihood: FloatArray, level: float, inside: int, outside: int) -> float:
    if not 0 <= outside < len(_POWERS):
        return float(_POWERS[inside])
    part = (likelihood[inside] - level) / (likelihood[inside] - likelihood[outside])
    return float(_POWERS[inside] + part * (_POWERS[outside] - _POWERS[inside]))


_FEWEST = 8


def mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, shape (n,); equal values share their mean rank."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(members)
    return np.asarray((last - (members - 1) / 2.0)[group], dtype=np.float64)


def normal_scores(values: FloatArray, groups: Index) -> FloatArray:
    """Normal scores of a series whose groups (machines) have levels and noise of their own, shape (n,).

    The groups' medians are taken out, the rest is scaled to the groups' noise and ranked, and the rank r is given the
    normal quantile of (r - 3/8) / (n + 1/4) (Blom 1958, Statistical estimates and transformed beta-variables); then the
    groups' means are taken out, and the scores divided by their standard deviation. All 0 where nothing varies.

    Args:
        values: shape (n,).
        groups: the group of each value, counted from 0, shape (n,).
    """
    scores = normal_quantiles((mid_ranks(standardised(values, groups)) - 0.375) / (len(values) + 0.25))
    counts = np.bincount(groups)
    scores = scores - (np.bincount(groups, scores) / np.maximum(counts, 1))[groups]
    freedom = len(values) - np.count_nonzero(counts) + 1
    size = float(np.sqrt(scores @ scores / freedom))
    return np.asarray(scores / size if size > 1e-9 else np.zeros(len(values)))


def standardised(values: FloatArray, groups: Index) -> FloatArray:
    """The values less their group's median, in units of the median size of the group's successive differences.

    Steps move neither much. Of a group with few values the unit is that of all.
    """
    counts = np.bincount(groups)
    if np.count_nonzero(counts) == 1:
        return values
    made = values.copy()
    units = np.zeros(len(counts))
    for group in np.flatnonzero(counts):
        own = values[groups == group]
        made[groups == group] -= np.median(own)
        if len(own) >= _FEWEST:
            units[group] = np.median(np.abs(np.diff(own)))
    known = units[units > 0.0]
    if known.size == 0:
        return made
    return np.asarray(made / np.where(units > 0.0, units, np.median(known))[groups])


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
