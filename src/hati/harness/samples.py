"""The decisions of this room for whole samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import harmonic_mean

import numpy as np
from msgspec import Struct

from hati.core import InputError, Sample
from hati.harness.runs import (
    Aim,
    Allocation,
    Costs,
    QuantilePrecision,
    Sufficiency,
    allocation,
    best_observations,
    costs_of,
    sufficiency,
)
from hati.harness.steady import TOLERANCE, Steadiness, steadiness
from hati.stats import NestedVariance, nested_variance


class SteadyRun(Struct, frozen=True):
    """One run of a sample, counted from 0, and since when it is steady, counted from its first observation."""

    sample: Sample
    run: int
    found: Steadiness


class SufficientRun(Struct, frozen=True):
    """One run of a sample, counted from 0, and what its observations after warm-up give for a quantile."""

    sample: Sample
    run: int
    found: Sufficiency


class RunPlan(Struct, frozen=True):
    """How one sample's runs are best made.

    ``variance`` is None where nothing is known of that within runs; ``now`` keeps the observations that a run has now,
    ``best`` has those that cost least, None where that is not known; ``unknown`` says what is not known, and why.
    """

    sample: Sample
    variance: NestedVariance | None
    costs: Costs | None
    now: Allocation
    best: Allocation | None
    unknown: tuple[str, ...]


def steady_runs(samples: Iterable[Sample], tolerance: float = TOLERANCE) -> Iterator[SteadyRun]:
    """Since when each run is steady, its warm-up looked at too, whoever marked it."""
    for sample in samples:
        for number, run in enumerate(sample.runs):
            yield SteadyRun(sample, number, steadiness(run.observations.values, tolerance))


def sufficient_runs(samples: Iterable[Sample], wanted: QuantilePrecision) -> Iterator[SufficientRun]:
    """Whether each run's observations after warm-up are enough for a quantile."""
    for sample in samples:
        for number, values in enumerate(sample.steady):
            yield SufficientRun(sample, number, sufficiency(values, wanted))


def run_plan(sample: Sample, aim: Aim, observation_cost: float | None = None, run_cost: float | None = None) -> RunPlan:
    """How many observations in how many runs of each side find a change; costs in seconds where they are given."""
    costs = costs_of(sample, observation_cost, run_cost)
    unknown = [] if costs else ["what an observation costs: neither is the metric a time nor was wall time recorded"]
    now = _now(sample, aim, costs)
    try:
        variance = nested_variance(sample.steady)
    except InputError as error:
        return RunPlan(sample, None, costs, now, None, (*unknown, error.message))
    if variance.between is None:
        unknown.append("the variance between runs: there is one run")
    elif variance.between <= 0.0:
        unknown.append("the variance between runs is not shown to be above zero: longer runs cost less than more runs")
    number = best_observations(variance, costs) if costs else None
    best = allocation(number, variance.relative(number), aim, costs) if number else None
    return RunPlan(sample, variance, costs, now, best, tuple(unknown))


def _now(sample: Sample, aim: Aim, costs: Costs | None) -> Allocation:
    """With the observations of now, run means vary as they are seen to, whatever observations vary by within a run."""
    means = np.array([values.mean() for values in sample.steady])
    known = len(means) > 1 and means.mean() != 0.0
    relative = float(np.var(means, ddof=1) / means.mean() ** 2) if known else None
    return allocation(max(1, round(harmonic_mean(map(len, sample.steady)))), relative, aim, costs)
