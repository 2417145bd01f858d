"""From a suite's values to what they say of the whole space."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.suite import Suite
from hati.stats import Index
from hati.stats.stratified import MeanEstimate, assisted_mean, stratified_mean, stratum_means
from hati.stats.weighted import Quantile, stratified_quantiles
from hati.studies.suite.conclusion import SpaceMean, StratumEstimate, SuiteScale
from hati.studies.suite.measured import Measured


class Weighted(Struct, frozen=True, eq=False):
    """The values there are, each with its stratum among those that have any, their shares, and centred columns.

    ``strata`` are the positions of those strata in the suite, ``sizes`` how many configurations they stand for.
    """

    values: FloatArray
    owners: Index
    shares: FloatArray
    columns: FloatArray
    strata: Index
    sizes: Index

    @property
    def weights(self) -> FloatArray:
        """What each value counts; they sum to 1."""
        return np.asarray((self.shares / np.bincount(self.owners))[self.owners])

    @property
    def single(self) -> int:
        """How many strata have one value only, though there are more configurations in them."""
        return int(np.count_nonzero((np.bincount(self.owners) == 1) & (self.sizes > 1)))

    def on(self, scale: SuiteScale) -> FloatArray:
        """The values on a scale."""
        return np.log(self.values) if scale is SuiteScale.LOG else self.values

    def mean(self, scale: SuiteScale) -> MeanEstimate:
        """The mean over the space on a scale, with the error that is left beside the columns."""
        return assisted_mean(self.on(scale), self.owners, self.shares, self.columns)


def weighted(suite: Suite, found: Measured, columns: FloatArray) -> Weighted:
    """The values with their weights; strata without a value are left out, the others stand for them."""
    strata, owners = np.unique(suite.owners[found.places], return_inverse=True)
    shares = suite.shares[strata]
    sizes = np.array([suite.strata[int(number)].weight for number in strata], dtype=np.intp)
    return Weighted(found.values, owners.ravel(), shares / shares.sum(), columns[found.places], strata, sizes)


def stratum_estimates(suite: Suite, found: Measured, given: Weighted, scale: SuiteScale) -> tuple[StratumEstimate, ...]:
    """Each stratum's mean; its interval from the deviation within all strata, on the log scale a relative one."""
    means = stratum_means(given.values, given.owners, given.shares)
    spread = stratum_means(given.on(scale), given.owners, given.shares)
    by_stratum = {int(stratum): place for place, stratum in enumerate(given.strata)}
    runs = np.bincount(suite.owners[found.places], weights=found.runs, minlength=len(suite.strata))
    estimates = []
    for number, stratum in enumerate(suite.strata):
        place = by_stratum.get(number)
        estimate = None if place is None else means[place].estimate
        interval = None
        if place is not None and estimate is not None and (on_scale := spread[place].interval):
            half = (on_scale[1] - on_scale[0]) / 2.0
            interval = _around(estimate, half, scale)
        size = len(stratum.configurations)
        estimates.append(StratumEstimate(stratum.setting, stratum.weight, estimate, interval, size, int(runs[number])))
    return tuple(estimates)


def space_mean(given: Weighted) -> SpaceMean:
    """The arithmetic mean over the space: the strata's, weighted. Their deviations may differ, as values do."""
    found = stratified_mean(given.values, given.owners, given.shares)
    return SpaceMean(found.estimate, found.interval())


def geometric_mean(given: Weighted) -> SpaceMean:
    """That of the logarithms, whose deviations are much alike: the regression estimator's, brought back."""
    found = given.mean(SuiteScale.LOG)
    interval = found.interval()
    return SpaceMean(math.exp(found.estimate), interval and (math.exp(interval[0]), math.exp(interval[1])))


def quantiles(given: Weighted, levels: Sequence[float]) -> tuple[Quantile, ...]:
    """Quantiles over the space."""
    return stratified_quantiles(given.values, given.owners, given.shares, np.array(levels, dtype=np.float64))


def _around(estimate: float, half: float, scale: SuiteScale) -> tuple[float, float]:
    if scale is SuiteScale.LOG:
        return (estimate * math.exp(-half), estimate * math.exp(half))
    return (estimate - half, estimate + half)
