"""Weighted empirical distributions: their quantiles, and comparisons with others."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.distributions import beta_cdf, normal_quantile
from hati.stats.linear_models import Index


class Quantile(Struct, frozen=True):
    """A quantile's estimate; a bound is None where the sample does not reach far enough."""

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
        """The fraction of the distribution below each point, or up to and including it."""
        places = np.searchsorted(self.values, points, side="left" if strictly else "right")
        return np.concatenate([[0.0], self.cumulated])[places]

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """The values at those levels of (0, 1), linear between the values' mid-weights.

        With equal weights the definition 5 of Hyndman and Fan (1996), The American Statistician 50, 361-365.
        """
        middles = (self.cumulated + np.concatenate([[0.0], self.cumulated[:-1]])) / 2.0
        return np.interp(levels, middles, self.values)


def stratified_quantiles(
    values: FloatArray, owners: Index, shares: FloatArray, levels: FloatArray
) -> tuple[Quantile, ...]:
    """Quantiles of the population, with 95 % intervals between values of the sample.

    Arguments as in `stratified_mean`. The bounds are order statistics, by the binomial distribution with an effective
    number of values, as Korn and Graubard (1998), Survey Methodology 24, 193-201, use for proportions: p (1 - p) over
    the stratified variance of p, the share of values up to the quantile. A stratum's share is drawn towards the
    quantile's level by one value, so that strata that are all on one side still vary.
    """
    counts = np.bincount(owners, minlength=len(shares))
    distribution = Ecdf.of(values, (shares / counts)[owners])
    estimates = distribution.quantiles(levels)
    return tuple(
        _quantile(distribution, float(level), float(estimate), (values, owners, shares))
        for level, estimate in zip(levels, estimates, strict=True)
    )


def _quantile(
    distribution: Ecdf,
    level: float,
    estimate: float,
    sample: tuple[FloatArray, Index, FloatArray],
) -> Quantile:
    values, owners, shares = sample
    counts = np.bincount(owners, minlength=len(shares))
    within = np.bincount(owners, weights=values <= estimate, minlength=len(shares))
    drawn = (within + level) / (counts + 1.0)
    share = float(shares @ drawn)
    number = share * (1.0 - share) / float(np.sum(shares**2 * drawn * (1.0 - drawn) / counts))
    alpha = (1.0 - 0.95) / 2.0
    ends = distribution.cumulated
    starts = np.concatenate([[0.0], ends[:-1]])
    # Korn and Graubard's inverse: a bound is wrong if too few (too many) of the values turn out up to the quantile.
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


_ALPHA = 0.05
_POWER = 0.8


class MannWhitney(Struct, frozen=True):
    """The result of Mann and Whitney's test, and its power.

    ``superiority`` is the probability that a value of the sample is below one of the others, ties counting half.
    ``detectable`` is the shift, in standard deviations, that is found with 80 % power; ``power`` that for ``shift``.
    """

    superiority: float
    p_value: float
    shift: float
    power: float
    detectable: float


def ks_distance(values: FloatArray, weights: FloatArray, others: FloatArray) -> float:
    """The largest distance between two distribution functions (Kolmogorov and Smirnov), one of them weighted.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    points = np.unique(np.concatenate([one.values, other.values]))
    return float(np.max(np.abs(one.below(points, strictly=False) - other.below(points, strictly=False))))


def range_covered(values: FloatArray, others: FloatArray) -> float:
    """The share of the others that lie between the smallest and the largest of the values (Skoll paper, Table 4)."""
    inside = (others >= values.min()) & (others <= values.max())
    return float(np.mean(inside))


def mann_whitney(values: FloatArray, weights: FloatArray, others: FloatArray, shift: float) -> MannWhitney:
    """The rank test of a weighted sample against others, with its power for a ``shift`` in standard deviations.

    With equal weights the test of Mann and Whitney (1947) by its normal approximation, corrected for ties; otherwise
    with the number of values that the weights are worth, (sum w)^2 / sum w^2. Strata vary less than a random sample;
    this is ignored, so that p-values are on the large side and powers on the small one. Power by Noether (1987), JASA
    82, 645-647, for normal distributions.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    above = (other.below(values, strictly=True) + other.below(values, strictly=False)) / 2.0
    share = weights / weights.sum()
    superiority = float(share @ (1.0 - above))
    worth, number = 1.0 / float(share @ share), float(len(others))
    deviation = math.sqrt((worth + number + 1.0) / (12.0 * worth * number) * _untied(one, other, worth, number))
    statistic = abs(superiority - 0.5) / deviation if deviation > 0.0 else 0.0
    pull = math.sqrt(12.0 * worth * number / (worth + number + 1.0))
    return MannWhitney(
        superiority=superiority,
        p_value=math.erfc(statistic / math.sqrt(2.0)),
        shift=shift,
        power=_power(shift, pull),
        detectable=_detectable(pull),
    )


def quantile_pairs(values: FloatArray, weights: FloatArray, others: FloatArray, number: int) -> FloatArray:
    """The points of a Q-Q plot, shape (number, 2): quantiles of the weighted sample and of the others.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    levels = (np.arange(number) + 0.5) / number
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    return np.column_stack([one.quantiles(levels), other.quantiles(levels)])


def _untied(one: Ecdf, other: Ecdf, worth: float, number: float) -> float:
    """The factor by which ties reduce the variance: 1 - sum (t^3 - t) / (N^3 - N), t being the sizes of ties."""
    points = np.unique(np.concatenate([one.values, other.values]))
    tied = sum(
        size * (e.below(points, strictly=False) - e.below(points, strictly=True))
        for e, size in ((one, worth), (other, number))
    )
    total = worth + number
    return 1.0 - float(np.sum(np.maximum(tied**3 - tied, 0.0))) / (total**3 - total)


def _power(shift: float, pull: float) -> float:
    away = abs(_normal_cdf(shift / math.sqrt(2.0)) - 0.5) * pull
    critical = normal_quantile(1.0 - _ALPHA / 2.0)
    return _normal_cdf(away - critical) + _normal_cdf(-away - critical)


def _detectable(pull: float) -> float:
    """The shift that is found with 80 % power; infinite where not even complete separation would be found."""
    needed = (normal_quantile(1.0 - _ALPHA / 2.0) + normal_quantile(_POWER)) / pull
    return math.sqrt(2.0) * normal_quantile(0.5 + needed) if needed < 0.5 else math.inf


def _normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
