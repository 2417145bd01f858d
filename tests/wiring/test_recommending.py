"""What a recommendation takes from a screening."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from hati.core import Benchmark, Metric, Reader, ReaderKind, Run, Task, generator
from hati.space import Option, Space
from hati.studies.recommendation import plan_recommendation
from hati.studies.screening import choose, screening, study_id
from hati.testing import FakeEngine, MemoryStore
from hati.wiring.screening.recommendation import as_findings

TIME = Metric("time", "s")
BENCHMARK = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
SPACE = Space(tuple(Option(name, ("off", "on"), default="off") for name in "abcdef"))


def made(tasks: tuple[Task, ...]) -> Iterator[Run]:
    """a saves 5 %; of two machines, each with about half of the runs, one is 30 % slower, and both get slower."""
    machines = generator(1, "machines").integers(0, 2, len(tasks))
    for place, (task, machine) in enumerate(zip(tasks, machines, strict=True)):
        noise = 0.003 * float(generator(7, task.id).standard_normal())
        slower = math.exp(0.3 * machine + 0.005 * place + noise)
        value = slower * (0.95 if task.configuration["a"] == "on" else 1.0)
        engine = FakeEngine(lambda _, value=value: {"time": [value]}, machine=f"m{machine}")  # type: ignore[misc]  # a default binds
        yield from engine.run((task,))


def test_gains_are_estimated_within_machines_and_in_addition_to_a_drift() -> None:
    asked = study_id(
        subject="program", revision="1", benchmark=BENCHMARK, space=SPACE, budget="64", seed=1, machine="several"
    )
    study = screening(
        study=asked,
        subject="program",
        benchmark=BENCHMARK,
        metric=TIME,
        revision="1",
        space=SPACE,
        choice=choose(len(SPACE.options), 64),
    )
    store = MemoryStore(list(made(study.tasks)))
    evidence = store.evidence(asked)
    findings = as_findings(study.conclude(evidence), study.measured(evidence), study.space)
    plan = plan_recommendation(SPACE, findings, 60, np.random.default_rng(1))
    assert [(one.option, one.gain) for one in plan.candidates] == [("a", pytest.approx(-math.log(0.95), abs=0.005))]
