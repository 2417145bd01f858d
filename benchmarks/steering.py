"""The cost of a steering decision with many open batches and machines: of the choice, and of the whole claim.

Run it as: .venv/bin/python -m benchmarks.steering [URL of an empty PostgreSQL database]
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import msgspec
from sqlalchemy import Engine, create_engine, insert

from benchmarks.markdown import table
from hati.core import Batch, Benchmark, Configuration, Job, Metric, Reader, ReaderKind, Task, Workload
from hati.steering import Client, Requirements, choose
from hati.store import Ledger, open_store, schema
from hati.store.ledger_entries import batch_content
from hati.store.ledger_queues import queue_key, read_steering

BATCHES, MACHINES, STUDIES, REVISIONS = 100_000, 1_000, 20, 50
GOAL_SECONDS = 0.005
LEASE_SECONDS = 3600.0
_AT_ONCE = 1_000
BENCHMARK = Benchmark("b", ("true",), Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),))


def requirements_of(number: int) -> Requirements:
    """The requirements of a batch."""
    revision = number * 7 % REVISIONS
    return Requirements((f"files{revision}",), (f"r{revision}",), cpus=1 + revision % 8)


def job_of(number: int) -> Job:
    """The only job of a batch."""
    return Job(Task("study-1", "design", "b", Configuration({"o": 1}), "r1", Workload(), number), BENCHMARK, "files")


def clients(number: int) -> list[Client]:
    """That number of machines."""
    files = tuple(f"files{n}" for n in range(REVISIONS))
    return [Client(f"m{n}", f"machine{n}", 1 + n % 16, files[n % 5 :]) for n in range(number)]


def engine_of(place: str) -> Engine:
    """The engine that connects to a database."""
    return create_engine(
        place.replace("postgresql://", "postgresql+psycopg://") if "://" in place else f"sqlite:///{place}"
    )


def fill(place: str, batches: int, machines: int) -> None:
    """Put open batches of several studies and revisions into a store; each hundredth has begun on a machine."""
    engine = engine_of(place)
    with engine.begin() as connection:
        for first in range(1, batches + 1, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, batches + 1))
            contents = [batch_content(Batch((job_of(number),)), requirements_of(number)) for number in numbers]
            connection.execute(insert(schema.ledger), [_entry(*each) for each in zip(numbers, contents, strict=True)])
            connection.execute(
                insert(schema.batch), [_row(*each, machines) for each in zip(numbers, contents, strict=True)]
            )
        own = [
            {"key": f"w{c.machine}", "machine": c.machine, "client": msgspec.json.encode(c).decode()}
            for c in clients(machines)
        ]
        connection.execute(
            insert(schema.worker), [{**each, "seen": 0.0, "until": time.time() + LEASE_SECONDS} for each in own]
        )
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT setval('ledger_number_seq', {batches})")
    engine.dispose()


def _entry(number: int, content: dict[str, object]) -> dict[str, object]:
    return {"number": number, "at": time.time(), "what": "released", "batch": None, "content": json.dumps(content)}


def _row(number: int, content: dict[str, object], machines: int) -> dict[str, object]:
    study, needed = f"study{number % STUDIES}", json.dumps(content["requirements"])
    begun = f"m{number // 100 % machines}" if number % 100 == 0 else None
    own = {"number": number, "key": f"key{number}", "study": study, "state": "open", "requirements": needed}
    counted = {"tasks": job_of(number).task.id, "machine": begun, "attempts": 0, "failures": 0}
    return {**own, **counted, "queue": queue_key(study, needed)}


def decisions(place: str, machines: int) -> tuple[list[float], list[float], int]:
    """The seconds of a decision for each machine, of wall and of CPU; and the number of queues that it looks at."""
    seconds, busy, number = list[float](), list[float](), 0
    engine = engine_of(place)
    with engine.connect() as connection:
        for client in clients(machines):
            began, before = time.perf_counter(), time.process_time()
            queues, under_way = read_steering(connection, client.machine)
            choose(queues, under_way, client)
            seconds.append(time.perf_counter() - began)
            busy.append(time.process_time() - before)
            number = len(queues)
    engine.dispose()
    return seconds, busy, number


def claims(ledger: Ledger, machines: int) -> list[float]:
    """The seconds that each machine waited for a batch."""
    seconds = []
    for client in clients(machines):
        began = time.perf_counter()
        lease = ledger.claim(f"w{client.machine}", client, choose, LEASE_SECONDS)
        seconds.append(time.perf_counter() - began)
        assert lease is not None
    return seconds


def bare(place: str, machines: int) -> list[float]:
    """The seconds of transactions that only write one row, one for each machine."""
    with closing(open_store(place)) as store:
        seconds = []
        for number in range(machines):
            began = time.perf_counter()
            store.ledger.enter(f"bare{number}", Client(f"bare{number}", "bare"), LEASE_SECONDS)
            seconds.append(time.perf_counter() - began)
    return seconds


def measured(name: str, place: str, batches: int, machines: int) -> tuple[tuple[str, ...], bool]:
    """The figures of a database, and whether its decisions reach the goal."""
    open_store(place).close()
    fill(place, batches, machines)
    with closing(open_store(place)) as store:
        waited = claims(store.ledger, machines)
        began = time.perf_counter()
        store.ledger.status()
        status = time.perf_counter() - began
    decided, busy, queues = decisions(place, machines)
    median, processor, claim, write = map(statistics.median, (decided, busy, waited, bare(place, machines)))
    figures = (median, max(decided), processor, claim, write, status)
    ratios = (processor / GOAL_SECONDS, median / write)
    texts = (*(f"{1e3 * each:.2f}" for each in figures), *(f"{each:.2f}" for each in ratios))
    return (name, str(queues), *texts), processor <= GOAL_SECONDS


def result(*places: str, batches: int = BATCHES, machines: int = MACHINES) -> tuple[str, bool]:
    """A table of medians, with SQLite and with databases of PostgreSQL; whether the goal is reached in CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [("SQLite", str(Path(folder) / "store.sqlite")), *(("PostgreSQL", place) for place in places)]
        found = [measured(name, place, batches, machines) for name, place in stores]
    notes = (
        f"{batches:,} open batches, {machines:,} machines, {STUDIES} studies, {REVISIONS} requirements; in ms.",
        "Each machine claims once; then each asks once more, without a claim. CPU is that of this process.",
        f"Largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB.",
    )
    names = ("a decision, median", "largest", "its CPU, median", "a claim, median", "a write, median", "grid status")
    header = ("database", "queues", *names, f"CPU / goal of {1e3 * GOAL_SECONDS:.0f} ms", "decision / write")
    return table("Steering", header, [row for row, _ in found], *notes), all(held for _, held in found)


if __name__ == "__main__":
    text, reached = result(*sys.argv[1:])
    print(text)
    sys.exit(not reached)
