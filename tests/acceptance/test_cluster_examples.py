"""The example of SQLite on a cluster: two workers at a Dask scheduler under mutual TLS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dask_cluster import HATI, HatiWorkers, Scheduler
from hati.store import EntryKind, Selection, SqlStore, read_store

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("dask")]

ROOT = Path(__file__).resolve().parents[2]
SCREEN = ("--metric", "latency", "--budget", "32", "--seed", "1", "--format", "json")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    """A scheduler under TLS."""
    with Scheduler(tmp_path) as found:
        yield found


def example(folder: Path) -> Path:
    """A copy of the example in a folder."""
    shutil.copytree(ROOT / "examples" / "sqlite", folder, ignore=shutil.ignore_patterns(".hati"))
    return folder


def screened(project: Path, variables: dict[str, str], *words: str) -> dict[str, Any]:
    """The report of a screening."""
    command = [HATI, "screen", str(project), *SCREEN, *words]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def design_of(store: SqlStore) -> Counter[str]:
    """How often each configuration of the design was run."""
    return Counter(str(run.task.configuration) for run in store.runs(Selection()) if run.task.stage == "design")


def test_a_cluster_screens_the_same_design_each_task_once(scheduler: Scheduler, tmp_path: Path) -> None:
    project = example(tmp_path / "campaign")
    alone = screened(project, {})
    with HatiWorkers(scheduler, tmp_path) as workers:
        started = [workers.start(project, name) for name in ("one", "two")]
        words = ("--engine", scheduler.address, "--store", str(workers.store))
        together = screened(project, scheduler.variables, *words)
        assert [workers.end(process) for process in started] == [0, 0]
        with closing(read_store(str(workers.store))) as kept:
            runs, design = kept.runs(Selection()), design_of(kept)
            accepted = [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]
    with closing(read_store(str(project / ".hati" / "store.sqlite"))) as local:
        assert design == design_of(local)
    assert together["design"] == alone["design"]
    assert "synchronous" in together["important"]
    assert sorted(accepted) == sorted(run.task.id for run in runs)
    assert max(Counter(accepted).values()) == 1
    assert sorted(each["name"] for each in together["measured_on"]) == ["one", "two"]
    assert sum(each["runs"] for each in together["machine_blocks"]["machines"]) == len(runs)
