"""Copies of a store that were continued apart are the same store again, in whichever order they are merged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import (
    Configuration,
    Event,
    EventKind,
    Machine,
    Metric,
    Observations,
    Outcome,
    Run,
    SeriesKey,
    Size,
    StudyId,
    Task,
    Workload,
    replace,
)
from hati.store import Count, Selection, SqlStore, count_merge, merge, merging, open_store
from postgres import PostgresServer

METRIC = Metric("time", "s")
START = datetime(2026, 1, 1, tzinfo=UTC)


def study(machine: str, token: str = "") -> StudyId:
    first = StudyId.of("measurement", {"a": 1}, 1, Machine.of({"name": machine}).fingerprint)
    return first.numbered(1, token)


def run(of: StudyId, repetition: int, value: float, second: int) -> Run:
    task = Task(of.key, "design", "main", Configuration(), "r", Workload(), repetition)
    return Run(
        task,
        of.machine,
        START + timedelta(seconds=second),
        0.1,
        Outcome.DONE,
        exit=0,
        observations=(Observations("time", "s", [value]),),  # type: ignore[arg-type]  # an array is made of it
    )


def fill(store: SqlStore, machine: str, runs: list[tuple[int, int]], token: str = "") -> None:
    of = study(machine, token)
    store.begin(of, (METRIC,), Machine.of({"name": machine}))
    for repetition, second in runs:
        store.record(run(of, repetition, 1.0 + second, second))
        spot = SeriesKey("main", "time", "", "", machine)
        at = START + timedelta(seconds=second)
        store.add_events([Event(f"regression-{repetition}", EventKind.SEEN, at, sizes={spot: Size(1.2, 1.1, 1.3)})])


def contents(store: SqlStore) -> tuple[object, ...]:
    studies = tuple((one.id, one.metrics, one.choice) for one in store.studies())
    runs = {(one.task.id, one.started, one.observations) for one in store.runs(Selection())}
    return studies, runs, store.events()


def tasks(store: SqlStore) -> set[str]:
    return {run.task.id for run in store.runs(Selection())}


_RUNS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=6)
_MACHINES = st.tuples(st.sampled_from("ab"), st.sampled_from("ab"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that holds nothing yet."""
    file = tmp_path_factory.mktemp("empty") / "store"
    open_store(str(file)).close()
    return file


@settings(max_examples=10, deadline=None)
@given(common=_RUNS, one=_RUNS, other=_RUNS, machines=_MACHINES)
def test_either_order_yields_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    empty: Path,
    common: list[tuple[int, int]],
    one: list[tuple[int, int]],
    other: list[tuple[int, int]],
    machines: tuple[str, str],
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    shutil.copy(empty, folder / "origin")
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
        with closing(open_store(str(folder / "merged"))) as merged, closing(open_store(str(folder / second))) as source:
            before = tasks(merged)
            foreseen = count_merge(merged, source)
            assert tasks(merged) == before
            assert merge(merged, source) == foreseen
            assert merge(merged, source).taken == Count()
            found.append(contents(merged))
            assert tasks(merged) == before | tasks(source)
    assert found[0] == found[1]


@settings(max_examples=3, deadline=None)
@given(common=_RUNS, one=_RUNS, other=_RUNS)
def test_of_campaigns_begun_apart_every_run_is_kept(
    tmp_path_factory: pytest.TempPathFactory,
    empty: Path,
    common: list[tuple[int, int]],
    one: list[tuple[int, int]],
    other: list[tuple[int, int]],
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    for name, runs in (("one", one), ("other", other)):
        shutil.copy(empty, folder / name)
        with closing(open_store(str(folder / name))) as store:
            fill(store, "a", common, "both")
            fill(store, "a", runs, name)
    found = []
    for first, second in (("one", "other"), ("other", "one")):
        shutil.copy(folder / first, folder / "merged")
        with closing(open_store(str(folder / "merged"))) as merged, closing(open_store(str(folder / second))) as source:
            kept = {token: source.evidence(study("a", token)).runs for token in ("both", second)}
            kept[first] = merged.evidence(study("a", first)).runs
            merge(merged, source)
            assert {token: merged.evidence(study("a", token)).runs for token in kept} == kept
            assert len(merged.latest(study("a"))) == len(kept)
            found.append((contents(merged), merged.latest(study("a"))))
    assert found[0] == found[1]


@pytest.mark.xdist_group("postgres")
@settings(max_examples=5, deadline=None)
@given(one=_RUNS, other=_RUNS, machines=_MACHINES)
def test_sqlite_and_postgresql_are_merged_either_way(
    tmp_path_factory: pytest.TempPathFactory,
    empty: Path,
    served: tuple[SqlStore, SqlStore],
    one: list[tuple[int, int]],
    other: list[tuple[int, int]],
    machines: tuple[str, str],
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    for name in ("one", "other"):
        shutil.copy(empty, folder / name)
    for store in served:
        store.forget(Selection())
        with store._engine.begin() as connection:
            connection.exec_driver_sql("TRUNCATE observations, run, study, machine, event")
    files = open_store(str(folder / "one")), open_store(str(folder / "other"))
    for stores in (files, served):
        fill(stores[0], machines[0], one)
        fill(stores[1], machines[1], other)
    merge(served[1], files[0])
    merge(files[0], served[0])  # which it holds already
    merge(files[0], files[1])
    assert contents(served[1]) == contents(files[0])
    merge(files[1], served[0])
    assert contents(files[1]) == contents(files[0])
    for file in files:
        file.close()


@pytest.fixture(scope="module")
def served(postgres: PostgresServer) -> Iterator[tuple[SqlStore, SqlStore]]:
    """Two stores in PostgreSQL."""
    stores = open_store(postgres.database()), open_store(postgres.database())
    yield stores
    for store in stores:
        store.close()


class Killed(BaseException):
    """The end of a process."""


def test_a_merge_that_is_broken_off_loses_nothing_and_is_completed(
    tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_AT_ONCE", 2)
    for name in ("into", "source"):
        shutil.copy(empty, tmp_path / name)
    with closing(open_store(str(tmp_path / "into"))) as into, closing(open_store(str(tmp_path / "source"))) as source:
        fill(into, "a", [(0, 5), (1, 1), (2, 8)])
        fill(source, "a", [(0, 3), (1, 4), (2, 2), (3, 3), (4, 4)])
        fill(source, "b", [(0, 1), (1, 2)])
        source.keep_choice(study("a"), "{}")
    whole: tuple[object, ...] | None = None
    writes = ["keep_machines", "begin", "keep_choice", "replace", "order_studies", "add_events"]
    for moment in range(9, -1, -1):
        shutil.copy(tmp_path / "into", tmp_path / "killed")
        places = tmp_path / "killed", tmp_path / "source"
        with closing(open_store(str(places[0]))) as into, closing(open_store(str(places[1]))) as source:
            before, left = tasks(into), iter([True] * moment)

            def writing(name: str, left: Iterator[bool] = left) -> Callable[..., object]:
                made = getattr(SqlStore, name)

                def write(*words: object) -> object:
                    if not next(left, False):
                        raise Killed
                    return made(*words)

                return write

            with monkeypatch.context() as patched, suppress(Killed):
                for name in writes:
                    patched.setattr(SqlStore, name, writing(name))
                merge(into, source)
            assert before <= tasks(into)
            merge(into, source)
            whole = whole or contents(into)
            assert contents(into) == whole


def test_the_machines_of_a_study_that_both_have_are_kept(tmp_path: Path, empty: Path) -> None:
    for name in ("into", "source"):
        shutil.copy(empty, tmp_path / name)
    with closing(open_store(str(tmp_path / "into"))) as into, closing(open_store(str(tmp_path / "source"))) as source:
        for store, member in ((into, "one"), (source, "two")):
            fill(store, "pool", [])
            store.begin(study("pool"), (METRIC,), Machine.of({"name": member}))
        assert merge(into, source).taken == Count()
        assert {machine.name for machine in into.machines()} == {"pool", "one", "two"}


def test_studies_are_in_the_order_in_which_they_were_measured(tmp_path: Path, empty: Path) -> None:
    for name in ("into", "source"):
        shutil.copy(empty, tmp_path / name)
    with closing(open_store(str(tmp_path / "into"))) as into, closing(open_store(str(tmp_path / "source"))) as source:
        fill(into, "b", [(0, 2)])
        fill(into, "c", [])
        fill(into, "d", [(0, 3)])
        fill(source, "a", [(0, 5), (1, 1)])
        merge(into, source)
        assert [record.id for record in into.studies()] == [study(name) for name in "abdc"]
        fill(into, "e", [(0, 4)])
        assert into.studies()[-1].id == study("e")


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    spot = SeriesKey("main", "time", "a=1", "", "m")
    event = Event("regression-1", EventKind.SEEN, START, "study", "r0", "r1", {spot: Size(1.2, 1.1, 1.3)}, "", "")
    assert store.add_events([event, event]) == 1
    assert store.add_events([event]) == 0
    [back] = store.events()
    assert back == event
    assert back.id == event.id
    caused = replace(event, finding="regression-2", sizes={spot: Size(1.2, 1.1, 1.3, "b=on")})
    assert store.add_events([caused]) == 1
    assert caused in store.events()


def test_events_without_settings_have_the_ids_that_they_had() -> None:
    spot, size = SeriesKey("main", "time", "a=1", "", "m"), Size(1.2, 1.1, 1.3)
    event = Event("regression-1", EventKind.SEEN, datetime(2026, 1, 1, tzinfo=UTC), "s", "r0", "r1", {spot: size})
    assert event.id == "7df0ef1abff33b1f9bc4240c"
    assert replace(event, sizes={spot: replace(size, most_where="b=on")}).id != event.id
