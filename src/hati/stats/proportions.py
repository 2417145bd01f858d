"""Proportions of successes, with exact intervals; the sign test."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.distributions import beta_cdf, beta_quantile


class Proportion(Struct, frozen=True):
    """A proportion of successes among independent trials, and the interval of the true one."""

    count: float
    trials: float
    interval: tuple[float, float]

    @property
    def estimate(self) -> float:
        """The observed proportion."""
        return self.count / self.trials

    def p_above(self, share: float) -> float:
        """The probability of at least as many successes if the true proportion is ``share``; 0 < ``share`` < 1."""
        return beta_cdf(share, self.count, self.trials - self.count + 1.0) if self.count > 0.0 else 1.0


def proportion(count: float, trials: float, confidence: float = 0.95) -> Proportion:
    """The proportion among independent trials, with the interval of Clopper and Pearson (1934, Biometrika 26, 404-413).

    The interval holds the true proportion with at least that confidence. Neither number need be whole;
    0 <= ``count`` <= ``trials``, 0 < ``trials``.

    >>> [round(end, 4) for end in proportion(0, 20).interval]
    [0.0, 0.1684]
    """
    tail = (1.0 - confidence) / 2.0
    left = trials - count
    low = beta_quantile(tail, count, left + 1.0) if count > 0.0 else 0.0
    high = beta_quantile(1.0 - tail, count + 1.0, left) if left > 0.0 else 1.0
    return Proportion(count, trials, (low, high))


def clustered_proportion(shares: FloatArray, trials: int, correlation: float) -> Proportion:
    """The proportion among clusters of equally many ``trials``; ``shares`` of each succeed, shape (clusters,).

    Trials of one cluster are correlated. They count as fewer, by the design effect 1 + (trials - 1) r, r being the
    correlation within clusters, by the analysis of variance of zeros and ones (Kish 1965, Survey Sampling, 5.4), but
    at least ``correlation``: a few clusters with successes estimate it poorly. With the effective number the interval
    of 95 % is Clopper and Pearson's (Korn and Graubard 1998, Survey Methodology 24, 193-201).
    """
    found = float(np.mean(shares))
    alike = min(1.0, max(correlation, _intraclass(shares, trials)))
    effective = len(shares) * trials / (1.0 + (trials - 1) * alike)
    return proportion(found * effective, effective)


def _intraclass(shares: FloatArray, trials: int) -> float:
    """The correlation of two trials of a cluster; 0 where it cannot be estimated."""
    if len(shares) < 2 or trials < 2:
        return 0.0
    between = trials * float(np.var(shares, ddof=1))
    within = trials * float(np.mean(shares * (1.0 - shares))) / (trials - 1)
    total = between + (trials - 1) * within
    return (between - within) / total if total > 0.0 else 0.0


def sign_test(first: int, second: int) -> float:
    """The p-value, two-sided and exact, of the counts of two kinds that are equally likely.

    >>> round(sign_test(1, 7), 4)
    0.0703
    """
    cases, fewer = first + second, min(first, second)
    if first == second:
        return 1.0
    return min(1.0, 2.0 * (1.0 - beta_cdf(0.5, fewer + 1.0, float(cases - fewer))))
