"""Estimates over the whole space from a suite's runs, and their agreement with other data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import Configuration, Evidence, FloatArray, Metric, Run, setting_text
from hati.core.wording import counted
from hati.design.populations import population
from hati.design.suite import Suite
from hati.space import Space
from hati.stats import (
    Ecdf,
    Equivalence,
    Index,
    MannWhitney,
    MeanEstimate,
    Quantile,
    assisted_mean,
    equivalence,
    ks_distance,
    mann_whitney,
    quantile_pairs,
    range_covered,
    stratified_mean,
    stratified_quantiles,
    stratum_means,
)
from hati.studies.schedule import failure_reasons


class SuiteScale(StrEnum):
    """The scale on which means are compared and errors are equal."""

    LOG = "log"
    RAW = "raw"


class StratumEstimate(Struct, frozen=True):
    """One valid combination of the important options: its completions, and the metric's mean over them.

    ``setting`` has no entry for an inactive option; ``weight`` is the number of valid completions. ``estimate`` and its
    95 % ``interval`` are in the metric's unit, None if no run yielded a value; ``configurations`` were planned,
    ``runs`` yielded a value. ``no_interval`` is the reason for which an estimate has no interval.
    """

    setting: Configuration
    weight: int
    estimate: float | None
    interval: tuple[float, float] | None
    configurations: int
    runs: int
    no_interval: str | None


class SpaceMean(Struct, frozen=True):
    """The metric's mean over all valid configurations, with a 95 % interval; in its unit."""

    estimate: float
    interval: tuple[float, float] | None


class Box(Struct, frozen=True):
    """The values of a box plot, in the metric's unit; quantiles are weighted."""

    name: str
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float


class Agreement(Struct, frozen=True, eq=False):
    """The suite compared with other values of the metric: a full data set's, or those of a random sample.

    ``ks`` is the largest distance of the distribution functions. ``range`` is the fraction of the others between the
    suite's smallest and largest value. ``mean`` and ``geometric_mean`` are those of the others. ``equivalence`` is of
    the means on the study's scale: on ``log`` a difference of logarithms. ``pairs``, shape (points, 2), are the suite's
    and the others' quantiles.
    """

    kind: str
    values: int
    mean: float
    geometric_mean: float | None
    ks: float
    range: float
    mann_whitney: MannWhitney
    equivalence: Equivalence | None
    pairs: FloatArray
    boxes: tuple[Box, Box]


class SuiteConclusion(Struct, frozen=True):
    """A suite's estimates for the whole space, complete or not.

    ``options`` define the strata; ``configurations`` is the number of valid ones; ``planned``, ``done`` and
    ``failed`` count runs, including those of a random sample.
    """

    study: str
    subject: str
    benchmark: str
    revision: str
    metric: Metric
    scale: SuiteScale
    options: tuple[str, ...]
    options_from: str
    configurations: int
    size: int
    repetitions: int
    strata: tuple[StratumEstimate, ...]
    quantiles: tuple[Quantile, ...]
    mean: SpaceMean
    geometric_mean: SpaceMean | None
    against: Agreement | None
    planned: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]


class MeasuredSuite(Struct, frozen=True, eq=False):
    """``values`` are means over runs, in the metric's unit, of the requested configurations at ``places``.

    ``runs`` is the number of runs of each value; ``failed`` runs yielded none, for ``reasons``, each once with its
    count. With several machines, values are those of the mean machine; ``apart`` is true if this is unknown because
    the machines share too few configurations.
    """

    values: FloatArray
    places: Index
    runs: Index
    failed: int
    reasons: tuple[str, ...]
    apart: bool = False


def measured(evidence: Evidence, metric: Metric, configurations: Sequence[Configuration]) -> MeasuredSuite:
    """One value for each configuration that has any.

    Raises:
        InputError: if a run's unit cannot be converted to the metric's.
    """
    found: list[tuple[int, str, float]] = []
    where = {configuration: place for place, configuration in enumerate(configurations)}
    failed = list[Run]()
    for run in evidence.runs:
        value = run.value(metric)
        if value is None:
            failed.append(run)
        elif run.task.configuration in where:
            found.append((where[run.task.configuration], run.machine, value))
    places, owners = np.unique([place for place, _, _ in found], return_inverse=True)
    machines = np.unique([machine for _, machine, _ in found], return_inverse=True)[1]
    values = np.array([value for _, _, value in found], dtype=np.float64)
    cleared = _without_machines(values, owners, machines)
    kept = values if cleared is None else cleared
    return MeasuredSuite(
        values=np.array([np.mean(kept[owners == place]) for place in range(len(places))], dtype=np.float64),
        places=places.astype(np.intp),
        runs=np.bincount(owners, minlength=len(places)).astype(np.intp),
        failed=len(failed),
        reasons=failure_reasons(failed, metric),
        apart=cleared is None,
    )


def _without_machines(values: FloatArray, owners: Index, machines: Index) -> FloatArray | None:
    """The values for the mean machine: each less the effect of its machine as a block.

    Block effects are estimated by least squares together with configurations, on logarithms if all values are above
    zero. None if configurations do not connect the machines.

    Args:
        values: of each run.
        owners: the configuration of each run, from 0.
        machines: the machine of each run, from 0.
    """
    count = int(machines.max(initial=0)) + 1
    if count == 1:
        return values
    columns = np.hstack([np.eye(count)[machines], np.eye(int(owners.max()) + 1)[owners]])
    if np.linalg.matrix_rank(columns) < columns.shape[1] - 1:
        return None
    logs = bool(np.all(values > 0.0))
    effects = np.linalg.lstsq(columns, np.log(values) if logs else values, rcond=None)[0][:count]
    own = (effects - effects.mean())[machines]
    return np.asarray(values / np.exp(own) if logs else values - own, dtype=np.float64)


class Weighted(Struct, frozen=True, eq=False):
    """The values, each with its stratum among those that have any, the strata's shares, and centred columns.

    ``strata`` are the positions of those strata in the suite, ``sizes`` the numbers of configurations that they
    represent.
    """

    values: FloatArray
    owners: Index
    shares: FloatArray
    columns: FloatArray
    strata: Index
    sizes: Index

    @property
    def weights(self) -> FloatArray:
        """The weights of the values; they sum to 1."""
        return np.asarray((self.shares / np.bincount(self.owners))[self.owners])

    @property
    def single(self) -> int:
        """The number of strata that have only one value but several configurations."""
        return int(np.count_nonzero((np.bincount(self.owners) == 1) & (self.sizes > 1)))

    def on(self, scale: SuiteScale) -> FloatArray:
        """The values on a scale."""
        return np.log(self.values) if scale is SuiteScale.LOG else self.values

    def mean(self, scale: SuiteScale) -> MeanEstimate:
        """The mean over the space on a scale, with the error that remains after the columns."""
        return assisted_mean(self.on(scale), self.owners, self.shares, self.columns)


def weighted(suite: Suite, found: MeasuredSuite, columns: FloatArray) -> Weighted:
    """The values with their weights; strata without a value are left out, and the others represent them."""
    strata, owners = np.unique(suite.owners[found.places], return_inverse=True)
    shares = suite.shares[strata]
    sizes = np.array([suite.strata[int(number)].weight for number in strata], dtype=np.intp)
    return Weighted(found.values, owners.ravel(), shares / shares.sum(), columns[found.places], strata, sizes)


def stratum_estimates(
    suite: Suite, found: MeasuredSuite, given: Weighted, scale: SuiteScale, unvaried: Mapping[int, str]
) -> tuple[StratumEstimate, ...]:
    """Each stratum's mean; its interval is from its own deviation, relative on the log scale.

    ``unvaried`` strata, with the settings that their runs share, have no interval: it would be for these settings only.
    """
    means = stratum_means(given.values, given.owners, given.shares)
    spread = stratum_means(given.on(scale), given.owners, given.shares)
    counts = np.bincount(given.owners)
    by_stratum = {int(stratum): place for place, stratum in enumerate(given.strata)}
    runs = np.bincount(suite.owners[found.places], weights=found.runs, minlength=len(suite.strata))
    estimates = []
    for number, stratum in enumerate(suite.strata):
        estimate, interval, reason = None, None, None
        if (place := by_stratum.get(number)) is not None:
            estimate, on_scale = means[place].estimate, spread[place].interval()
            reason = _no_interval(int(counts[place]), unvaried.get(number), on_scale)
            if on_scale is not None and reason is None:
                interval = _around(estimate, (on_scale[1] - on_scale[0]) / 2.0, scale)
        size = len(stratum.configurations)
        estimates.append(
            StratumEstimate(stratum.setting, stratum.weight, estimate, interval, size, int(runs[number]), reason)
        )
    return tuple(estimates)


_FEWEST = 3


def _no_interval(values: int, shared: str | None, interval: tuple[float, float] | None) -> str | None:
    if shared is not None and values > 1:
        return f"all runs have {shared}"
    if values < _FEWEST:
        return f"{counted(values, 'configuration')}: too few"
    return "equal values" if interval is None else None


def unvaried_settings(suite: Suite, space: Space, options: Sequence[str], found: MeasuredSuite) -> dict[int, str]:
    """The settings of important ``options`` that all runs of a stratum share though it has others, by stratum."""
    shared: dict[int, list[str]] = {}
    owners = suite.owners[found.places].tolist()
    for name in options:
        possible = Counter(
            _without(each.setting, name) for each in population(space, (*suite.options, name)).combinations
        )
        seen: dict[int, set[str]] = {}
        for place, owner in zip(found.places.tolist(), owners, strict=True):
            configuration = suite.configurations[place]
            text = setting_text(configuration[name]) if name in configuration else "(inactive)"
            seen.setdefault(owner, set()).add(f"{name}={text}")
        for owner, settings in seen.items():
            if len(settings) == 1 < possible[suite.strata[owner].setting]:
                shared.setdefault(owner, []).extend(settings)
    return {owner: ", ".join(settings) for owner, settings in shared.items()}


def _without(setting: Configuration, name: str) -> Configuration:
    return Configuration({other: value for other, value in setting.items() if other != name})


def space_mean(given: Weighted) -> SpaceMean:
    """The arithmetic mean over the space: the weighted mean of the strata's, whose deviations may differ."""
    found = stratified_mean(given.values, given.owners, given.shares)
    return SpaceMean(found.estimate, found.interval())


def geometric_mean(given: Weighted) -> SpaceMean:
    """The geometric mean over the space: the regression estimate of the mean logarithm, transformed back."""
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


RANDOM = "random sample"
FULL = "full data set"
PARTIAL = "partial data set"
_POINTS = 60
_BOX = np.array([0.25, 0.5, 0.75])


def agreement(given: Weighted, others: FloatArray, kind: str, scale: SuiteScale, margin: float) -> Agreement:
    """The agreement of the suite's weighted values with others.

    ``margin`` is a fraction: on the log scale, means are equivalent if their ratio is from 1 / (1 + margin) to
    1 + margin; otherwise, if their difference is within margin times the others' mean size. The power of the
    Mann-Whitney test is for a shift of that size.
    """
    compared = np.log(others) if scale is SuiteScale.LOG else others
    allowed = math.log1p(margin) if scale is SuiteScale.LOG else margin * float(np.mean(np.abs(others)))
    spread = float(np.std(compared))
    shift = allowed / spread if spread > 0.0 else 0.0
    return Agreement(
        kind=kind,
        values=len(others),
        mean=float(np.mean(others)),
        geometric_mean=math.exp(float(np.mean(compared))) if scale is SuiteScale.LOG else None,
        ks=ks_distance(given.values, given.weights, others),
        range=range_covered(given.values, others),
        mann_whitney=mann_whitney(given.values, given.weights, others, shift),
        equivalence=equivalence(given.mean(scale), _mean(compared, kind), allowed) if allowed > 0.0 else None,
        pairs=quantile_pairs(given.values, given.weights, others, min(_POINTS, len(others))),
        boxes=(_box("suite", given.values, given.weights), _box(kind, others, np.ones(len(others)))),
    )


def _mean(values: FloatArray, kind: str) -> MeanEstimate:
    """The others' mean: for all configurations without a sampling error, for a sample with one."""
    if kind == FULL:
        return MeanEstimate(float(np.mean(values)), 0.0, math.inf)
    return stratified_mean(values, np.zeros(len(values), dtype=np.intp), np.ones(1))


def _box(name: str, values: FloatArray, weights: FloatArray) -> Box:
    lower, median, upper = Ecdf.of(values, weights).quantiles(_BOX).tolist()
    return Box(name, float(values.min()), lower, median, upper, float(values.max()))
