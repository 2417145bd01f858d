"""The quantiles and tails that the tests need; the one place that loads scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from hati.core import FloatArray

_MANY = 200


def halved(low: float, high: float, reached: Callable[[float], bool], times: int = 60) -> tuple[float, float]:
    """The ends of the interval after ``times`` halvings around the value from which on ``reached`` holds."""
    for _ in range(times):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low, high


def t_margin(confidence: float, df: int) -> float:
    """The t with P(|T| <= t) = ``confidence``, for ``df`` >= 1 degrees of freedom; exact to about ten digits.

    Abramowitz and Stegun (1964), Handbook of Mathematical Functions: formulas 26.7.3 and 26.7.4 solved by bisection,
    and from 200 degrees of freedom on the expansion 26.7.5.

    >>> round(t_margin(0.95, 9), 6)
    2.262157
    """
    if df >= _MANY:
        return _expanded(NormalDist().inv_cdf(0.5 + confidence / 2.0), df)
    low, _ = halved(0.0, math.pi / 2.0, lambda angle: _within(angle, df) >= confidence)
    return math.sqrt(df) * math.tan(low)


def _within(angle: float, df: int) -> float:
    """P(|T| <= sqrt(df) tan(angle))."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(odd + 1, df, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total


def _expanded(x: float, df: int) -> float:
    g1 = (x**3 + x) / 4.0
    g2 = (5 * x**5 + 16 * x**3 + 3 * x) / 96.0
    g3 = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384.0
    g4 = (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160.0
    return x + g1 / df + g2 / df**2 + g3 / df**3 + g4 / df**4


# scipy.special is imported where it is needed: it takes longer to load than all else that `hati --help` needs.

_NORMAL = NormalDist()
_STEPS = 50
_PRECISE = 1e-12


def normal_quantile(probability: float) -> float:
    """The standard normal quantile of a probability in (0, 1)."""
    return _NORMAL.inv_cdf(probability)


def normal_quantiles(probabilities: FloatArray) -> FloatArray:
    """The standard normal quantiles of probabilities in (0, 1)."""
    from scipy import special

    return np.asarray(special.ndtri(probabilities), dtype=np.float64)


def normal_tails(values: FloatArray) -> FloatArray:
    """P(Z > value) of a standard normal Z, for every value."""
    from scipy import special

    return np.asarray(special.ndtr(-values), dtype=np.float64)


def t_quantile(probability: float, df: float) -> float:
    """Student's t quantile of a probability in (0, 1); ``df`` need not be whole."""
    from scipy import special

    return float(special.stdtrit(df, probability))


def t_two_sided(statistics: FloatArray, df: float) -> FloatArray:
    """Two-sided p-values of t statistics, infinite ones included."""
    from scipy import special

    return np.asarray(2.0 * special.stdtr(df, -np.abs(statistics)), dtype=np.float64)


def chi_square_quantiles(probabilities: FloatArray, df: float) -> FloatArray:
    """Chi-square quantiles of probabilities in (0, 1)."""
    from scipy import special

    return np.asarray(special.chdtri(df, 1.0 - probabilities), dtype=np.float64)


def chi_square_cdf(values: FloatArray, df: float) -> FloatArray:
    """P(X <= value) of the chi-square distribution, for values of at least 0."""
    from scipy import special

    return np.asarray(special.chdtr(df, values), dtype=np.float64)


def beta_cdf(value: float, a: float, b: float) -> float:
    """P(B <= value) of a beta distribution with parameters a, b > 0."""
    from scipy import special

    return float(special.betainc(a, b, value))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The quantile of a probability in (0, 1) of a beta distribution with parameters a, b > 0."""
    from scipy import special

    return float(special.betaincinv(a, b, probability))


def _beta_quantiles(probabilities: FloatArray, a: float, b: float) -> FloatArray:
    """The quantiles of probabilities in (0, 1) of a beta distribution with parameters a, b > 0."""
    from scipy import special

    return np.asarray(special.betaincinv(a, b, probabilities), dtype=np.float64)


def _binomial_cdfs(counts: FloatArray, trials: int, probability: float) -> FloatArray:
    """P(X <= count) of the binomial distribution."""
    from scipy import special

    return np.asarray(special.bdtr(counts, trials, probability), dtype=np.float64)


def kolmogorov_above(size: float) -> float:
    """P(K > size) of Kolmogorov's distribution."""
    from scipy import special

    return float(special.kolmogorov(size))


def _gamma_cdf(values: FloatArray, shape: float) -> FloatArray:
    """P(X <= value) of the gamma distribution of scale 1, for values of at least 0."""
    from scipy import special

    return np.asarray(special.gammainc(shape, values), dtype=np.float64)


def log_gamma(values: FloatArray) -> FloatArray:
    """The logarithm of the gamma function of values above 0."""
    from scipy import special

    return np.asarray(special.gammaln(values), dtype=np.float64)


def log_confluent(sizes: FloatArray, values: FloatArray) -> FloatArray:
    """The logarithm of 1F1(1; size + 1; -value), values of at least 0.

    By Kummer's transformation that is exp(-value) times the mean of exp(value u), u being a beta variate (size, 1).
    """
    from scipy import special

    return np.asarray(np.log(special.hyp1f1(1.0, sizes + 1.0, -values)), dtype=np.float64)


def log_sum_of_exponentials(logs: FloatArray) -> FloatArray:
    """The logarithm of the sum of exponentials, over the first axis, of which one at least is above zero."""
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)), dtype=np.float64)


def noncentrality(p_value: float, power: float, dimensions: int, df: float) -> float:
    """The noncentrality at which an F test is significant at ``p_value`` with probability ``power``."""
    from scipy import special

    return float(special.ncfdtrinc(dimensions, df, 1.0 - power, f_quantile(1.0 - p_value, dimensions, df)))


def noncentral_f_above(p_value: float, noncentral: float, dimensions: int, df: float) -> float:
    """The power of an F test at a noncentrality; the inverse of ``noncentrality``."""
    from scipy import special

    return 1.0 - float(special.ncfdtr(dimensions, df, noncentral, f_quantile(1.0 - p_value, dimensions, df)))


def t_cdf(statistic: float, df: float) -> float:
    """P(T <= statistic) of Student's t."""
    from scipy import special

    return float(special.stdtr(df, statistic))


def t_cdfs(statistics: FloatArray, df: FloatArray) -> FloatArray:
    """P(T <= statistic) of Student's t, each with its own degrees of freedom."""
    from scipy import special

    return np.asarray(special.stdtr(df, statistics), dtype=np.float64)


def f_above(statistics: FloatArray, df: FloatArray | float, residual_df: FloatArray | float) -> FloatArray:
    """P(F > statistic) of the F distribution, infinite statistics included."""
    from scipy import special

    return np.asarray(special.fdtrc(df, residual_df, statistics), dtype=np.float64)


def f_quantile(probability: float, df: float, residual_df: float) -> float:
    """The F distribution's quantile of a probability in (0, 1)."""
    from scipy import special

    return float(special.fdtri(df, residual_df, probability))


def digamma(values: FloatArray) -> FloatArray:
    """The derivative of the logarithm of the gamma function."""
    from scipy import special

    return np.asarray(special.digamma(values), dtype=np.float64)


def trigamma(values: FloatArray) -> FloatArray:
    """The derivative of ``digamma``."""
    from scipy import special

    return np.asarray(special.polygamma(1, values), dtype=np.float64)


def trigamma_inverse(value: float) -> float:
    """The positive argument at which ``trigamma`` has a positive value.

    By Newton's method for the reciprocal, which is convex, so that all steps stay on one side (Smyth 2004, appendix).
    """
    from scipy import special

    found = 0.5 + 1.0 / value
    for _ in range(_STEPS):
        at = float(special.polygamma(1, found))
        step = at * (1.0 - at / value) / float(special.polygamma(2, found))
        found += step
        if abs(step) <= _PRECISE * found:
            break
    return found


_LARGEST_NONCENTRALITY = 1e12
_FAR = 1e4
"""From this limit on the numerator of a noncentral t varies so little that only its denominator matters."""


def noncentral_t_above(limit: float, df: float, noncentral: float) -> float:
    """P(T > limit) of the noncentral t distribution."""
    from scipy import special

    return 1.0 - float(special.nctdtr(df, noncentral, limit))


def noncentrality_of_t(limit: float, df: float, power: float) -> float:
    """The noncentrality of a t distribution that exceeds a positive limit with probability ``power``.

    Infinite where that cannot be computed: limits of extreme levels with few degrees of freedom. Far limits are
    approximated, since the series for the probability is as long as they are.

    >>> [round(noncentrality_of_t(limit, 4.0, 0.8) / limit, 7) for limit in (9999.0, 10001.0)]
    [1.2235825, 1.2235825]
    """
    if limit >= _FAR:
        found = limit * math.sqrt(float(chi_square_quantiles(np.array(power), df)) / df)
        return found if found <= _LARGEST_NONCENTRALITY else math.inf
    low, high = 0.0, 2.0 * limit + 10.0
    while not noncentral_t_above(limit, df, high) >= power:
        high *= 2.0
        if high > _LARGEST_NONCENTRALITY:
            return math.inf
    return halved(low, high, lambda middle: noncentral_t_above(limit, df, middle) >= power)[1]


_NODES = 400
_FARTHEST = 1e9
_SKEWED_HALVINGS = 80


def skewed_t_above(statistic: float, size: int) -> float:
    """The larger of P(T > statistic) of ``size`` normal and ``size`` exponential values.

    >>> round(skewed_t_above(4.0, 10), 3), round(skewed_t_above(-1.0, 10), 3)
    (0.03, 0.828)
    """
    normal = t_cdf(-statistic, size - 1.0)
    if statistic <= 0.0:
        return normal
    variations, weights = _variations(size)
    below = _gamma_cdf(size / (1.0 + statistic * variations / math.sqrt(size)), float(size))
    return max(normal, float(weights @ below))


@lru_cache(maxsize=4096)
def skewed_t_critical(size: int, alpha: float) -> float:
    """The statistic at which ``skewed_t_above`` is alpha, below one half.

    >>> round(skewed_t_critical(5, 0.01), 1), round(skewed_t_critical(40, 0.01), 1)
    (10.5, 3.4)
    """
    low, high = 0.0, 1.0
    while skewed_t_above(high, size) > alpha and high < _FARTHEST:
        low, high = high, 2.0 * high
    return halved(low, high, lambda middle: skewed_t_above(middle, size) <= alpha, _SKEWED_HALVINGS)[1]


@lru_cache(maxsize=1024)
def _variations(size: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients of variation of ``size`` exponential values, denser where they are small, with their weights.

    The sum of squares of each value's fraction of their sum has mean 2 / (n + 1) (Dirichlet distribution).
    """
    mean, square = 1.0 / (size + 1.0), (4.0 * size + 20.0) / ((size + 1.0) * (size + 2.0) * (size + 3.0))
    variance = (square - (2.0 / (size + 1.0)) ** 2) * (size / (size - 1.0)) ** 2
    precision = mean * (1.0 - mean) / variance - 1.0
    places = (np.arange(_NODES) + 0.5) / _NODES
    shares = _beta_quantiles(places**2, mean * precision, (1.0 - mean) * precision)
    return np.sqrt(size * shares), places / places.sum()


_ROUNDING = 1.0 + 1e-9
"""Statistics that differ by a smaller factor count as equal."""


def two_kinds_t_above(statistic: float, size: int, share: float) -> float:
    """P(T >= statistic) of ``size`` values of two kinds, one with probability ``share``; the statistic is above zero.

    >>> round(two_kinds_t_above(4.0, 13, 0.3), 4), round(two_kinds_t_above(2.0, 13, 0.3), 4)
    (0.0097, 0.0637)
    """
    statistics, below = _possible(size, share)
    return float(below[np.searchsorted(-statistics, -statistic / _ROUNDING, side="right") - 1])


def two_kinds_t_critical(size: int, alpha: float, share: float) -> float:
    """The statistic above which ``two_kinds_t_above`` is at most alpha; infinite where so few values have none.

    >>> round(two_kinds_t_critical(18, 0.01, 0.3), 2), two_kinds_t_critical(12, 0.01, 0.3)
    (4.4, inf)
    """
    statistics, below = _possible(size, share)
    rejected = int(np.searchsorted(below, alpha, side="right"))
    if not rejected:
        return math.inf
    return float(statistics[rejected]) * _ROUNDING if rejected < len(statistics) else 0.0


@lru_cache(maxsize=1024)
def _possible(size: int, share: float) -> tuple[FloatArray, FloatArray]:
    """The statistics above zero, descending, with the probability of each or a larger one."""
    counts = np.arange(math.ceil(size * share), dtype=np.float64)
    shares = counts / size
    with np.errstate(divide="ignore"):
        statistics = math.sqrt(size - 1.0) * (share - shares) / np.sqrt(shares * (1.0 - shares))
    return statistics, _binomial_cdfs(counts, size, share)
