"""The time of a batch through a Dask scheduler and the ledger, compared with plain Dask; and what an idle worker takes.

Scheduler and workers are real processes on this host; the same two workers serve both sides, interleaved.

Run it as: .venv/bin/python -m benchmarks.dask_path
"""

from __future__ import annotations

import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psutil

from benchmarks.markdown import table
from hati.core import Batch, Benchmark, Configuration, Job, Metric, Outcome, Reader, ReaderKind, Run, Task, Workload
from hati.engine import LocalEngine, Worker
from hati.engine.dask_engine import DaskEngine
from hati.engine.dask_worker import machine_label, serve_requests
from hati.engine.serial import SerialEngine
from hati.project import ClusterAddress
from hati.steering import Client
from hati.store import open_store
from hati.subject import machine

BATCHES, TRIALS, GOAL = 100, 5, 2.0
IDLE_SECONDS, IDLE_GOAL = 60.0, 0.005
MACHINES = ("one", "two")
_READER, _METRICS = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
NOTHING = Benchmark("nothing", ("true",), _READER, _METRICS)
PROCESS = Benchmark("process", ("true",), _READER, _METRICS)
"""Jobs that do nothing, and jobs that run a process as measurements do."""
_STUDIES = count()


class NoEngine(SerialEngine[Job]):
    """Makes a run without running anything."""

    def execute(self, work: Job, /) -> Run:
        """A run of no time."""
        return Run(work.task, "none", datetime.now(UTC), 1e-6, Outcome.NOT_STARTED, "nothing was run")


def engine_in(folder: Path, name: str, job: Job) -> SerialEngine[Job]:
    """The engine of a job."""
    if job.benchmark.name == NOTHING.name:
        return NoEngine()
    folder.mkdir(exist_ok=True)
    return LocalEngine(folder, [job.benchmark], machine(name), lock=folder / "lock")


def serve(place: str, folder: str, name: str, address: str) -> None:
    """A worker of Hati, until a signal comes."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    root = Path(folder) / name

    def make(batch: Batch[Job], _: Callable[[str], None]) -> SerialEngine[Job]:
        return engine_in(root, name, batch.members[0])

    with closing(open_store(place)) as store:
        client = Client(machine(name).id, name, os.cpu_count() or 1)
        serve_requests(
            Worker(store.ledger, client, lambda _, __: True, make), ClusterAddress.parse(address), math.inf, print
        )


_kept = dict[str, SerialEngine[Job]]()


def run_plainly(folder: str, name: str, text: str) -> object:
    """The task of plain Dask: the same job by the same engine, whose result goes back to the client."""
    from hati.store.ledger_entries import run_content

    job = Job.from_json(text)
    if job.benchmark.name not in _kept:
        _kept[job.benchmark.name] = engine_in(Path(folder) / f"plain-{name}", name, job)
    return run_content(_kept[job.benchmark.name].execute(job))


def jobs(benchmark: Benchmark) -> list[Job]:
    """The jobs of a trial."""
    study = f"study-{next(_STUDIES)}"
    tasks = [
        Task(study, "s", benchmark.name, Configuration({"o": 1}), "r", Workload(), number) for number in range(BATCHES)
    ]
    return [Job(task, benchmark, "s") for task in tasks]


def plainly(client: Any, folder: str, benchmark: Benchmark) -> float:
    """Milliseconds for each task by ``Client.submit`` and ``as_completed``, with one outstanding for each machine."""
    from distributed import as_completed

    from benchmarks.dask_path import (
        run_plainly as task,
    )  # by name: ``__main__`` would be sent, and start again each time

    labels = {name: machine_label(machine(name).id) for name in MACHINES}
    left = [job.to_json() for job in jobs(benchmark)]

    def submit(name: str) -> Any:
        return client.submit(task, folder, name, left.pop(), resources={labels[name]: 1}, pure=False)

    began = time.perf_counter()
    first = {submit(name): name for name in MACHINES}
    where, outstanding = {future.key: name for future, name in first.items()}, as_completed(first, loop=client.loop)
    for future in outstanding:
        future.result()
        if left:
            name = where.pop(future.key)
            again = submit(name)
            where[again.key] = name
            outstanding.add(again)
    return 1000 * (time.perf_counter() - began) / BATCHES


def through_ledger(place: str, address: str, benchmark: Benchmark) -> float:
    """Milliseconds for each batch by the engine, which a campaign fills whenever it has capacity."""
    with (
        closing(open_store(place)) as store,
        DaskEngine(store.ledger, (), print, ClusterAddress.parse(address)) as engine,
    ):
        engine.hold("study")
        left, made = jobs(benchmark), 0
        began = time.perf_counter()

        def fill() -> None:
            while left and engine.capacity() > 0:
                engine.submit(Batch((left.pop(),)))

        fill()
        for _ in engine.completed():
            made += 1
            fill()
        seconds = time.perf_counter() - began
        assert made == BATCHES
    return 1000 * seconds / BATCHES


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process, silent, which ends with the block."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, str, Any, list[subprocess.Popen[bytes]]]]:
    """The store, the address, a client, and the processes of the workers."""
    from distributed import Client as DaskClient

    place, port = str(folder / "store.sqlite"), free_port()
    open_store(place).close()
    address = f"tcp://127.0.0.1:{port}"
    words = ("--no-dashboard", "--host", "127.0.0.1", "--port", str(port))
    with ExitStack() as stack:
        stack.enter_context(started("-m", "distributed.cli.dask_scheduler", *words))
        serving = [
            stack.enter_context(started("-m", "benchmarks.dask_path", "worker", place, str(folder), name, address))
            for name in MACHINES
        ]
        client = stack.enter_context(DaskClient(address, timeout=60, set_as_default=False))
        client.wait_for_workers(len(MACHINES), timeout=60)
        yield place, address, client, serving


def idle(processes: Sequence[subprocess.Popen[bytes]]) -> list[float]:
    """The fractions of a CPU that workers without work take."""
    watched = [psutil.Process(process.pid) for process in processes]
    before = [sum(each.cpu_times()[:2]) for each in watched]
    time.sleep(IDLE_SECONDS)  # what is measured is that nothing happens
    return [(sum(each.cpu_times()[:2]) - was) / IDLE_SECONDS for each, was in zip(watched, before, strict=True)]


def result() -> tuple[str, bool]:
    """A table of medians and ratios, and of idle workers; whether the goals are reached."""
    rows, held = [], True
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as (place, address, client, serving):
        for benchmark in (NOTHING, PROCESS):
            sides = (partial(plainly, client, name, benchmark), partial(through_ledger, place, address, benchmark))
            for side in sides:
                side()  # what is loaded once
            pairs = [tuple(side() for side in sides) for _ in range(TRIALS)]
            ratios = sorted(ours / plain for plain, ours in pairs)
            plain, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
            each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            rows.append((benchmark.name, f"{plain:.1f}", f"{ours:.1f}", f"{statistics.median(ratios):.2f}", each))
            held &= statistics.median(ratios) <= GOAL
        client.close()
        time.sleep(5)  # both come to rest
        taken = idle(serving)
    header = ("job", "plain Dask (ms)", "Dask and ledger (ms)", "ratio, median", "of each trial")
    note = (
        f"Wall time for each of {BATCHES} batches of one job, two workers, one task outstanding for each, SQLite; the "
        f"same engine makes the runs; goal: {GOAL:g} times plain Dask. `process` runs `true`; `nothing` runs nothing. "
        f"Idle workers took {' and '.join(f'{each:.2%}' for each in taken)} of a CPU over {IDLE_SECONDS:.0f} s; goal: "
        f"{IDLE_GOAL:.1%}."
    )
    return table("Dask and the ledger", header, rows, note), held and max(taken) <= IDLE_GOAL


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        try:
            serve(*sys.argv[2:])
        except KeyboardInterrupt:
            sys.exit(0)
    text, reached = result()
    print(text)
    sys.exit(not reached)
