"""Machines that run batches for a project: a worker here, and what a store knows of all."""

from __future__ import annotations

import os
from pathlib import Path

from hati.core import Batch, Benchmark, InputError, Job, replace, setting_text
from hati.core.wording import suggestion
from hati.engine import EngineSetup, LocalEngine, Worker
from hati.engine.worker import Observe, watch_nothing
from hati.project import FILE, ClusterAddress, read_project
from hati.steering import ClientKind, LedgerStatus, SettingStatus
from hati.store import LEASE_SECONDS
from hati.subject import Trees
from hati.wiring.machine_options import this_client
from hati.wiring.strategies import choose_by
from hati.wiring.workplace import Announce, Workplace, existing_store, mute, workplace


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


def grid_status(path: Path, store: str | None) -> LedgerStatus:
    """The status of a store's ledger, with the settings that machines have of the project at a path, if there is one.

    Raises:
        InputError: for any error in the project, and where there is no store.
    """
    ledger = existing_store(path, store).ledger
    if not (path / FILE if path.is_dir() else path).is_file():
        return ledger.status()
    project = read_project(path)
    clients, here = ledger.clients(), {client.machine for client in ledger.present()}
    found = []
    for each in project.machine_options:
        for setting in map(setting_text, project.space.option(each.option).settings):
            own = [client for client in clients if client.has(each.attribute, setting)]
            present = tuple(client.name for client in own if client.machine in here)
            found.append(SettingStatus(each.option, setting, tuple(client.name for client in own), present))
    return replace(ledger.status(), settings=tuple(found))


def forget_machine(path: Path, store: str | None, name: str) -> None:
    """Forget which settings a machine has that works for a store no more; its runs stay.

    Raises:
        InputError: for an unknown name, a machine with a worker, and a volunteer's.
    """
    ledger = existing_store(path, store).ledger
    clients = ledger.clients()
    found = [client for client in clients if client.name == name]
    if not found:
        known = [client.name for client in clients]
        raise InputError(f"no machine is named {name!r}", fix=suggestion(name, known))
    if any(client.name == name for client in ledger.present()):
        raise InputError(f"machine {name!r} has a worker", fix="end its `hati worker` first")
    if any(client.kind is ClientKind.VOLUNTEER for client in found):
        raise InputError(f"machine {name!r} is a volunteer's", fix=f"write `hati grid revoke {name}`")
    for client in found:
        ledger.forget_client(client.machine)


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
    place.store.ledger.record_client(client)
    worker = Worker(
        place.store.ledger,
        client,
        has=files.has,
        make=files.engine,
        observe=observe,
        seconds=seconds,
        announce=announce,
        choose=choose_by(strategy),
    )
    if address is None:
        worker.serve(idle)
        return
    from hati.engine.dask_worker import serve_requests

    serve_requests(worker, address, idle, announce)
