"""The distribution that a weighted sample tells of."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.distributions import beta_cdf
from hati.stats.least_squares import Index


class Quantile(Struct, frozen=True):
    """A quantile's estimate; a bound is None where the sample does not reach far enough to tell."""

    level: float
    estimate: float
    low: float | None
    high: float | None


class Ecdf(Struct, frozen=True, eq=False):
    """A weighted empirical distribution: ``values`` ascending, ``cumulated`` weights up to each, ending in 1."""

    values: FloatArray
    cumulated: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> Ecdf:
        """From values and weights, both of shape (n,), in any order; weights are brought to sum 1.

        Raises:
            InputError: for no values, or weights that are not positive.
        """
        if not len(values) or np.any(weights <= 0.0):
            raise InputError("a distribution needs values, and positive weights")
        order = np.argsort(values, kind="stable")
        cumulated = np.cumsum(weights[order])
        return cls(values[order], cumulated / cumulated[-1])

    def below(self, points: FloatArray, *, strictly: bool) -> FloatArray:
        """The share of the distribution below each point, or up to and with it."""
        places = np.searchsorted(self.values, points, side="left" if strictly else "right")
        return np.concatenate([[0.0], self.cumulated])[places]

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """The values at those levels of (0, 1), linear between the values' mid-weights.

        With equal weights the definition 5 of Hyndman and Fan (1996), The American Statistician 50, 361-365.
        """
        middles = (self.cumulated + np.concatenate([[0.0], self.cumulated[:-1]])) / 2.0
        return np.interp(levels, middles, self.values)


def stratified_quantiles(
    values: FloatArray, owners: Index, shares: FloatArray, levels: FloatArray, confidence: float = 0.95
) -> tuple[Quantile, ...]:
    """Quantiles of the population, with intervals between values of the sample.

    Arguments as in `stratified_mean`. Order statistics as bounds, by the binomial distribution with an effective number
    of values as Korn and Graubard (1998), Survey Methodology 24, 193-201, take it for proportions: p (1 - p) over the
    stratified variance of p, the share of values up to the quantile; a stratum's share is drawn towards the quantile's
    level by one value, so that strata that are all on one side still vary.
    """
    counts = np.bincount(owners, minlength=len(shares))
    distribution = Ecdf.of(values, (shares / counts)[owners])
    estimates = distribution.quantiles(levels)
    return tuple(
        _quantile(distribution, float(level), float(estimate), (values, owners, shares), confidence)
        for level, estimate in zip(levels, estimates, strict=True)
    )


def _quantile(
    distribution: Ecdf,
    level: float,
    estimate: float,
    sample: tuple[FloatArray, Index, FloatArray],
    confidence: float,
) -> Quantile:
    values, owners, shares = sample
    counts = np.bincount(owners, minlength=len(shares))
    within = np.bincount(owners, weights=values <= estimate, minlength=len(shares))
    drawn = (within + level) / (counts + 1.0)
    share = float(shares @ drawn)
    number = share * (1.0 - share) / float(np.sum(shares**2 * drawn * (1.0 - drawn) / counts))
    alpha = (1.0 - confidence) / 2.0
    ends = distribution.cumulated
    starts = np.concatenate([[0.0], ends[:-1]])
    # Korn and Graubard's inverse: a bound is wrong if so few (so many) of the values turn out up to the quantile.
    lows = [beta_cdf(1.0 - level, number * (1.0 - start), number * start + 1.0) <= alpha for start in starts]
    highs = [beta_cdf(level, number * end, number * (1.0 - end) + 1.0) <= alpha for end in ends]
    low = max((place for place, fits in enumerate(lows) if fits), default=None)
    high = min((place for place, fits in enumerate(highs) if fits), default=None)
    return Quantile(
        level,
        estimate,
        None if low is None else float(distribution.values[low]),
        None if high is None else float(distribution.values[high]),
    )
