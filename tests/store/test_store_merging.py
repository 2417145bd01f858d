"""Copies of a store that were continued apart are the same store again, in whichever order they are merged."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import (
    Configuration,
    Event,
    Happening,
    Machine,
    Metric,
    Observations,
    Outcome,
    Run,
    Size,
    Spot,
    StudyId,
    Task,
    Workload,
)
from hati.store import Selection, SqlStore, merge, open_store

METRIC = Metric("time", "s")
START = datetime(2026, 1, 1, tzinfo=UTC)


def study(machine: str) -> StudyId:
    return StudyId.of("measurement", {"a": 1}, 1, Machine((("name", machine),)).fingerprint)


def run(of: StudyId, repetition: int, value: float, second: int) -> Run:
    task = Task(of.key, "design", "main", Configuration(), "r", Workload(), repetition)
    return Run(
        task,
        of.machine,
        START + timedelta(seconds=second),
        0.1,
        Outcome.DONE,
        exit=0,
        observations=(Observations("time", "s", [value]),),  # type: ignore[arg-type]
    )


def fill(store: SqlStore, machine: str, runs: list[tuple[int, int]]) -> None:
    of = study(machine)
    store.begin(of, (METRIC,), Machine((("name", machine),)))
    for repetition, second in runs:
        store.record(run(of, repetition, 1.0 + second, second))
        spot = Spot("main", "time", "", "", machine)
        at = START + timedelta(seconds=second)
        store.add_events([Event(f"regression-{repetition}", Happening.SEEN, at, sizes={spot: Size(1.2, 1.1, 1.3)})])


def contents(store: SqlStore) -> tuple[object, ...]:
    studies = {(one.id, one.metrics, one.choice) for one in store.studies()}
    runs = {(one.task.id, one.started, one.observations) for one in store.runs(Selection())}
    return studies, runs, store.events()


_RUNS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=6)


@settings(max_examples=15, deadline=None)
@given(common=_RUNS, one=_RUNS, other=_RUNS, machines=st.tuples(st.sampled_from("ab"), st.sampled_from("ab")))
def test_either_order_yields_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    common: list[tuple[int, int]],
    one: list[tuple[int, int]],
    other: list[tuple[int, int]],
    machines: tuple[str, str],
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    origin = open_store(str(folder / "origin"))
    fill(origin, "a", common)
    origin.close()
    for name, machine, runs in (("one", machines[0], one), ("other", machines[1], other)):
        shutil.copy(folder / "origin", folder / name)
        changed = open_store(str(folder / name))
        fill(changed, machine, runs)
        changed.close()
    found = []
    for first, second in (("one", "other"), ("other", "one")):
        shutil.copy(folder / first, folder / "merged")
        merged, source = open_store(str(folder / "merged")), open_store(str(folder / second))
        merge(merged, source)
        again = merge(merged, source)
        assert (again.studies, again.runs, again.events) == (0, 0, 0)
        found.append(contents(merged))
        whole = {task for task, *_ in contents(source)[1]}  # type: ignore[attr-defined]
        assert whole <= {task for task, *_ in contents(merged)[1]}  # type: ignore[attr-defined]
        merged.close()
        source.close()
        for left in folder.glob("merged*"):
            left.unlink()
    assert found[0] == found[1]


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    spot = Spot("main", "time", "a=1", "", "m")
    event = Event("regression-1", Happening.SEEN, START, "study", "r0", "r1", {spot: Size(1.2, 1.1, 1.3)}, "", "")
    assert store.add_events([event, event]) == 1
    assert store.add_events([event]) == 0
    [back] = store.events()
    assert back == event
    assert back.id == event.id
