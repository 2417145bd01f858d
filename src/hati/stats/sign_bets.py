"""Bets on the signs of differences: an anytime-valid test of pairs whose order was drawn, whatever their noise.

Where two sides are equal, a pair's difference is as likely as its opposite, since the order of the pair was drawn. A
bet of ``tanh(c x)`` on a positive difference is then fair: x is the difference relative to the root mean square of all
so far, an odd and increasing function of the difference. The capital is a nonnegative martingale; by Ville's inequality
it reaches 1 / alpha at any time with probability alpha at most. The same holds for the mean of the capitals of several
stakes c. Under a difference below zero, bets on a positive one lose: one-sided tests hold, too.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hati.core import FloatArray, generator
from hati.stats.distributions import halved, normal_quantile

_STAKES = 2.0 ** np.arange(-4.0, 4.0)
_WEIGHTS = _STAKES / (1.0 + _STAKES**2)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_LARGEST = 700.0
"""The logarithm of the largest reported e-value."""


def sign_bets(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The logarithms of the e-values against a true difference of at most zero, and of at least zero, after each value.

    Both hold for any noise that is symmetric given the values before. Their mean is an e-value against exactly zero.

    Args:
        values: in the order in which they came, shape (..., n), finite.

    Returns:
        Two arrays of shape (..., n).

    >>> [each.round(2).tolist() for each in sign_bets(np.array([1.0, 2.0, -1.5, 1.8]))]
    [[0.51, 1.08, -0.34, 0.07], [-1.1, -1.7, -1.47, -1.85]]
    """
    sizes = np.arange(1.0, values.shape[-1] + 1.0)
    largest = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(values, largest, out=np.zeros(values.shape), where=largest > 0.0)
    typical = np.sqrt(np.cumsum(scaled**2, axis=-1) / sizes)
    relative = np.divide(scaled, typical, out=np.zeros(values.shape), where=typical > 0.0)
    bets = np.tanh(_STAKES[:, None] * relative[..., None, :])
    with np.errstate(divide="ignore"):  # a stake that is lost wins nothing later; small stakes are never lost
        up, down = (_mixed(np.cumsum(np.log1p(sign * bets), axis=-1)) for sign in (1.0, -1.0))
    return up, down


def _mixed(logs: FloatArray) -> FloatArray:
    """The logarithm of the mean over stakes, shape (..., stakes, n) to (..., n)."""
    weighed = logs + _LOG_WEIGHTS[:, None]
    largest = weighed.max(axis=-2)
    return np.asarray(largest + np.log(np.exp(weighed - largest[..., None, :]).sum(axis=-2)))


def sign_bet_e_values(values: FloatArray) -> FloatArray:
    """The e-value against a true difference of zero after each value, shape (..., n).

    >>> sign_bet_e_values(np.ones(9)).round(1).tolist()
    [1.0, 1.5, 2.6, 4.7, 8.5, 15.9, 29.9, 56.9, 109.0]
    """
    return np.asarray(np.exp(np.minimum(_both(*sign_bets(values)), _LARGEST)))


def _both(up: FloatArray, down: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(up, down) - math.log(2.0))


@lru_cache(maxsize=256)
def fewest_sign_bets(alpha: float) -> int:
    """The fewest equal values that are significant."""
    size = 1
    while float(_both(*sign_bets(np.ones(size)))[-1]) < -math.log(alpha):
        size += 1
    return size


_INNER, _OUTER, _HALVINGS = 257, 48, 24
_FEWEST_MIDDLES, _MOST_MIDDLES = 64, 100_000
_BEYOND = 2.0**10
"""How far beyond the values a limit of an interval may lie, in ranges."""


def sign_bet_interval(values: FloatArray, alpha: float) -> tuple[float, float]:
    """The smallest interval with all differences that the bets did not refute at any time, and with the mean.

    Infinite limits where too few values refute none. It holds the true difference with probability 1 - alpha, if the
    noise is symmetric.

    Args:
        values: shape (n,), at least one.
        alpha: the level, two-sided.
    """
    mean, low, high = float(np.mean(values)), float(values.min()), float(values.max())
    if len(values) < fewest_sign_bets(alpha):
        return -math.inf, math.inf
    if high <= low:
        return mean, mean

    def kept(centres: FloatArray) -> FloatArray:
        logs = _both(*sign_bets(values - centres[:, None]))
        return np.asarray(logs.max(axis=-1) < -math.log(alpha))

    outer = (high - low) * np.geomspace(1.0 / _OUTER, _BEYOND, _OUTER)
    centres = np.unique(np.hstack([low - outer, np.linspace(low, high, _INNER), _middles(values), high + outer]))
    inside = np.flatnonzero(kept(centres))
    ends = [mean, mean]
    for end, step in ((0, -1), (-1, 1)):
        if not len(inside):
            break
        last = int(inside[end])
        if last in {0, len(centres) - 1}:
            ends[end] = step * math.inf
            continue
        near, far = float(centres[last]), float(centres[last + step])
        for _ in range(_HALVINGS):
            middle = (near + far) / 2.0
            near, far = (middle, far) if kept(np.array([middle]))[0] else (near, middle)
        ends[end] = far
    return min(mean, ends[0]), max(mean, ends[1])


def _middles(values: FloatArray) -> FloatArray:
    """The means of pairs of values (Walsh averages), or as many of their quantiles as are affordable.

    What is not refuted may be narrow beside the range of the values: there are outliers, or ties.
    """
    first, second = np.triu_indices(len(values))
    means = np.sort((values[first] + values[second]) / 2.0)
    most = max(_FEWEST_MIDDLES, _MOST_MIDDLES // len(values))
    return means if len(means) <= most else means[np.linspace(0, len(means) - 1, most).round().astype(np.intp)]


def within_by_sign_bets(values: FloatArray, limit: float, alpha: float) -> bool:
    """Whether bets refuted, each at alpha, a difference of at least ``limit`` and one of at most -``limit``.

    Two one-sided tests (Schuirmann 1987).
    """
    wanted = -math.log(alpha)
    above, below = sign_bets(values + limit)[0], sign_bets(values - limit)[1]
    return bool(above.max() >= wanted and below.max() >= wanted)


MOST_ROUNDS = 1_000
_PATHS = 500
_FEW_PATHS = 400
_VALUES = 100_000
_SEED = 18


@lru_cache(maxsize=256)
def detectable_by_sign_bets(size: int, alpha: float, power: float) -> float:
    """The difference, in standard deviations of a value, that ``size`` values show with that power; noise is normal.

    By simulation; infinite where so few values cannot show any.
    """
    if size < fewest_sign_bets(alpha):
        return math.inf
    noise = generator(_SEED, "detectable").standard_normal((_FEW_PATHS, size))

    def shown(difference: float) -> bool:
        logs = _both(*sign_bets(noise + difference))[:, fewest_sign_bets(alpha) - 1 :]
        return float(np.mean(logs.max(axis=-1) >= -math.log(alpha))) >= power

    most = 1.0
    while not shown(most) and most < _BEYOND:
        most *= 2.0
    return halved(0.0, most, shown, _HALVINGS // 3)[1]


@lru_cache(maxsize=256)
def looks_of_sign_bets(
    difference: float, limit: float, alpha: float, of_change: float | None, power: float
) -> int | None:
    """The number of values that decide with that power, by a look after each; None where 1,000 do not.

    Decided is a change, at the level ``of_change``, or that it is within the limit, at ``alpha``. By simulation of
    at most 500 campaigns with normal noise, which are the same in every call.

    Args:
        difference: in standard deviations of a value, as the limit is.
        limit: the margin.
        alpha: the level of the limit.
        of_change: the level of a change; None if only a difference within the limit counts.
        power: the probability of a decision.
    """
    wanted, size = -math.log(alpha), _least(difference, limit, alpha, of_change, power)
    while size <= MOST_ROUNDS:
        size = min(MOST_ROUNDS, max(32, 2 * size))
        paths = min(_PATHS, _VALUES // size)
        values = difference + generator(_SEED, "looks", str(size)).standard_normal((paths, size))
        inside = (sign_bets(values + limit)[0], sign_bets(values - limit)[1])
        decided = np.minimum(*(np.maximum.accumulate(found, axis=-1) for found in inside)) >= wanted
        if of_change is not None:
            decided |= np.maximum.accumulate(_both(*sign_bets(values)), axis=-1) >= -math.log(of_change)
        decided[:, : fewest_sign_bets(alpha) - 1] = False
        enough = np.flatnonzero(decided.mean(axis=0) >= power)
        if len(enough):
            return int(enough[0]) + 1
        size = size if size < MOST_ROUNDS else MOST_ROUNDS + 1
    return None


def _least(difference: float, limit: float, alpha: float, of_change: float | None, power: float) -> int:
    """Fewer values than this do not decide: not even by a single test that knows the deviation."""

    def needed(distance: float, level: float) -> float:
        return ((normal_quantile(1.0 - level) + normal_quantile(power)) / distance) ** 2 if distance > 0.0 else math.inf

    change = math.inf if of_change is None else needed(abs(difference), of_change / 2.0)
    return int(min(change, needed(limit - abs(difference), alpha), MOST_ROUNDS + 1.0))
