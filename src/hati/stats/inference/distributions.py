"""The quantiles and tails that the tests need; the one place that loads scipy."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from hati.core import FloatArray

# scipy.special is imported where it is needed: it takes longer to load than all else that `hati --help` needs.

_NORMAL = NormalDist()
_STEPS = 50
_HALVINGS = 60
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


def beta_quantiles(probabilities: FloatArray, a: float, b: float) -> FloatArray:
    """The quantiles of probabilities in (0, 1) of a beta distribution with parameters a, b > 0."""
    from scipy import special

    return np.asarray(special.betaincinv(a, b, probabilities), dtype=np.float64)


def binomial_cdfs(counts: FloatArray, trials: int, probability: float) -> FloatArray:
    """P(X <= count) of the binomial distribution."""
    from scipy import special

    return np.asarray(special.bdtr(counts, trials, probability), dtype=np.float64)


def kolmogorov_above(size: float) -> float:
    """P(K > size) of Kolmogorov's distribution."""
    from scipy import special

    return float(special.kolmogorov(size))


def gamma_cdf(values: FloatArray, shape: float) -> FloatArray:
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
    """Of the F distribution that is beyond its ``p_value`` critical value with that probability."""
    from scipy import special

    return float(special.ncfdtrinc(dimensions, df, 1.0 - power, f_quantile(1.0 - p_value, dimensions, df)))


def noncentral_f_above(p_value: float, noncentral: float, dimensions: int, df: float) -> float:
    """The power of which ``noncentrality`` is the inverse."""
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


def f_above(statistics: FloatArray, df: float, residual_df: float) -> FloatArray:
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

    By Newton's method for its reciprocal, which is convex, so that it never leaves its side (Smyth 2004, appendix).
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


def noncentral_t_above(limit: float, df: float, noncentral: float) -> float:
    """P(T > limit) of the noncentral t distribution."""
    from scipy import special

    return 1.0 - float(special.nctdtr(df, noncentral, limit))


def noncentrality_of_t(limit: float, df: float, power: float) -> float:
    """Of the noncentral t distribution that is above a positive limit with that probability.

    Infinite where that cannot be computed: limits of extreme levels with few degrees of freedom.
    """
    low, high = 0.0, 2.0 * limit + 10.0
    while not noncentral_t_above(limit, df, high) >= power:
        high *= 2.0
        if high > _LARGEST_NONCENTRALITY:
            return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if noncentral_t_above(limit, df, middle) >= power else (middle, high)
    return high
