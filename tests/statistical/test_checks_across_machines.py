"""Checks and bisections whose runs were made on two machines: what these differ by is never a change."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from scipy import stats

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Run,
    Task,
    replace,
)
from hati.studies.bisection import Bisection, bisection_id
from hati.studies.comparison import ChangeVerdict, Question
from hati.studies.gate import Cell, Gate, GateConclusion, gate_id
from hati.testing import FakeEngine, MemoryStore

pytestmark = pytest.mark.statistical

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
LINE = tuple(Revision(f"r{number:02}", RevisionKind.GIT) for number in range(9))
OLD, NEW = LINE[0], LINE[-1]
KERNELS = 1.25
"""The ratio of the machines by every kernel; the subject's differs from it by 4 %."""
RATIO = KERNELS * 1.04
STUDIES = 200
CHANGED = {ChangeVerdict.SLOWER, ChangeVerdict.FASTER}


class TwoMachines(FakeEngine):
    """Machines that draw each run; later revisions are on the slower one more often, by ``bias``."""

    def __init__(self, seed: int, bias: float, change: float = 1.0, ratio: float = RATIO) -> None:
        super().__init__(self._measured)
        self._rng = np.random.default_rng(seed)
        self._bias, self._change, self._ratio = bias, change, ratio
        self._slow = False

    def _measured(self, task: Task) -> dict[str, list[float]]:
        late = task.revision != OLD.id
        self._slow = self._rng.random() < 0.5 + (self._bias if late else -self._bias)
        level = (self._ratio if self._slow else 1.0) * (self._change if late else 1.0)
        return {"time": [level * float(np.exp(self._rng.normal(0.0, 0.02)))]}

    def run_at(self, task: Task, started: datetime, seconds: float, machine: str) -> Run:
        run = super().run_at(task, started, seconds, machine)
        return replace(run, machine="slow" if self._slow else "fast")


def checked(seed: int, bias: float, change: float = 1.0, ratio: float = RATIO) -> GateConclusion:
    cells = (Cell(MAIN, Configuration()),)
    study = Gate(gate_id(cells, OLD, NEW, Question(), seed, "pool"), OLD, NEW, cells, Question(), Budget(runs=96))
    return campaign(study, TwoMachines(seed, bias, change, ratio), MemoryStore(), study.budget)


@pytest.mark.acceptance
def test_no_check_takes_a_machine_for_a_change() -> None:
    """What is reported is what the noise does by itself: 2 in 2,000 such checks."""
    found = [checked(seed, 0.25) for seed in range(1, STUDIES + 1)]
    alike = [checked(seed, 0.25, ratio=1.0) for seed in range(1, STUDIES + 1)]
    reported, by_noise = ([each.verdict in CHANGED for each in some] for some in (found, alike))
    assert reported == by_noise
    assert sum(by_noise) <= stats.binom.ppf(0.999, STUDIES, Question().alpha)
    assert all(" of two machines, or of two states of one, and do" in each.warnings[0] for each in found)


@pytest.mark.acceptance
def test_checks_find_changes_all_the_same() -> None:
    assert sum(checked(seed, 0.25, 1.1).verdict is ChangeVerdict.SLOWER for seed in range(1, 21)) >= 18


@pytest.mark.acceptance
def test_no_bisection_takes_a_machine_for_a_change() -> None:
    for seed in range(1, 21):
        id_ = bisection_id(MAIN, Configuration(), TIME, LINE, Question(), seed, "pool")
        study = Bisection(id_, MAIN, Configuration(), TIME, LINE, Question(), Budget(runs=96))
        assert campaign(study, TwoMachines(seed, 0.25), MemoryStore(), study.budget).culprits == ()


def test_sides_on_two_machines_cannot_be_compared() -> None:
    with pytest.raises(MeasurementError) as raised:
        checked(1, 0.5)
    assert "of two machines" in raised.value.message
    assert "on one machine, which needs no bridge" in (raised.value.fix or "")
