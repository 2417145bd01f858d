"""A screening with a budget in time: at the interim look the rest is planned again by what runs cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.campaign import measured
from hati.core import Budget, Evidence, Metric, Reader, ReaderKind, StudyId, Task, generator, replace
from hati.studies.screening import (
    ModelChoice,
    ModelScreening,
    Pilot,
    affordable_runs,
    choose_followed,
    is_flip,
    read_choice,
)
from hati.studies.screening.planning.tasks import STAGE
from hati.testing import FakeMachines, MemoryStore

SPACE, BUDGET = space(10), Budget(seconds=300.0)
STUDY = StudyId.of("screening", {}, 1, "fake")
Cost = Callable[[Task], float]


def slow(task: Task) -> Mapping[str, Sequence[float]]:
    """Option a takes 25 times as long; b takes 20 % less where a is off."""
    log = math.log(25.0) if task.configuration["a"] else math.log(0.8) * float(bool(task.configuration["b"]))
    return {"latency": [math.exp(log + 0.02 * float(generator(3, task.id).standard_normal()))]}


def mild(task: Task) -> Mapping[str, Sequence[float]]:
    log = math.log(0.8) * float(bool(task.configuration["b"]))
    return {"latency": [math.exp(log + 0.02 * float(generator(3, task.id).standard_normal()))]}


def screened(
    value: Callable[[Task], Mapping[str, Sequence[float]]],
    cost: Cost,
    *,
    look: bool = True,
    store: MemoryStore | None = None,
) -> tuple[ModelScreening, Evidence]:
    """A screening of 300 s after its pilot runs, carried out by a machine on which a task takes a known time."""
    engine = FakeMachines(value, number=1, lasting=lambda task, _: cost(task))
    store = MemoryStore() if store is None else store
    pilot = Pilot(STUDY, BENCHMARK, LATENCY, "1", SPACE)
    known = pilot.conclude(measured(pilot, engine, store, BUDGET))
    runs = affordable_runs(BUDGET, known)
    choice = choose_followed(SPACE, runs, generator(1, "design"), seconds=BUDGET.seconds if look else 0.0)
    assert isinstance(choice, ModelChoice)
    study = ModelScreening(STUDY, "s", BENCHMARK, LATENCY, "1", SPACE, choice)
    return study, measured(study, engine, store, BUDGET)


def by_setting(task: Task) -> float:
    return 10.0 if task.configuration["a"] else 1.0


def test_time_that_the_better_setting_saves_buys_more_runs() -> None:
    study, evidence = screened(slow, by_setting)
    assert 270.0 < evidence.seconds < 300.0
    later = evidence.stage(STAGE).runs[study.choice.look :]
    assert len(later) > 100
    assert {run.task.configuration["a"] for run in later} == {False}
    assert any(is_flip(run.task) for run in evidence.runs)
    assert not study.plan(evidence)
    assert study.conclude(evidence).important == ("a", "b")
    said = study.rest(evidence)
    assert said is not None
    assert said.sentence.startswith("a explains ")
    assert said.sentence.endswith(f"{said.runs} runs follow, not {said.left}, all at a=false")


def longer(task: Task) -> float:
    """The runs of pilots take a third of the time of others."""
    return 1.0 if task.stage == "pilot" else 3.0


def shorter(task: Task) -> float:
    return 6.0 if task.stage == "pilot" else 2.0


@pytest.mark.parametrize(("cost", "words"), [(longer, "runs take more time"), (shorter, "runs take less time")])
def test_runs_that_take_another_time_than_the_pilots_have_a_design_of_their_own(cost: Cost, words: str) -> None:
    study, evidence = screened(mild, cost)
    assert not study.plan(evidence)
    assert 270.0 < evidence.seconds < 300.0
    assert sum(is_flip(run.task) for run in evidence.runs) >= 10
    rest = study.rest(evidence)
    assert rest is not None
    assert rest.dominance is None
    assert rest.sentence.startswith(words)
    found = study.conclude(evidence)
    assert found.important == ("b",)
    assert not any("not made" in warning for warning in found.warnings)
    assert study.narrowed(evidence) is None


@pytest.mark.parametrize("cost", [by_setting, longer, shorter])
def test_a_budget_in_time_limits_all_runs_together(cost: Cost) -> None:
    """Pilots, the design and its follow-up; the last run may exceed the budget by half of its own time."""
    store = MemoryStore()
    screened(slow, cost, store=store)
    evidence = store.evidence(STUDY)
    stages = {run.task.stage for run in evidence.runs}
    assert {"pilot", STAGE} < stages
    assert sum(run.seconds for run in evidence.runs) <= BUDGET.seconds + max(run.seconds for run in evidence.runs) / 2


def test_runs_of_the_expected_time_keep_the_design() -> None:
    study, evidence = screened(mild, lambda _: 4.0)
    assert study.choice.look
    assert study.rest(evidence) is None
    assert {run.task.id for run in evidence.stage(STAGE).runs} == {task.id for task in study.tasks}


def test_without_a_time_for_the_look_a_third_of_the_design_is_not_made() -> None:
    study, evidence = screened(mild, longer, look=False)
    assert study.plan(evidence)
    assert not any(is_flip(run.task) for run in evidence.runs)


def test_a_short_design_looks_where_time_may_buy_more() -> None:
    choice = choose_followed(SPACE, 24, generator(1, "design"), seconds=60.0)
    assert isinstance(choice, ModelChoice)
    assert (choice.look, choice.seconds) == (16, 60.0)
    assert read_choice(choice.to_json()) == choice
    assert "seconds" not in choose_followed(SPACE, 64, generator(1, "design")).to_json()


def test_time_that_a_small_space_cannot_use_is_said_to_be_left_over() -> None:
    """All 32 configurations at the better setting are run twice; 98 runs are too few for a third time."""
    choice = choose_followed(space(6), 40, generator(1, "design"), seconds=120.0)
    assert isinstance(choice, ModelChoice)
    study = ModelScreening(STUDY, "s", BENCHMARK, LATENCY, "1", space(6), choice)
    engine = FakeMachines(slow, number=1, lasting=lambda *_: 1.0)
    evidence = measured(study, engine, MemoryStore(), Budget(seconds=120.0))
    rest = study.rest(evidence)
    assert rest is not None
    assert rest.runs == len(evidence.runs) - study.choice.look
    assert rest.spare > 0
    assert rest.sentence.endswith(
        f": {rest.runs} runs follow, not {rest.left}, all at a=false; "
        f"the budget has {rest.spare} more, too few for another repetition"
    )
    assert ": 1 run follows, not 9;" in replace(rest, runs=1, left=9, dominance=None).sentence


MEMORY = Metric("memory", "s")
BOTH = replace(BENCHMARK, metrics=(LATENCY, MEMORY), reader=Reader(ReaderKind.HATI))


def slow_with_memory(task: Task) -> Mapping[str, Sequence[float]]:
    return {**slow(task), "memory": mild(task)["latency"]}


def test_another_metric_of_a_narrowed_screening_plans_no_rest_of_its_own() -> None:
    store = MemoryStore()
    first, evidence = screened(slow_with_memory, by_setting, store=store)
    latency = replace(first, benchmark=BOTH)
    memory = replace(latency, metric=MEMORY)
    assert latency.narrowed(evidence) is not None
    assert memory.rest(evidence) is None
    assert not memory.plan(evidence)
    found = memory.conclude(evidence)
    assert found.important == ("b",)
    assert len(found.points) == sum(run.task.stage != "pilot" for run in evidence.runs)
    assert not any("not made" in warning for warning in found.warnings)


def test_an_interrupted_rest_is_continued_as_the_metric_of_the_look_planned_it() -> None:
    first, evidence = screened(slow_with_memory, by_setting)
    latency = replace(first, benchmark=BOTH)
    memory = replace(latency, metric=MEMORY)
    some = Evidence(evidence.runs[: len(evidence.runs) - 120])
    assert latency.rest(some) is not None
    assert memory.plan(some) == latency.plan(some)
    assert memory.due(some) == latency.due(some)
