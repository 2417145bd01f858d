"""How often gates err, and what they find, by simulation; with confirmation and early stopping on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
)
from hati.studies.comparison import Question, Verdict
from hati.studies.gate import Cell, Gate, GateConclusion, gate_id
from hati.testing import FakeEngine, MemoryStore

pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
OLD = Revision("old", RevisionKind.DIRECTORY)
NEW = Revision("new", RevisionKind.DIRECTORY)
STRATA = tuple(
    Cell(
        MAIN, Configuration(dict(zip("abc", setting, strict=True))), Assignment(dict(zip("abc", setting, strict=True)))
    )
    for setting in product((False, True), repeat=3)
)
ALPHA = 0.05
Draw = Callable[[np.random.Generator], float]


class Quick(MemoryStore):
    """Without looking for a task in a list: gates never make one twice."""

    def record(self, run) -> bool:  # type: ignore[no-untyped-def]
        self.kept.append(run)
        return True


def simulated(seed: int, draw: Draw, change: Callable[[Configuration], float], rounds: int = 24) -> GateConclusion:
    question = Question(alpha=ALPHA)
    study = gate_id(STRATA, OLD, NEW, question, seed, "m")
    gate = Gate(study, OLD, NEW, STRATA, question, Budget(runs=rounds * 2 * len(STRATA)))
    rng = np.random.default_rng([seed, 77])

    def measured(task: Task) -> dict[str, list[float]]:
        level = change(task.configuration) if task.revision == "new" else 1.0
        return {"time": [float(level * np.exp(draw(rng)))]}

    return campaign(gate, FakeEngine(measured), Quick(), gate.budget)


NOISES: dict[str, Draw] = {
    "normal": lambda rng: float(rng.normal(0.0, 0.03)),
    "t3": lambda rng: float(0.02 * rng.standard_t(3)),
    "bimodal": lambda rng: float(rng.normal(0.1 * rng.integers(2), 0.01)),
}


@pytest.mark.parametrize("noise", NOISES)
def test_gates_of_the_same_alarm_no_more_often_than_they_say(noise: str) -> None:
    campaigns = 1000 if noise == "normal" else 200
    alarms = 0
    for seed in range(campaigns):
        found = simulated(seed, NOISES[noise], lambda _: 1.0)
        alarms += any(row.change.told for row in found.rows) or any(
            each.comparison.change.told for each in found.strata
        )
    assert alarms <= stats.binom.ppf(0.99, campaigns, ALPHA)


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        (lambda _: 1.05, 0.9),
        (lambda configuration: 1.3 if configuration["a"] and configuration["b"] and configuration["c"] else 1.0, 0.9),
    ],
    ids=["5 % in all strata", "30 % in one of eight"],
)
def test_what_gates_find(change: Callable[[Configuration], float], needed: float) -> None:
    campaigns = 100
    found = [simulated(seed, NOISES["normal"], change).verdict is Verdict.SLOWER for seed in range(campaigns)]
    assert sum(found) >= needed * campaigns
