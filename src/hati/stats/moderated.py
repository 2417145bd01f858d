"""Variances of small samples that borrow strength from each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.distributions import digamma, trigamma, trigamma_inverse

_FEWEST = 14
"""Fewer variances more than coefficients tell too little of how variances differ."""
_CAUTION = 1.5
"""Standard errors by which variances are taken to differ more than it seems: what is thought to be worth more runs than
it is makes alarms, a quarter to a half more of them with two runs a side and twenty samples."""
_LEAST = 1e-5
"""Variances below this part of their median are taken for it: the logarithm of zero would decide alone."""


class VariancePrior(Struct, frozen=True, eq=False):
    """What is known of a variance before its sample is: ``variances``, one for each sample, worth ``df`` runs more.

    An infinite ``df`` says that the samples' variances do not differ by more than chance, 0 that nothing is known.
    """

    df: float
    variances: FloatArray

    def moderated(self, place: int, variance: float, df: float) -> tuple[float, float]:
        """A sample's variance and its degrees of freedom with what the others say (Smyth 2004, section 4)."""
        prior = float(self.variances[place])
        if math.isinf(self.df):
            return prior, math.inf
        if self.df <= 0.0:
            return variance, df
        own = df * variance if df > 0.0 else 0.0
        return (self.df * prior + own) / (self.df + df), self.df + df


def variance_prior(variances: FloatArray, df: FloatArray, related: Sequence[FloatArray] = ()) -> VariancePrior:
    """The prior of variances that are alike, estimated from all of them.

    Their logarithms vary by chance, as those of chi-square variables do, and truly; the latter is a scaled
    inverse chi-square distribution about a line through what they are ``related`` to (Smyth 2004, Statistical
    Applications in Genetics and Molecular Biology 3(1), equations 8 to 10; the line: Sartor and others 2006, BMC
    Bioinformatics 7, 538).

    Args:
        variances: of the samples, shape (samples,).
        df: their degrees of freedom, shape (samples,); where they are zero a variance says nothing and is given one.
        related: to the logarithm of the variance, each of shape (samples,); finite.

    >>> variance_prior(np.array([1.0, 1.1, 0.9] * 6), np.full(18, 8.0)).df
    inf
    """
    columns = np.column_stack([np.ones(len(df)), *related])
    told = df > 0.0
    count = int(told.sum())
    if count < columns.shape[1] + _FEWEST or not np.any(variances[told] > 0.0):
        return VariancePrior(0.0, np.where(told, variances, 0.0))
    positive = variances[told & (variances > 0.0)]
    bounded = np.maximum(variances[told], _LEAST * float(np.median(positive)))
    half = df[told] / 2.0
    logs = np.log(bounded) - digamma(half) + np.log(half)
    coefficients, _, rank, _ = np.linalg.lstsq(columns[told], logs, rcond=None)
    left = logs - columns[told] @ coefficients
    error = float(np.std(left**2)) / math.sqrt(count)
    excess = float(left @ left) / (count - int(rank)) - float(np.mean(trigamma(half))) + _CAUTION * error
    prior = 2.0 * trigamma_inverse(excess) if excess > 0.0 else math.inf
    shift = 0.0 if math.isinf(prior) else float(digamma(np.array(prior / 2.0))) - math.log(prior / 2.0)
    return VariancePrior(prior, np.exp(columns @ coefficients + shift))
