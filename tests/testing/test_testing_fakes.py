"""What stands in for an engine and a store in tests."""

from __future__ import annotations

from hati.core import Configuration, StudyId, Task, Workload
from hati.testing import FakeEngine, MemoryStore


def a_task(repetition: int, study: str = "study") -> Task:
    return Task(study, "design", "good", Configuration({"level": 2}), "revision", Workload(), repetition)


def test_the_fake_is_deterministic_and_keeps_its_books() -> None:
    def engine() -> FakeEngine:
        return FakeEngine(lambda one: {"pages": [one.repetition, 7.0]}, units={"pages": "page"}, warmup=1)

    plan = (a_task(3), a_task(1))
    first, second = list(engine().run(plan)), list((kept := engine()).run(plan))
    assert first == second
    assert kept.tasks == list(plan)
    observations = first[0].of("pages")
    assert observations is not None
    assert (observations.unit, list(observations.values), observations.warmup) == ("page", [3.0, 7.0], 1)
    assert first[0].started < first[1].started


def test_the_store_keeps_the_first_run_of_a_task_and_tells_studies_apart() -> None:
    mine, other = StudyId("kind", "{}", 1, "fake"), StudyId("kind", "{}", 2, "fake")
    plan = (a_task(2, mine.key), a_task(1, mine.key), a_task(1, other.key))
    first = list(FakeEngine(lambda _: {"time": [1.0]}).run(plan))
    again = list(FakeEngine(lambda _: {"time": [2.0]}).run(plan))
    store = MemoryStore()
    assert [store.record(run) for run in (*first, *again)] == [True] * 3 + [False] * 3
    assert store.evidence(mine).runs == tuple(first[:2])
    assert store.evidence(other).runs == tuple(first[2:])
