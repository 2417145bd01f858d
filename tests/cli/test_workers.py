"""A campaign that workers run, as people see it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from worker_processes import Workers

from conftest import Hati
from hati.store import EntryKind, Selection, read_store

SCREEN = ("screen", "--metric", "latency", "--budget", "18", "--format", "json", "--engine", "workers")


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store will be."""
    return tmp_path_factory.mktemp("shared") / "store.sqlite"


@pytest.fixture
def workers(fake_project: Path, store: Path) -> Iterator[Workers]:
    """No worker yet."""
    with closing(Workers(fake_project, store)) as found:
        yield found


@pytest.mark.acceptance
def test_two_workers_do_a_screening_each_task_once(hati_here: Hati, workers: Workers, store: Path) -> None:
    started = [workers.start(name) for name in ("one", "two")]
    done = hati_here(*SCREEN, "--store", str(store))
    assert done.status == 0, done.err
    assert done.json["important"] == ["a", "b"]
    for process in started:
        process.send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=60)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    with closing(read_store(str(store))) as kept:
        runs = kept.runs(Selection())
        accepted = [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]
        names = {fingerprint: each.name for each in kept.machines() for fingerprint in each.fingerprints}
    assert sorted(accepted) == sorted(run.task.id for run in runs)
    assert len(set(accepted)) == len(accepted)
    by_machine = Counter(names[run.machine] for run in runs)
    assert set(by_machine) <= {"one", "two"}
    if len(by_machine) == 2:
        assert sorted(each["name"] for each in done.json["measured_on"]) == ["one", "two"]
        assert sum(each["runs"] for each in done.json["machine_blocks"]["machines"]) == len(runs)
