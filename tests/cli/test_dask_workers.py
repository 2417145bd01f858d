"""A campaign that workers at a Dask scheduler run, as people see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Hati
from dask_cluster import HatiWorkers, Scheduler, with_variables
from hati.store import EntryKind, Selection, read_store

SCREEN = ("screen", "--metric", "latency", "--budget", "18", "--format", "json", "--seed", "3")

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    """A scheduler under TLS."""
    with Scheduler(tmp_path_factory.mktemp("scheduler")) as found:
        yield found


@pytest.fixture
def workers(scheduler: Scheduler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HatiWorkers]:
    """No worker yet."""
    with HatiWorkers(scheduler, tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.mark.acceptance
def test_the_same_screening_is_done_by_two_workers_each_task_once(
    hati_here: Hati, fake_project: Path, workers: HatiWorkers, scheduler: Scheduler
) -> None:
    alone = hati_here(*SCREEN)
    started = [workers.start(fake_project, name) for name in ("one", "two")]
    with with_variables(scheduler.variables):
        done = hati_here(*SCREEN, "--engine", scheduler.address, "--store", str(workers.store))
    assert done.status == 0, done.err
    assert done.json["important"] == alone.json["important"] == ["a", "b"]
    assert [workers.end(process) for process in started] == [0, 0]
    with (
        closing(read_store(str(workers.store))) as kept,
        closing(read_store(str(fake_project / ".hati" / "store.sqlite"))) as local,
    ):
        runs, ours = kept.runs(Selection()), local.runs(Selection())
        accepted = [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]
        names = {fingerprint: each.name for each in kept.machines() for fingerprint in each.fingerprints}
    design = [
        Counter(str(run.task.configuration) for run in each if run.task.stage == "design") for each in (runs, ours)
    ]
    assert design[0] == design[1]
    assert sorted(accepted) == sorted(run.task.id for run in runs)
    assert len(set(accepted)) == len(accepted)
    assert {names[run.machine] for run in runs} == {"one", "two"}
    assert sum(each["runs"] for each in done.json["machine_blocks"]["machines"]) == len(runs)


def test_an_address_that_is_not_protected_is_refused(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--engine", "tcp://192.0.2.1:8786")
    assert done.status == 2
    assert "tcp://192.0.2.1:8786 is not encrypted" in done.err
    assert "write tls://192.0.2.1:8786" in done.err


def test_a_missing_certificate_is_named(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--engine", "tls://192.0.2.1:8786")
    assert done.status == 2
    assert "`distributed.comm.tls.ca-file` is not set" in done.err
    worker = hati_here("worker", "--scheduler", "dask://192.0.2.1:8786")
    assert worker.status == 2
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in worker.err
