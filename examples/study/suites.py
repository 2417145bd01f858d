"""Screening suites compared with full data, and with random samples of the same size."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from examples.study.systems import System, numbers

from hati.core import FloatArray, generator
from hati.design import levels
from hati.design.suite import Suite, screening_suite
from hati.stats import MeanEstimate, equivalence, ks_distance, mann_whitney, range_covered, stratified_mean
from hati.studies.suite import MARGIN, SuiteConclusion
from hati.studies.suite.document import SuiteFigure, suite_figure
from hati.wiring.kinds.suite import SuiteRequest, SuiteType

ALLOWED = float(np.log1p(MARGIN))
LEVEL = 0.05


@dataclass(frozen=True)
class Size:
    """A suite of ``runs`` runs, with all combinations of the ``top`` options of a ranking."""

    top: int
    runs: int


SIZES = (Size(2, 4), Size(2, 8), Size(5, 32))
"""The RES paper's suites, with one run of every combination, and the smaller one with two: then it has a variance."""


@dataclass(frozen=True)
class Agreement:
    """The distances of many samples of one kind and size from full data.

    ``ks`` and ``range`` are means, ``error`` the root mean square error of the mean logarithm, ``missed`` the fraction
    whose geometric mean is off by more than the margin, ``worst`` the 95th percentile of that error, a fraction.
    ``rejected`` is the fraction that Mann and Whitney's test distinguishes from full data, ``detectable`` the shift in
    standard deviations that it finds with 80 % power. ``equivalent`` is the fraction shown equivalent to full data.
    """

    samples: int
    ks: float
    range: float
    error: float
    missed: float
    worst: float
    rejected: float
    detectable: float
    equivalent: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Values on the logarithmic scale with their weights, and their mean with its error."""

    logs: FloatArray
    weights: FloatArray
    mean: MeanEstimate


def agreement(samples: list[Sample], whole: FloatArray) -> Agreement:
    """How well samples agree with full data; both are logarithms."""
    truth = MeanEstimate(float(whole.mean()), 0.0, float("inf"))
    tests = [mann_whitney(sample.logs, sample.weights, whole, ALLOWED / float(whole.std())) for sample in samples]
    equal = [equivalence(sample.mean, truth, ALLOWED) for sample in samples]
    errors = np.abs([sample.mean.estimate - truth.estimate for sample in samples])
    return Agreement(
        samples=len(samples),
        ks=float(np.mean([ks_distance(sample.logs, sample.weights, whole) for sample in samples])),
        range=float(np.mean([range_covered(sample.logs, whole) for sample in samples])),
        error=float(np.sqrt(np.mean(errors**2))),
        missed=float(np.mean(errors > ALLOWED)),
        worst=float(np.expm1(np.quantile(errors, 0.95))),
        rejected=float(np.mean([test.p_value < LEVEL for test in tests])),
        detectable=float(np.median([test.detectable for test in tests])),
        equivalent=float(np.mean([found is not None and found.equivalent for found in equal])),
    )


def suites(system: System, ranking: tuple[str, ...], size: Size, count: int) -> list[Sample]:
    """Suites of the first options of a ranking, each with other settings of the rest."""
    space = system.place.project.space
    found = []
    for seed in range(1, count + 1):
        made = screening_suite(space, ranking[: size.top], size.runs, generator(seed, "suite"))
        logs = system.logs[numbers(levels(made.configurations, space) > 0)]
        found.append(Sample(logs, made.weights, _mean(logs, made)))
    return found


def random_samples(system: System, runs: int, count: int) -> list[Sample]:
    """Uniform random samples of different configurations."""
    rng = generator(1, "random samples", str(runs))
    alone, even = np.zeros(runs, dtype=np.intp), np.full(runs, 1.0 / runs)
    drawn = [rng.choice(system.logs, runs, replace=False) for _ in range(count)]
    return [Sample(logs, even, stratified_mean(logs, alone, np.ones(1))) for logs in drawn]


def compared(system: System, ranking: tuple[str, ...], size: Size, count: int, random: int) -> dict[str, object]:
    """Suites and random samples of the same size; ``nearer`` is how often a suite is nearer to full data."""
    of_suites, of_random = suites(system, ranking, size, count), random_samples(system, size.runs, random)
    near, far = ([ks_distance(s.logs, s.weights, system.logs) for s in samples] for samples in (of_suites, of_random))
    return {
        "top": size.top,
        "runs": size.runs,
        "options": list(ranking[: size.top]),
        "suite": asdict(agreement(of_suites, system.logs)),
        "random": asdict(agreement(of_random, system.logs)),
        "nearer": float(np.mean(np.array(near)[:, None] < np.array(far)[None, :])),
    }


def by_tool(system: System, ranking: tuple[str, ...], size: Size) -> tuple[SuiteConclusion, SuiteFigure]:
    """A suite by ``hati suite --against`` the full table, with the data of its figures."""
    request = SuiteRequest(
        seed=1,
        options=ranking[: size.top],
        runs=size.runs,
        against=str(system.source.table),
    )
    conclusion = SuiteType().prepare(system.place, request, fresh=False).make()
    figure = suite_figure(conclusion)
    assert figure is not None
    return conclusion, figure


def _mean(logs: FloatArray, made: Suite) -> MeanEstimate:
    return stratified_mean(logs, made.owners, made.shares)
