"""A sequential test on several machines, where how long a run takes says something about its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks.sequential import keeps

from hati.campaign import campaign
from hati.core import (
    Batch,
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    Metric,
    Plan,
    Reader,
    ReaderKind,
    Stopping,
    StudyId,
    Task,
)
from hati.harness import RULES
from hati.studies.comparison import Question
from hati.studies.paired import PairedComparison, PairedDesign, Variant, paired_id
from hati.testing import FakeMachines, MemoryStore

pytestmark = pytest.mark.statistical

TIME = Metric("time", "s")
OLD, NEW = (
    Variant(Benchmark(name, ("true",), Reader(ReaderKind.HATI), (TIME,)), Configuration()) for name in ("old", "new")
)
ALPHA, TOO_HIGH, RUNS, MACHINES = 0.05, 0.08, 24, 8
STUDIES = 2_000
"""Some hundred are enough where the rate is far from either."""


@dataclass
class Looks:
    """A comparison that ends at the first look at which it is decided: of equals, wrongly."""

    study: PairedComparison
    decided: bool = False

    @property
    def id(self) -> StudyId:
        return self.study.id

    def plan(self, evidence: Evidence) -> Plan:
        plan = Plan() if self.decided else self.study.plan(evidence)
        self.decided |= not plan and len(evidence.runs) < RUNS
        return plan

    def conclude(self, evidence: Evidence) -> bool:
        return self.decided


Loop = Callable[[Looks, FakeMachines, MemoryStore, Budget], bool]


def read_as_they_end(looks: Looks, engine: FakeMachines, store: MemoryStore, _: Budget) -> bool:
    """A campaign that looks at whatever has ended, as Hati's must not."""
    released: set[Batch[Task]] = set()
    runs = engine.completed()
    while plan := looks.plan(store.evidence(looks.id)):
        for batch in (*plan.batches, *plan.ahead):
            if engine.capacity() and batch not in released and len(batch.members) == 2:
                engine.submit(batch)
                released.add(batch)
        store.record(next(runs))
    return looks.decided


def false_alarms(loop: Loop) -> Iterator[bool]:
    """Which comparisons of equal variants are decided, where slow runs of the first take much longer."""
    rng = np.random.default_rng(20)
    design = PairedDesign(OLD, NEW, "r", "m", Question(ALPHA, 0.001), RULES[Stopping.ANYTIME])
    study = paired_id(OLD, NEW, "r", Stopping.ANYTIME, "", 1, "m")
    for _ in range(STUDIES):
        noise = rng.standard_normal((2, RUNS))

        def drawn(task: Task, noise: np.ndarray = noise) -> float:
            return float(noise[int(task.stage == "after"), task.repetition])

        def lasting(task: Task, _machine: int) -> float:
            return math.exp(4.0 * drawn(task)) if task.stage == "before" else 0.1

        engine = FakeMachines(lambda task: {"time": [math.exp(0.05 * drawn(task))]}, number=MACHINES, lasting=lasting)
        looks = Looks(PairedComparison(study, design, (TIME,), Budget(runs=RUNS)))
        yield loop(looks, engine, MemoryStore(), Budget(runs=RUNS))


def test_comparisons_of_equals_keep_their_level_where_fast_runs_come_first() -> None:
    found = keeps(false_alarms(campaign), ALPHA, TOO_HIGH)
    assert found.held, found


@pytest.mark.acceptance
def test_read_as_runs_end_they_would_not() -> None:
    found = keeps(false_alarms(read_as_they_end), ALPHA, TOO_HIGH)
    assert not found.held
    assert found.trials < STUDIES, "undecided"
