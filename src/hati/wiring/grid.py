"""Run a worker for a project."""

from __future__ import annotations

import os
from pathlib import Path

from hati.core import Batch, Benchmark, InputError, Job, replace
from hati.engine import EngineSetup, LocalEngine, Worker
from hati.engine.worker import Observe, watch_nothing
from hati.project import ClusterAddress
from hati.store import LEASE_SECONDS
from hati.subject import Trees
from hati.wiring.machine_options import this_client
from hati.wiring.strategies import choose_by
from hati.wiring.workplace import Announce, Workplace, mute, workplace


class SubjectFiles:
    """The files of revisions that this machine has: those of the project's folder, and of its repository."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._trees: dict[str, Trees] = {}

    def has(self, sources: str, revision: str) -> bool:
        """Whether this machine has the files of the revision with the digest ``sources``."""
        if sources not in self._trees:
            found = self._found(sources, revision)
            if found is None:
                return False
            self._trees[sources] = found
        return True

    def engine(self, batch: Batch[Job], waiting: Announce) -> LocalEngine:
        """The engine that runs a batch here; ``waiting`` is called when it has to wait for the machine."""
        place, first = self._place, batch.members[0]
        benchmarks = {job.benchmark.name: job.benchmark for job in batch.members}
        about = (place.project.root, tuple[Benchmark, ...](benchmarks.values()), place.machine)
        return LocalEngine.of(EngineSetup(*about, self._trees[first.sources], place.project.secrets, waiting))

    def _found(self, sources: str, revision: str) -> Trees | None:
        folder = self._place.folder
        if folder is not None and revision == folder.revision and folder.sources(revision) == sources:
            return folder
        revisions = self._place.revisions()
        try:
            revisions.find(revision)
        except InputError:
            return None
        found = revisions.trees(self._place.project.root)
        return found if found.sources(revision) == sources else None


def serve(
    path: Path,
    store: str | None,
    idle: float,
    seconds: float = LEASE_SECONDS,
    announce: Announce = mute,
    observe: Observe = watch_nothing,
    scheduler: str | None = None,
    strategy: str = "fair",
) -> None:
    """Run the batches that campaigns release to workers into a store, with the files of the project at a path.

    It ends after ``idle`` seconds without work. A batch stays with this machine for ``seconds`` without a sign of life.
    With a ``scheduler`` of Dask, campaigns ask it for batches there; without one, it looks for batches at intervals.
    The ``strategy`` of that name chooses among the waiting batches.

    Raises:
        InputError: for any error in the project, in the scheduler's address, in a certificate, or in the strategy.
        MeasurementError: where consecutive batches fail here.
    """
    address = None if scheduler is None else ClusterAddress.parse(scheduler)
    place = workplace(path, store, announce)
    place.store.keep_machines([place.machine])
    files = SubjectFiles(place)
    client = replace(this_client(place), cpus=os.cpu_count() or 1)
    place.store.ledger.know(client)
    how = (files.has, files.engine, observe, seconds, announce, choose_by(strategy))
    worker = Worker(place.store.ledger, client, *how)
    if address is None:
        worker.serve(idle)
        return
    from hati.engine.dask_worker import serve_requests

    serve_requests(worker, address, idle, announce)
