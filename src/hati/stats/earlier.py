"""What the noise of earlier samples says of today's."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import digamma, trigamma, trigamma_inverse

LEAST_CHANGE = 0.4
"""The least variance of the logarithm of how much a variance changes with time: a factor 1.9 is usual."""

_FEWEST = 8
_LEAST = 1e-5


def earlier_variances(
    variances: FloatArray, df: FloatArray, earlier: FloatArray, earlier_df: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What earlier variances are worth for today's: the variances to pool, and their degrees of freedom for that.

    A variance changes with time, its logarithm by a variance t: the earlier one tells as much of today's as one of so
    many degrees of freedom d that trigamma(d / 2) = trigamma(own / 2) + t, which is the variance of its logarithm about
    today's, and is brought to the same mean of the logarithm (of a chi-square variable: Smyth 2004, section 6). From
    eight samples on t is estimated from how much today's and earlier variances differ beyond chance, and so is a common
    rise, which is added; t is never less than ``LEAST_CHANGE``, so that a variance that has doubled unnoticed costs
    little.

    Args:
        variances: of today's samples, shape (samples,).
        df: their degrees of freedom, shape (samples,).
        earlier: variances of the same samples before, shape (samples,).
        earlier_df: their degrees of freedom, shape (samples,); 0 where there is none.

    Returns:
        The variances and degrees of freedom to pool with today's, shape (samples,) each.
    """
    told = (earlier_df > 0.0) & (earlier > 0.0)
    if not told.any():
        return np.zeros_like(earlier), np.zeros_like(earlier_df)
    both = told & (df > 0.0) & (variances > 0.0)
    change, rise = LEAST_CHANGE, 0.0
    if int(both.sum()) >= _FEWEST:
        differing = _logarithms(variances[both], df[both]) - _logarithms(earlier[both], earlier_df[both])
        chance = float(np.mean(trigamma(df[both] / 2.0) + trigamma(earlier_df[both] / 2.0)))
        change = max(change, float(np.var(differing, ddof=1)) - chance)
        rise = max(0.0, float(np.mean(differing)))
    worth = np.zeros_like(earlier_df)
    worth[told] = [2.0 * trigamma_inverse(float(own) + change) for own in trigamma(earlier_df[told] / 2.0)]
    centred = np.zeros_like(earlier)
    centred[told] = np.exp(rise + _logarithms(earlier[told], earlier_df[told]) - _bias(worth[told]))
    return centred, worth


def _logarithms(variances: FloatArray, df: FloatArray) -> FloatArray:
    """Unbiased for the logarithm of the true variance; those near zero are bounded, lest they decide alone."""
    bounded = np.maximum(variances, _LEAST * float(np.median(variances)))
    found: FloatArray = np.log(bounded) + _bias(df)
    return found


def _bias(df: FloatArray) -> FloatArray:
    """How far the logarithm of a sample's variance is below that of the true one, on average."""
    found: FloatArray = np.log(df / 2.0) - digamma(df / 2.0)
    return found
