"""Variances of runs: pooled, nested, moderated by others, from earlier samples, and limited by resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.dependence import effective_size
from hati.stats.distributions import chi_square_cdf, digamma, trigamma, trigamma_inverse
from hati.stats.linear_models import Index, block_columns, without_means


class NestedVariance(Struct, frozen=True):
    """The variances of observations within a run and of runs beyond that, in squares of the metric's unit.

    ``within`` is T1^2; ``between`` is T2^2, unbiased, and so negative where runs differ less than their observations
    would make them; None with one run. ``worth`` is the fraction of an independent observation that one is worth.
    """

    mean: float
    within: float
    between: float | None
    runs: int
    observations: float
    worth: float

    @property
    def independent(self) -> float:
        """The variance within runs of independent observations that would make run means vary as these do."""
        return self.within / self.worth

    def of_run_means(self, observations: float) -> float | None:
        """The variance of the mean of a run with that number of observations; None where ``between`` is unknown."""
        if self.between is None:
            return None
        return max(self.between, 0.0) + self.independent / observations

    def relative(self, observations: float) -> float | None:
        """The variance of a run's mean over the squared mean; None where that ratio does not exist."""
        found = self.of_run_means(observations)
        return None if found is None or self.mean == 0.0 else found / self.mean**2


def nested_variance(runs: Sequence[FloatArray]) -> NestedVariance:
    """Estimate both variances from runs, each of shape (n,).

    The within-run variance is the mean of those of the runs, S1^2; the between-run variance that of run means less
    what the observations contribute, S2^2 - S1^2 / n (Kalibera and Jones 2013, Rigorous benchmarking in reasonable
    time, ISMM, 63-74), with the harmonic mean of n where runs are of several sizes, and with n in independent
    observations (``effective_size``) where successive ones are correlated.

    Raises:
        InputError: where no run has two observations.
    """
    several = [values for values in runs if len(values) > 1]
    if not several:
        raise InputError("no run has more than one observation: nothing is known of the variance within runs")
    within = float(np.mean([np.var(values, ddof=1) for values in several]))
    worth = float(np.mean([effective_size(values) / len(values) for values in several]))
    means = np.array([np.mean(values) for values in runs])
    contributed = within * float(np.mean([1.0 / (worth * len(values)) for values in runs]))
    between = float(np.var(means, ddof=1)) - contributed if len(runs) > 1 else None
    harmonic = len(runs) / float(np.sum([1.0 / len(values) for values in runs]))
    return NestedVariance(float(means.mean()), within, between, len(runs), harmonic, worth)


_FEWEST_LEFT = 14
"""With fewer variances beyond the coefficients, their spread is unknown."""
_CAUTION = 1.5
"""Standard errors by which the spread of variances is raised: overrating the prior raises false alarms, by a quarter
to a half with two runs a side and twenty samples."""
_LEAST = 1e-5
"""Variances below this fraction of their median are raised to it: the logarithm of zero would dominate."""


class VariancePrior(Struct, frozen=True, eq=False):
    """Prior knowledge of a sample's variance: ``variances``, one for each sample, worth ``df`` runs more.

    An infinite ``df`` says that the samples' variances differ only by chance, 0 that nothing is known.
    """

    df: float
    variances: FloatArray

    def moderated(self, place: int, variance: float, df: float) -> tuple[float, float]:
        """A sample's variance, moderated by the prior, and its degrees of freedom (Smyth 2004, section 4)."""
        prior = float(self.variances[place])
        if math.isinf(self.df):
            return prior, math.inf
        if self.df <= 0.0:
            return variance, df
        own = df * variance if df > 0.0 else 0.0
        return (self.df * prior + own) / (self.df + df), self.df + df


def variance_prior(variances: FloatArray, df: FloatArray, related: Sequence[FloatArray] = ()) -> VariancePrior:
    """The prior of variances that are alike, estimated from all of them.

    Their logarithms vary by chance, like those of chi-square variables, and in truth; the true variances have a scaled
    inverse chi-square distribution about a regression on ``related`` (Smyth 2004, Statistical Applications in Genetics
    and Molecular Biology 3(1), equations 8 to 10; the regression: Sartor and others 2006, BMC Bioinformatics 7, 538).

    Args:
        variances: of the samples, shape (samples,).
        df: their degrees of freedom, shape (samples,); a variance with none is ignored, and predicted from the others.
        related: predictors of the logarithm of the variance, each of shape (samples,); finite.

    >>> variance_prior(np.array([1.0, 1.1, 0.9] * 6), np.full(18, 8.0)).df
    inf
    """
    columns = np.column_stack([np.ones(len(df)), *related])
    usable = df > 0.0
    count = int(usable.sum())
    if count < columns.shape[1] + _FEWEST_LEFT or not np.any(variances[usable] > 0.0):
        return VariancePrior(0.0, np.where(usable, variances, 0.0))
    positive = variances[usable & (variances > 0.0)]
    bounded = np.maximum(variances[usable], _LEAST * float(np.median(positive)))
    half = df[usable] / 2.0
    logs = np.log(bounded) - digamma(half) + np.log(half)
    coefficients, _, rank, _ = np.linalg.lstsq(columns[usable], logs, rcond=None)
    left = logs - columns[usable] @ coefficients
    error = float(np.std(left**2)) / math.sqrt(count)
    excess = float(left @ left) / (count - int(rank)) - float(np.mean(trigamma(half))) + _CAUTION * error
    prior = 2.0 * trigamma_inverse(excess) if excess > 0.0 else math.inf
    shift = 0.0 if math.isinf(prior) else float(digamma(np.array(prior / 2.0))) - math.log(prior / 2.0)
    return VariancePrior(prior, np.exp(columns @ coefficients + shift))


LEAST_CHANGE = 0.4
"""The least variance of the logarithm of a variance's change with time: a factor of 1.9 is usual."""

_FEWEST = 8


def earlier_variances(
    variances: FloatArray, df: FloatArray, earlier: FloatArray, earlier_df: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Earlier variances as estimates of today's: the variances to pool, and the degrees of freedom they are worth.

    A variance changes with time, its logarithm by a variance t. The earlier one is worth
    d degrees of freedom such that trigamma(d / 2) = trigamma(own / 2) + t, which is the variance of its logarithm about
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
    usable = (earlier_df > 0.0) & (earlier > 0.0)
    if not usable.any():
        return np.zeros_like(earlier), np.zeros_like(earlier_df)
    both = usable & (df > 0.0) & (variances > 0.0)
    change, rise = LEAST_CHANGE, 0.0
    if int(both.sum()) >= _FEWEST:
        differing = _logarithms(variances[both], df[both]) - _logarithms(earlier[both], earlier_df[both])
        chance = float(np.mean(trigamma(df[both] / 2.0) + trigamma(earlier_df[both] / 2.0)))
        change = max(change, float(np.var(differing, ddof=1)) - chance)
        rise = max(0.0, float(np.mean(differing)))
    worth = np.zeros_like(earlier_df)
    worth[usable] = [2.0 * trigamma_inverse(float(own) + change) for own in trigamma(earlier_df[usable] / 2.0)]
    centred = np.zeros_like(earlier)
    centred[usable] = np.exp(rise + _logarithms(earlier[usable], earlier_df[usable]) - _bias(worth[usable]))
    return centred, worth


def _logarithms(variances: FloatArray, df: FloatArray) -> FloatArray:
    """Unbiased logarithms of the true variances; those near zero are bounded, as they would dominate."""
    bounded = np.maximum(variances, _LEAST * float(np.median(variances)))
    found: FloatArray = np.log(bounded) + _bias(df)
    return found


def _bias(df: FloatArray) -> FloatArray:
    """How far the logarithm of a sample's variance is below that of the true one, on average."""
    found: FloatArray = np.log(df / 2.0) - digamma(df / 2.0)
    return found


def cell_noise(values: FloatArray) -> tuple[float, float]:
    """The mean variance of a design's cells, from rounds that each measure all cells, and its degrees of freedom.

    Effects that all cells of a round share are removed. The degrees of freedom are those of Satterthwaite (1946), An
    approximate distribution of estimates of variance components, Biometrics Bulletin 2(6), 110-114, for cells that vary
    unequally; (rounds - 1)(cells - 1) where they do not. The mean of squared variances, each from rounds - 1 degrees of
    freedom, is too large by (rounds + 1) / (rounds - 1).

    Args:
        values: shape (rounds, cells), at least two of each.
    """
    rounds, cells = values.shape
    means = values.mean(axis=0)
    rest = values - values.mean(axis=1, keepdims=True) - means + means.mean()
    most = (rounds - 1.0) * (cells - 1.0)
    variances = np.sum(rest**2, axis=0) / (rounds - 1.0)
    total = float(variances.sum())
    if total == 0.0:
        return 0.0, most
    squares = float(np.sum(variances**2)) * (rounds - 1.0) / (rounds + 1.0)
    return total / (cells - 1.0), min(most, (cells - 1.0) / cells * (rounds - 1.0) * total**2 / squares)


def unit_means(values: FloatArray, units: Index, blocks: Index) -> FloatArray:
    """Each unit's mean, adjusted for the blocks in which it was run; shape (units,).

    Least squares of units plus blocks; with complete blocks the plain means. The mean over all values stays.

    Args:
        values: shape (n,).
        units: the unit of each value, counted from 0, each with a value at least.
        blocks: the block of each value.
    """
    members = np.bincount(units)
    indicators = np.ascontiguousarray(block_columns(blocks)[:, 1:])
    free = without_means(indicators, units)
    shifts = np.linalg.lstsq(free, values - (np.bincount(units, weights=values) / members)[units], rcond=None)[0]
    added = indicators @ shifts
    return np.asarray(np.bincount(units, weights=values - (added - added.mean())) / members)


_EQUAL = 1e-9
"""Values that differ by less, relative to the largest, differ by rounding only."""


def resolution(values: FloatArray) -> float:
    """The smallest distance between two different values, 0 where there is only one; for values with ticks the tick."""
    gaps = np.diff(np.sort(values))
    apart = gaps[gaps > _EQUAL * float(np.max(np.abs(values)))]
    return float(apart.min()) if len(apart) else 0.0


def spread_over_ticks(distances: FloatArray, tick: float) -> FloatArray:
    """Distances in multiples of a tick, each class spread evenly over the values that round to it; at least 0.

    The median of the result is that of grouped values: it is above zero even where most distances are zero.
    """
    if tick == 0.0:
        return distances
    ordered = np.sort(distances)
    multiples, starts, counts = np.unique(np.rint(ordered / tick), return_index=True, return_counts=True)
    lows, highs = np.maximum(multiples - 0.5, 0.0), multiples + 0.5
    ranks = (np.arange(len(ordered)) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts)
    return np.asarray(tick * (np.repeat(lows, counts) + ranks * np.repeat(highs - lows, counts)))


_SURE = 8
"""Degrees of freedom from which equal runs prove no variation; with fewer, rounding may have made them equal."""
_APART = 0.99


class Pooled(NamedTuple):
    """A variance and its degrees of freedom, both 0 where nothing was repeated."""

    variance: float
    freedom: float


def pooled_variance(groups: Sequence[FloatArray]) -> Pooled:
    """The variance about the mean of each group, weighted by degrees of freedom.

    Where few runs never differ it is that of rounding to the values' resolution.
    """
    freedom = sum(len(group) - 1 for group in groups)
    if freedom == 0:
        return Pooled(0.0, 0.0)
    squares = sum(map(_squares, groups))
    if squares == 0.0 and freedom < _SURE:
        squares = freedom * resolution(np.concatenate(groups)) ** 2 / 12.0
    return Pooled(squares / freedom, float(freedom))


def group_variances(groups: Sequence[FloatArray], pooled: Pooled) -> FloatArray:
    """For each group the pooled variance, or its own where 99 % of groups would have a smaller one.

    So a single run far off the others of its group does not show that the whole group is far off.
    """
    variances = []
    for group in groups:
        own, freedom = _squares(group), len(group) - 1
        alone = bool(
            freedom and pooled.variance > 0.0 and chi_square_cdf(np.array([own / pooled.variance]), freedom)[0] > _APART
        )
        variances.append(own / freedom if alone else pooled.variance)
    return np.array(variances)


def _squares(group: FloatArray) -> float:
    return float(np.sum(np.square(group - group.mean()))) if np.ptp(group) > 0.0 else 0.0


def satterthwaite(parts: FloatArray, freedoms: FloatArray) -> float:
    """The degrees of freedom of a sum of variances; the smallest of several sums. Parts that are all 0 count as equal.

    Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2(6),
    110-114.

    Args:
        parts: shape (sums, parts).
        freedoms: of each part, above 0, shape (parts,).
    """
    largest = parts.max(axis=1, keepdims=True, initial=0.0)
    known = np.where(largest > 0.0, parts / np.where(largest > 0.0, largest, 1.0), 1.0)
    return float(np.min(np.square(known.sum(axis=1)) / (np.square(known) @ (1.0 / freedoms))))
