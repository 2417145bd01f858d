"""The loop: complete, resumable, within its budget, never endless."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.campaign import campaign
from hati.core import Budget, Configuration, Evidence, Plan, Run, StudyId, Task, Workload, replace
from hati.testing import FakeEngine, FakeMachines, MemoryStore
from interrupts import run_until_killed

ID = StudyId.of("counting", {}, 1, "m")


@dataclass(frozen=True)
class Counting:
    """A study that wants so many runs and concludes with the number that it got."""

    wanted: int
    at_once: int
    id: StudyId = ID

    def plan(self, evidence: Evidence) -> Plan:
        tasks = [Task(ID.key, "s", "b", Configuration(), "r", Workload(), n) for n in range(self.wanted)]
        return Plan.of([t for t in tasks if t.id not in evidence.known][: self.at_once])

    def conclude(self, evidence: Evidence) -> int:
        return len(evidence.runs)


def one(task: Task) -> dict[str, list[float]]:
    return {"latency": [1.0]}


@given(st.integers(0, 30), st.integers(1, 7), st.integers(0, 30))
def test_a_killed_campaign_ends_with_the_same_tasks_once_each(wanted: int, at_once: int, killed_after: int) -> None:
    store, first, second = MemoryStore(), FakeEngine(one), FakeEngine(one)

    run_until_killed(Counting(wanted, at_once), first, store, Budget(), killed_after)
    assert campaign(Counting(wanted, at_once), second, store, Budget()) == wanted
    assert sorted(run.task.repetition for run in store.kept) == list(range(wanted))
    assert len(first.tasks) + len(second.tasks) == wanted


@given(st.integers(1, 20), st.integers(1, 7))
def test_runs_are_limited(budget: int, at_once: int) -> None:
    assert campaign(Counting(30, at_once), FakeEngine(one), MemoryStore(), Budget(runs=budget)) == budget


def test_time_is_limited_over_restarts_too() -> None:
    store, budget = MemoryStore(), Budget(seconds=1.1)
    assert campaign(Counting(30, 30), FakeEngine(one, seconds=0.4), store, budget) == 3
    assert campaign(Counting(30, 30), FakeEngine(one, seconds=0.4), store, budget) == 3


@given(st.floats(0.05, 5.0), st.floats(0.05, 5.0), st.integers(1, 7))
def test_a_budget_in_time_is_missed_by_half_a_run_at_most(limit: float, each: float, at_once: int) -> None:
    made = campaign(Counting(200, at_once), FakeEngine(one, seconds=each), MemoryStore(), Budget(seconds=limit))
    assert made >= 1
    most = 0.5 if made > 3 else 1.0
    assert made == 200 or abs(made * each - limit) <= most * each * (1.0 + 1e-9)


def test_a_first_run_with_a_long_build_does_not_end_the_campaign() -> None:
    class Building(FakeEngine):
        def completed(self) -> Iterator[Run]:
            for run in super().completed():
                yield replace(run, seconds=420.0 if len(self.tasks) == 1 else 1.0)

    assert campaign(Counting(300, 50), Building(one), MemoryStore(), Budget(seconds=600.0)) in {180, 181}


def test_failures_are_evidence() -> None:
    assert campaign(Counting(5, 2), FakeEngine(lambda task: "no"), MemoryStore(), Budget()) == 5


def test_an_engine_that_yields_nothing_new_ends_the_loop() -> None:
    class Deaf(FakeEngine):
        def completed(self) -> Iterator[Run]:
            return iter(())

    assert campaign(Counting(5, 2), Deaf(one), MemoryStore(), Budget()) == 0


def test_what_is_out_is_withdrawn_when_the_observer_fails() -> None:
    def fail(run: Run, evidence: Evidence, plan: Plan) -> None:
        raise KeyboardInterrupt

    engine = FakeMachines(one)
    with pytest.raises(KeyboardInterrupt):
        campaign(Counting(5, 5), engine, MemoryStore(), Budget(), fail)
    assert [run.task.repetition for run in engine.completed()] == [1]  # it was under way


class Watched(FakeEngine):
    """Says when its iterator is closed."""

    closed = False

    def completed(self) -> Iterator[Run]:
        try:
            yield from super().completed()
        finally:
            self.closed = True


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_iterator_of_an_engine_is_closed_when_the_observer_fails(error: type[BaseException]) -> None:
    engine = Watched(one)

    def fail(run: Run, evidence: Evidence, plan: Plan) -> None:
        raise error

    with pytest.raises(error) as raised:
        campaign(Counting(5, 5), engine, MemoryStore(), Budget(), fail)
    assert raised.tb is not None  # its frames hold the iterator
    assert engine.closed


def test_evidence_is_built_for_each_question_and_not_for_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    def build(runs: tuple[Run, ...] = ()) -> Evidence:
        built.append(len(runs))
        return Evidence(runs)

    monkeypatch.setattr("hati.campaign.Evidence", build)
    assert campaign(Counting(300, 300), FakeEngine(one), MemoryStore(), Budget(runs=400)) == 300
    assert sum(built) <= 3 * 300


@dataclass
class SharedStore(MemoryStore):
    """Another machine has recorded ``faster`` when the first run comes."""

    faster: tuple[Run, ...] = ()

    def record(self, run: Run) -> bool:
        if not self.kept:
            self.kept.extend(self.faster)
        return super().record(run)


@pytest.mark.parametrize("faster", [1, 3, 10])
def test_a_campaign_goes_on_where_another_was_faster(faster: int) -> None:
    study = Counting(10, 1)
    others = tuple(FakeEngine(one).run(Counting(10, 10).plan(Evidence()).tasks[:faster]))
    store, engine = SharedStore(faster=others), FakeEngine(one)
    assert campaign(study, engine, store, Budget(runs=10)) == 10
    assert len(engine.tasks) == 10 - faster + 1


def test_a_campaign_takes_time_as_its_number_of_runs() -> None:
    class Plain:
        def __init__(self) -> None:
            self.kept: list[Run] = []

        def evidence(self, study: StudyId) -> Evidence:
            return Evidence(tuple(self.kept))

        def record(self, run: Run) -> bool:
            self.kept.append(run)
            return True

    def taken(runs: int) -> float:
        began = process_time()
        assert campaign(Counting(runs, runs), FakeEngine(lambda task: "no"), Plain(), Budget()) == runs
        return process_time() - began

    assert taken(32_000) < 8 * min(taken(8_000) for _ in range(2))
