"""Several machines: order of release, no barrier, budgets, and engines that lose, double and fail."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.campaign import Dispatcher, JobMaker, ReleaseOrder, campaign
from hati.core import (
    Batch,
    BatchOrder,
    Benchmark,
    Budget,
    Configuration,
    Engine,
    Evidence,
    InputError,
    Job,
    MeasurementError,
    Metric,
    Plan,
    Reader,
    Run,
    StudyId,
    Task,
    Workload,
)
from hati.engine import SerialEngine
from hati.testing import FakeEngine, FakeMachines, MemoryStore

ID = StudyId.of("pairs", {}, 1, "m")


def a_task(number: int, stage: str = "a") -> Task:
    return Task(ID.key, stage, "b", Configuration(), "r", Workload(), number)


def pair(number: int) -> Batch[Task]:
    return Batch((a_task(number, "a"), a_task(number, "b")))


@dataclass
class Pairs:
    """Wants pairs, ``at_once`` before each look; keeps what it was shown."""

    wanted: int
    at_once: int = 1
    ahead: int = 0
    enough: int = 10**6
    id: StudyId = ID
    shown: list[tuple[Task, ...]] = field(default_factory=list)

    def plan(self, evidence: Evidence) -> Plan:
        self.shown.append(tuple(run.task for run in evidence.runs))
        if len(evidence.runs) >= 2 * self.enough:
            return Plan()
        left = [each for each in map(pair, range(self.wanted)) if not evidence.known.issuperset(map(_id, each.members))]
        cut = [Batch(tuple(t for t in each.members if t.id not in evidence.known)) for each in left]
        return Plan(tuple(cut[: self.at_once]), ahead=tuple(cut[self.at_once : self.at_once + self.ahead]))

    def conclude(self, evidence: Evidence) -> list[int]:
        return [run.task.repetition for run in evidence.runs]


def _id(task: Task) -> str:
    return task.id


def one(task: Task) -> dict[str, list[float]] | str:
    return "no" if task.repetition % 3 == 2 else {"latency": [1.0]}


def machines(number: int = 3, seed: int = 1) -> FakeMachines:
    """The later a task the faster, and the slowest machine first."""
    return FakeMachines(one, number=number, lasting=lambda task, _: math.exp(-0.7 * ((task.repetition * seed) % 7)))


@given(st.integers(0, 20), st.integers(1, 5), st.integers(0, 9), st.integers(1, 6), st.integers(1, 6))
def test_every_look_is_at_all_that_was_released_before_something(
    wanted: int, at_once: int, ahead: int, number: int, seed: int
) -> None:
    study, store = Pairs(wanted, at_once, ahead), MemoryStore()
    found = campaign(study, machines(number, seed), store, Budget())
    assert found == [each for number in range(wanted) for each in (number, number)]
    for shown in study.shown:
        assert [(task.repetition, task.stage) for task in shown] == [
            (place // 2, "ab"[place % 2]) for place in range(len(shown))
        ]
        assert len(shown) % 2 == 0


@given(st.integers(1, 6), st.integers(0, 12), st.integers(1, 4))
def test_a_killed_campaign_of_several_machines_goes_on_with_a_prefix(seed: int, killed_after: int, number: int) -> None:
    class Killed(MemoryStore):
        def record(self, run: Run) -> bool:
            if len(self.kept) == killed_after:
                raise KeyboardInterrupt
            return super().record(run)

    store = Killed()
    with contextlib.suppress(KeyboardInterrupt):
        campaign(Pairs(6, 2, 4), machines(number, seed), store, Budget())
    store = MemoryStore(store.kept)
    if killed_after < 12:
        assert [run.task.repetition for run in store.kept] == [place // 2 for place in range(killed_after)]
    assert campaign(Pairs(6, 2, 4), machines(number, seed), store, Budget()) == [place // 2 for place in range(12)]


def test_no_machine_waits_while_there_is_something_to_do() -> None:
    engine = FakeMachines(one, number=4, lasting=lambda task, _: 100.0 if task.repetition == 0 else 1.0)
    campaign(Pairs(40, at_once=1, ahead=39), engine, store := MemoryStore(), Budget())
    ends = [run.started + timedelta(seconds=run.seconds) for run in store.kept]
    assert (max(ends) - min(run.started for run in store.kept)).total_seconds() == pytest.approx(200.0)


def test_a_study_that_has_enough_ends_what_is_out_and_keeps_what_was_under_way() -> None:
    engine = FakeMachines(one, number=3, lasting=lambda task, _: 1.0 + task.repetition)
    assert campaign(Pairs(40, 1, 5, enough=2), engine, MemoryStore(), Budget()) == [0, 0, 1, 1, 2, 2, 3]
    assert engine.capacity() == 3


@given(st.integers(1, 15), st.integers(1, 5))
def test_runs_are_limited_whatever_is_out(runs: int, number: int) -> None:
    engine = machines(number)
    assert len(campaign(Pairs(30, 2, 28), engine, MemoryStore(), Budget(runs=runs))) == runs
    assert len(engine.tasks) == runs


def test_machine_time_and_wall_time_are_limited() -> None:
    def spent(budget: Budget) -> Evidence:
        engine, store = FakeMachines(one, number=4, lasting=lambda *_: 1.0), MemoryStore()
        campaign(Pairs(100, 100), engine, store, budget)
        return store.evidence(ID)

    by_machine, by_wall = spent(Budget(seconds=20.0)), spent(Budget(wall=20.0))
    assert by_machine.seconds == pytest.approx(20.0, abs=4 * 1.0)
    assert by_machine.wall_seconds == pytest.approx(5.0, abs=1.0)
    assert by_wall.wall_seconds == pytest.approx(20.0, abs=1.0)
    assert by_wall.seconds == pytest.approx(80.0, abs=4 * 1.0)


@pytest.mark.parametrize("number", [2, 4, 8])
@pytest.mark.parametrize("budget", [Budget(seconds=60.0), Budget(wall=30.0)])
def test_runs_that_wait_for_a_slow_one_are_paid_for(number: int, budget: Budget) -> None:
    slow, fast = 50.0, 1.0
    engine = FakeMachines(one, number=number, lasting=lambda task, _: slow if task == a_task(0) else fast)
    campaign(Pairs(400, 1, 399), engine, store := MemoryStore(), budget)
    others = [run for run in store.kept if run.task.repetition > 0]
    assert sum(run.seconds for run in others) <= min(budget.seconds, (number - 1) * budget.wall) + number * fast
    assert len(others) > 2 * number


@pytest.mark.parametrize("runs", [20, 21])
def test_runs_that_wait_are_counted(runs: int) -> None:
    engine = FakeMachines(one, number=3, lasting=lambda task, _: 50.0 if task == a_task(0) else 1.0)
    campaign(Pairs(400, 1, 399), engine, MemoryStore(), Budget(runs=runs))
    assert len(engine.tasks) == runs


class TestReleaseOrder:
    def runs(self, *tasks: Task) -> list[Run]:
        return list(FakeEngine(one).run(tasks))

    def test_the_oldest_batch_holds_back_all_others_failures_included(self) -> None:
        order = ReleaseOrder()
        for batch in map(pair, range(3)):
            order.release(batch)
        arrivals = self.runs(*pair(2).members, *pair(1).members, a_task(0, "b"), a_task(0, "a"))
        handed = [[run.task.repetition for run in order.arrived(run)] for run in arrivals]
        assert handed == [[], [], [], [], [0], [0, 1, 1, 2, 2]]
        assert (order.out, order.missing) == ((), 0)

    def test_a_second_run_of_what_waits_is_dropped_and_one_that_nobody_waits_for_is_not(self) -> None:
        order = ReleaseOrder()
        order.release(pair(0))
        order.release(pair(1))
        waiting, again, stranger = self.runs(a_task(1), a_task(1), a_task(9))
        assert (order.arrived(waiting), order.arrived(again), order.arrived(stranger)) == ((), (), (stranger,))
        assert order.settle() == (waiting,)

    def test_what_is_withdrawn_holds_nothing_back_and_loses_nothing(self) -> None:
        order, batches = ReleaseOrder(), [pair(number) for number in range(3)]
        for batch in batches:
            order.release(batch)
        one, other, later = self.runs(*pair(1).members, a_task(2))
        assert [order.arrived(run) for run in (one, other, later)] == [(), (), ()]
        assert order.forget(batches[2]) == ()
        assert order.forget(batches[0]) == (one, other, later)
        assert order.out == ()


class Faulty(FakeMachines):
    """Machines of which something goes wrong with each fifth run."""

    fault = ""

    def completed(self) -> Iterator[Run]:
        for number, run in enumerate(super().completed(), 1):
            if number % 5 == 0 and self.fault == "fail":
                raise MeasurementError("the network is gone")
            if number % 5 or self.fault != "lose":
                yield run
            if number % 5 == 0 and self.fault == "double":
                yield run


@pytest.mark.parametrize("fault", ["lose", "double", "fail"])
def test_runs_that_are_lost_doubled_or_broken_off_are_there_once_in_the_end(fault: str) -> None:
    store = MemoryStore()
    for _ in range(8):
        engine = Faulty(one, number=3)
        engine.fault = fault
        try:
            found = campaign(Pairs(8, 4, 4), engine, store, Budget())
        except MeasurementError as error:
            assert fault == "fail"
            assert error.message == "the network is gone"
        else:
            break
    assert sorted(found) == [place // 2 for place in range(16)]
    assert len({run.task.id for run in store.kept}) == len(store.kept) == 16


def test_an_engine_without_room_is_waited_for_and_not_given_up() -> None:
    class Full(FakeMachines):
        def capacity(self) -> int:
            return 0

    assert len(campaign(Pairs(4, 4), Full(one), MemoryStore(), Budget())) == 8


class Jobs(SerialEngine[Job]):
    """Takes jobs and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []

    def execute(self, job: Job, /) -> Run:
        self.jobs.append(job)
        return next(FakeEngine(one).run([job.task]))


def test_tasks_are_joined_with_their_benchmarks_and_sources() -> None:
    benchmark = Benchmark("b", ("true",), Reader("hati"), (Metric("latency", "s"),))
    engine = Jobs()
    dispatcher: Engine[Task] = Dispatcher(engine, JobMaker({"b": benchmark}, lambda revision: f"sources of {revision}"))
    assert campaign(Pairs(3, 3), dispatcher, MemoryStore(), Budget()) == [0, 0, 1, 1, 2, 2]
    assert {(job.benchmark.name, job.sources) for job in engine.jobs} == {("b", "sources of r")}
    together = Batch(pair(0).members, BatchOrder.TOGETHER)
    dispatcher.submit(together)
    assert (dispatcher.capacity(), dispatcher.withdraw(together), dispatcher.capacity()) == (0, True, 1)
    with pytest.raises(InputError, match="no benchmark 'b'; there are: c"):
        Dispatcher(engine, JobMaker({"c": benchmark}, str)).submit(together)


class BrokenOff(FakeMachines):
    """Three machines, the first of which has a slow run, so that all later runs wait; broken off after 16 of these."""

    def __post_init__(self) -> None:
        self.number, self.lasting = 3, lambda task, _: 50.0 if task == a_task(0) else 1.0
        super().__post_init__()

    def completed(self) -> Iterator[Run]:
        for number, run in enumerate(super().completed()):
            if number == 16:
                raise MeasurementError("the network is gone")
            yield run


class Unreachable(BrokenOff):
    def withdraw(self, batch: Batch[Task]) -> bool:
        raise OSError("no route to the machine")


class FullStore(MemoryStore):
    def record(self, run: Run) -> bool:
        raise OSError("no space left")


@pytest.mark.parametrize(("at_once", "kept"), [(40, 16), (3, 4), (1, 0)])
def test_what_waits_is_kept_where_it_is_broken_off_as_far_as_the_next_look(at_once: int, kept: int) -> None:
    store = MemoryStore()
    with pytest.raises(MeasurementError):
        campaign(Pairs(40, at_once, 40 - at_once), BrokenOff(one), store, Budget())
    assert [run.task.repetition for run in store.kept] == [1 + place // 2 for place in range(kept)]
    assert len(campaign(Pairs(40, at_once), machines(), store, Budget())) == 80


@pytest.mark.parametrize("engine", [BrokenOff, Unreachable])
@pytest.mark.parametrize("store", [MemoryStore, FullStore])
def test_why_it_is_broken_off_is_said_whatever_fails_then(engine: type[BrokenOff], store: type[MemoryStore]) -> None:
    with pytest.raises(MeasurementError, match="the network is gone"):
        campaign(Pairs(40, 40), engine(one), store(), Budget())


def test_runs_that_are_next_at_the_same_time_are_all_kept_before_one_is_observed() -> None:
    def fail(run: Run, evidence: Evidence, plan: Plan) -> None:
        if run.task == a_task(0, "b"):
            raise KeyboardInterrupt

    engine = FakeMachines(one, number=3, lasting=lambda task, _: 9.5 if task.repetition == 0 else 1.0)
    with pytest.raises(KeyboardInterrupt):
        campaign(Pairs(40, 1, 39), engine, store := MemoryStore(), Budget(), fail)
    repetitions = [run.task.repetition for run in store.kept]
    assert repetitions[:2] == [0, 0]
    assert repetitions[2:] == [1 + place // 2 for place in range(len(repetitions) - 2)]
    assert len(repetitions) > 30
