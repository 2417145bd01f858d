"""A worker process of the tests: its arguments are a store, a folder, a machine's name, a lease and an address."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hati.core import Batch, Job
from hati.engine import LocalEngine, Worker
from hati.engine.dask_worker import serve_requests
from hati.project import ClusterAddress
from hati.steering import Client
from hati.store import open_store
from hati.subject import machine


def main(place: str, folder: str, name: str, seconds: str, address: str) -> None:
    """Serve until a signal comes."""
    root = Path(folder) / f"{name}-{os.getpid()}"
    root.mkdir()

    def make(batch: Batch[Job], waiting: Callable[[str], None]) -> LocalEngine:
        benchmarks = [job.benchmark for job in batch.members]
        return LocalEngine(root, benchmarks, machine(name), waiting, lock=Path(folder) / f"lock-{name}")

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(open_store(place)) as store:
        client = Client(machine(name).id, name, os.cpu_count() or 1)
        worker = Worker(
            store.ledger,
            client,
            lambda _, __: True,
            make,
            seconds=float(seconds),
            announce=lambda text: print(text, flush=True),
        )
        serve_requests(worker, ClusterAddress.parse(address), math.inf, lambda text: print(text, flush=True))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
