"""The engine of workers, with workers that are processes of their own."""

from __future__ import annotations

import math
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hati.core import Batch, Benchmark, Job, Metric, Outcome, Reader, ReaderKind, Task
from hati.engine import LocalEngine, Worker, WorkersEngine
from hati.engine.engines import Placement
from hati.steering import Client
from hati.store import BatchState, EntryKind, Ledger, open_store
from hati.subject import machine
from hati.testing.conformance import AnyEngine, EngineConformance

READER, METRICS = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
GOOD = Benchmark("good", ("sleep", "0.12"), READER, METRICS)
BAD = Benchmark("bad", ("false",), READER, METRICS)
LONG = Benchmark("long", ("sleep", "60"), READER, METRICS)


class Workers:
    """Worker processes for the store in a folder; a context manager that ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder / "store.sqlite")
        open_store(self.place).close()
        self._started: list[int] = []

    def start(self, name: str = "one", seconds: float = 60.0) -> int:
        """Start one for a machine of that name; its process."""
        child = os.fork()
        if child:
            self._started.append(child)
            self._await(name)
            return child
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._serve(name, seconds)
        except KeyboardInterrupt:
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the process of the tests must not go on here
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def kill(self, process: int, number: signal.Signals = signal.SIGKILL) -> int:
        """End one, and wait for it; its status."""
        os.kill(process, number)
        self._started.remove(process)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def close(self) -> None:
        """End all."""
        for process in tuple(self._started):
            self.kill(process)

    def _serve(self, name: str, seconds: float) -> None:
        root = self.folder / name
        root.mkdir(exist_ok=True)

        def make(batch: Batch[Job], waiting: Callable[[str], None]) -> LocalEngine:
            benchmarks = [job.benchmark for job in batch.members]
            return LocalEngine(root, benchmarks, machine(name), waiting, lock=self.folder / f"lock-{name}")

        with closing(open_store(self.place)) as store:
            client = Client(machine(name).id, name, os.cpu_count() or 1, hardware=f"class {name}")
            Worker(store.ledger, client, lambda _, __: True, make, seconds=seconds).serve(math.inf)

    def _await(self, name: str) -> None:
        with closing(open_store(self.place)) as store:
            wait_for(lambda: any(client.name == name for client in store.ledger.present()))


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """No worker yet."""
    with closing(Workers(tmp_path)) as found:
        yield found


@pytest.fixture
def ledger(workers: Workers) -> Iterator[Ledger]:
    """The ledger that they share."""
    with closing(open_store(workers.place)) as store:
        yield store.ledger


def jobs(task: Callable[..., Task], benchmark: Benchmark, number: int = 3) -> tuple[Job, ...]:
    return tuple(Job(task(benchmark.name, repetition), benchmark, "s") for repetition in range(number))


@pytest.mark.acceptance
class TestWorkersEngine(EngineConformance):
    @pytest.fixture
    def engine(self, workers: Workers, ledger: Ledger) -> Iterator[AnyEngine]:
        workers.start()
        with WorkersEngine(ledger, (), print) as engine:
            yield engine

    @pytest.fixture
    def good_jobs(self, task: Callable[..., Task]) -> tuple[Job, ...]:
        return jobs(task, GOOD)

    @pytest.fixture
    def bad_job(self, task: Callable[..., Task]) -> Job:
        return jobs(task, BAD, 1)[0]


def test_two_workers_share_batches(workers: Workers, ledger: Ledger, task: Callable[..., Task]) -> None:
    for name in ("one", "two"):
        workers.start(name)
    with WorkersEngine(ledger, (), print) as engine:
        assert engine.capacity() == 2
        for job in jobs(task, GOOD, 8):
            engine.submit(Batch((job,)))
        runs = list(engine.completed())
    assert sorted(run.task.repetition for run in runs) == list(range(8))
    assert {run.machine for run in runs} == {machine("one").fingerprint, machine("two").fingerprint}


def test_repetitions_run_on_each_class_in_turn(workers: Workers, ledger: Ledger, task: Callable[..., Task]) -> None:
    for name in ("one", "two"):
        workers.start(name)
    with WorkersEngine(ledger, (), print, placement=Placement(classes=("class one", "class two"))) as engine:
        for job in jobs(task, GOOD, 4):
            engine.submit(Batch((job,)))
        runs = {run.task.repetition: run.machine for run in engine.completed()}
    assert runs == {place: machine(("one", "two")[place % 2]).fingerprint for place in range(4)}


def test_a_killed_worker_loses_nothing(workers: Workers, ledger: Ledger, task: Callable[..., Task]) -> None:
    first = workers.start("one", seconds=1.0)
    with WorkersEngine(ledger, (), print) as engine:
        for job in jobs(task, GOOD, 4):
            engine.submit(Batch((job,)))
        runs = engine.completed()
        seen = [next(runs)]
        wait_for(lambda: BatchState.LEASED in ledger.states(range(1, 99)).values())
        workers.kill(first)
        workers.start("two")
        seen += runs
    assert sorted(run.task.repetition for run in seen) == list(range(4))
    assert all(run.outcome is Outcome.DONE for run in seen)
    accepted = [entry.content["run"]["task"] for entry in ledger.history() if entry.what is EntryKind.ACCEPTED]
    assert len(accepted) == len(set(accepted)) == 4


@pytest.mark.acceptance
def test_a_task_that_kills_workers_becomes_a_failed_run(
    workers: Workers, ledger: Ledger, task: Callable[..., Task]
) -> None:
    [job] = jobs(task, LONG, 1)
    with WorkersEngine(ledger, (), print) as engine:
        engine.submit(Batch((job,)))
        for _ in range(3):
            process = workers.start("one", seconds=0.3)
            wait_for(lambda: BatchState.LEASED in ledger.states(range(1, 99)).values())
            workers.kill(process)
            wait_for(lambda: ledger.expire() is None and BatchState.LEASED not in ledger.states(range(1, 99)).values())
        [run] = engine.completed()
    assert run.outcome is Outcome.NOT_STARTED
    assert "no machine completed it: attempt 1" in run.detail
    assert "attempt 3" in run.detail


def test_what_a_killed_campaign_released_is_not_run_twice(
    workers: Workers, ledger: Ledger, task: Callable[..., Task]
) -> None:
    batches = [Batch((job,)) for job in jobs(task, GOOD, 3)]
    killed = WorkersEngine(ledger, (), print)
    for batch in batches:
        killed.submit(batch)
    workers.start()
    wait_for(lambda: len(ledger.results(batch.members[0].task.id for batch in batches)) > 0)
    with WorkersEngine(ledger, (), print) as engine:
        for batch in batches:
            engine.submit(batch)
        assert sorted(run.task.repetition for run in engine.completed()) == [0, 1, 2]
    assert [entry.what for entry in ledger.history()].count(EntryKind.ACCEPTED) == 3


def test_a_worker_that_is_asked_to_end_gives_its_batch_back(
    workers: Workers, ledger: Ledger, task: Callable[..., Task]
) -> None:
    [job] = jobs(task, LONG, 1)
    process = workers.start()
    with WorkersEngine(ledger, (), print) as engine:
        engine.submit(Batch((job,)))
        wait_for(lambda: BatchState.LEASED in ledger.states(range(1, 99)).values())
        assert workers.kill(process, signal.SIGTERM) == 0
        [state] = ledger.states(range(1, 99)).values()
        assert state is BatchState.OPEN
        assert ledger.present() == ()
