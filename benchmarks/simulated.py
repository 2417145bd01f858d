"""Screenings of simulated programs, planned, run and concluded as `hati screen` does, without a store on a disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hati.core import Benchmark, Evidence, Metric, Reader, ReaderKind, StudyId, Task
from hati.space import Space
from hati.studies.screening import AnyChoice, AnyScreening, screening
from hati.testing import FakeEngine, MemoryStore

METRIC = Metric("latency", "s")
BENCHMARK = Benchmark("simulated", ("true",), Reader(ReaderKind.HATI), (METRIC,))

Coefficients = Mapping[tuple[str, ...], float]
"""Coefficients of the logarithm, by the options of each product term; options are coded from -1 to 1."""
Measure = Callable[[Task], Mapping[str, Sequence[float]]]


def planned(space: Space, choice: AnyChoice, seed: int) -> AnyScreening:
    """The screening of a space by a chosen design."""
    return screening(
        study=StudyId.of("screening", {}, seed, "simulated"),
        subject="simulated",
        benchmark=BENCHMARK,
        metric=METRIC,
        revision="1",
        space=space,
        choice=choice,
    )


def program(space: Space, coefficients: Coefficients, noise: float, rng: np.random.Generator) -> Measure:
    """The measurement of a program: a run has its configuration's value times noise, a deviation of the logarithm."""
    settings = {option.name: option.settings for option in space.options}
    active = {name for term in coefficients for name in term}

    def measure(task: Task) -> Mapping[str, Sequence[float]]:
        code = {}
        for name in active:
            middle = (len(settings[name]) - 1) / 2.0
            code[name] = (settings[name].index(task.configuration[name]) - middle) / middle
        log = sum(size * float(np.prod([code[name] for name in term])) for term, size in coefficients.items())
        return {METRIC.name: [math.exp(log + noise * rng.standard_normal())]}

    return measure


def made(plan: AnyScreening, measure: Measure) -> Evidence:
    """The evidence of all runs that a study plans, those of its follow-up included."""
    store = MemoryStore()
    while ahead := plan.plan(store.evidence(plan.id)):
        for run in FakeEngine(measure).run(ahead.tasks):
            store.record(run)
    return store.evidence(plan.id)
