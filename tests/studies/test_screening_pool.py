"""A screening in which one option dominates, on machines that share its design: the first with enough runs looks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.campaign import campaign
from hati.core import Budget, Evidence, Run, StudyId, Task, generator
from hati.studies.screening import Isolation, ModelChoice, ModelScreening, choose_followed, is_flip, read_choice
from hati.studies.screening.planning.pilot import UntilFailure
from hati.studies.screening.planning.tasks import STAGE, machine_share, of_pool
from hati.testing import FakeEngine, MemoryStore

SPACE, RUNS, LOOK = space(10), 96, 16
STUDY = StudyId.of("screening", {}, 1, "pool")


def study(machines: int = 2) -> ModelScreening:
    choice = of_pool(choose_followed(SPACE, RUNS, generator(1, "design")), machines)
    assert isinstance(choice, ModelChoice)
    return ModelScreening(STUDY, "s", BENCHMARK, LATENCY, "1", SPACE, choice)


def engine(machine: int) -> FakeEngine:
    """Machine 1 takes 20 % longer; option a takes 25 times as long; b takes 20 % less where a is off."""

    def value(task: Task) -> dict[str, list[float]]:
        log = math.log(25.0) if task.configuration["a"] else math.log(0.8) * float(bool(task.configuration["b"]))
        noise = 0.02 * float(generator(3, task.id).standard_normal())
        return {"latency": [(1.0, 1.2)[machine] * math.exp(log + noise)]}

    return FakeEngine(value, machine="ab"[machine])


def in_turn(order: Sequence[int], at_once: int) -> Evidence:
    """The evidence of machines that make some runs each, in an order that is repeated, until none has any left."""
    screened, store = study(), MemoryStore()
    idle = 0
    while idle < len(order):
        idle = 0
        for machine in order:
            plan = machine_share(screened, store.evidence(STUDY), machine, 2).at_most(at_once)
            idle += not plan
            for run in engine(machine).run(plan.tasks):
                store.record(run)
    return store.evidence(STUDY)


def at_worse(runs: Sequence[Run]) -> int:
    return sum(bool(run.task.configuration["a"]) for run in runs)


def test_of_machines_one_after_the_other_the_first_looks() -> None:
    screened, store, orders = study(), MemoryStore(), []
    assert (screened.choice.look, screened.choice.machines) == (LOOK, 2)
    isolation = Isolation(STUDY, BENCHMARK, "1", SPACE)
    for machine in (0, 1):
        known = -1
        while known < len(store.evidence(STUDY).runs):
            known = len(store.evidence(STUDY).runs)
            until = UntilFailure(screened, isolation, machine, 2, before=store.evidence(STUDY))
            campaign(until, engine(machine), store, Budget(runs=RUNS))
        orders.append(len(store.evidence(STUDY).runs))
    evidence = store.evidence(STUDY)
    assert LOOK < orders[0] < orders[1] <= RUNS
    assert 4 <= at_worse(evidence.runs[:LOOK]) == at_worse(evidence.runs) <= 12
    assert {run.machine for run in evidence.stage(STAGE).runs[:LOOK]} == {"a"}
    assert {run.machine for run in evidence.runs} == {"a", "b"}
    assert not screened.plan(evidence)
    found = screened.conclude(evidence)
    assert found.important == ("a", "b")
    assert not any("not made" in warning for warning in found.warnings)


@pytest.mark.parametrize("at_once", [1, 5])
def test_machines_at_the_same_time_do_not_wait_for_each_other(at_once: int) -> None:
    evidence, screened = in_turn((0, 1), at_once), study()
    assert not screened.plan(evidence)
    assert RUNS - 4 <= len(evidence.runs) <= RUNS
    assert at_worse(evidence.runs[2 * LOOK :]) == 0
    assert 8 <= at_worse(evidence.runs) <= 2 * LOOK - 8
    assert any(is_flip(run.task) for run in evidence.runs)
    found = screened.conclude(evidence)
    assert found.important == ("a", "b")
    assert found.dominating is not None
    assert found.dominating.narrowed is not None
    assert not any("not made" in warning for warning in found.warnings)


def test_a_machine_stops_at_the_look_to_read_what_the_others_have_run() -> None:
    store, isolation = MemoryStore(), Isolation(STUDY, BENCHMARK, "1", SPACE)
    campaign(UntilFailure(study(), isolation, 1, 2), engine(1), store, Budget(runs=RUNS))
    assert len(store.evidence(STUDY).runs) == LOOK


def test_a_machine_with_few_runs_does_not_look() -> None:
    choice = study(4).choice
    assert (choice.look, choice.machines) == (0, 0)
    assert read_choice(study(2).choice.to_json()) == study(2).choice
