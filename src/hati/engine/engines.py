"""The engines by name, what each is made from, and where batches may run; packages add others by entry points."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Batch, Benchmark, Engine, InputError, Job, Machine, MachineOption, setting_text
from hati.engine.local import LocalEngine, say_nothing
from hati.packages import callable_only, called, load_added
from hati.project import LOCAL, VOLUNTEERS, WORKERS, ClusterAddress, is_cluster
from hati.steering import CLASS
from hati.subject import Trees

if TYPE_CHECKING:
    from hati.engine.dask_engine import DaskEngine
    from hati.engine.volunteers import VolunteersEngine
    from hati.engine.workers import WorkersEngine
    from hati.steering import Requirements
    from hati.store import SqlStore

GROUP = "hati.engines"
"""The group of entry points of other packages."""


class Placement(Struct, frozen=True):
    """What batches need of machines, in addition to the subject's files.

    ``options`` are those whose settings a machine has to have. Repetition k of a configuration is run on the class k,
    modulo their number, of the ``classes``, and on any where there are none.
    """

    options: tuple[MachineOption, ...] = ()
    classes: tuple[str, ...] = ()

    def attributes(self, batch: Batch[Job]) -> tuple[tuple[str, str], ...]:
        """The attributes of a machine that can run all jobs of a batch, by name; its class is that of the first."""
        configurations = [job.task.configuration for job in batch.members]
        needed = {
            (each.attribute, setting_text(configuration[each.option]))
            for each in self.options
            for configuration in configurations
            if each.option in configuration
        }
        if self.classes:
            needed.add((CLASS, self.classes[batch.members[0].task.repetition % len(self.classes)]))
        return tuple(sorted(needed))


ANYWHERE = Placement()


class EngineSetup(Struct, frozen=True):
    """What an engine is made from: benchmarks of the subject in the folder ``root``, on this machine.

    ``trees`` has the files of revisions; ``secrets`` names variables whose values are masked; ``waiting`` is called
    with a sentence where the engine has to wait. ``store``, the ``machines`` of the pool by their names, and what else
    is ``asked`` of batches are for engines whose jobs run elsewhere. ``placement`` is what batches need of machines.
    """

    root: Path
    benchmarks: tuple[Benchmark, ...]
    machine: Machine
    trees: Trees | None = None
    secrets: tuple[str, ...] = ()
    waiting: Callable[[str], None] = say_nothing
    store: SqlStore | None = None
    machines: tuple[str, ...] = ()
    asked: Requirements | None = None
    placement: Placement = ANYWHERE


MakeEngine = Callable[[EngineSetup], AbstractContextManager[Engine[Job]]]


def engine_of(name: str) -> MakeEngine:
    """The function that makes the engine of that name.

    Raises:
        InputError: where there is none, or its package cannot be used.
    """
    if is_cluster(name):
        return partial(_dask, ClusterAddress.parse(name))
    if name in _OWN:
        return _OWN[name]
    found: MakeEngine = load_added(GROUP, name, "engine", callable_only, tuple(_OWN))
    return lambda setup: called(f"the engine {name!r}", found, setup)


def _workers(setup: EngineSetup) -> WorkersEngine:
    from hati.engine.workers import WorkersEngine

    ledger = _store(setup, WORKERS).ledger
    return WorkersEngine(ledger, setup.machines, setup.waiting, asked=setup.asked, placement=setup.placement)


def _dask(address: ClusterAddress, setup: EngineSetup) -> DaskEngine:
    from hati.engine.dask_engine import DaskEngine

    return DaskEngine(
        _store(setup, str(address)).ledger, setup.machines, setup.waiting, address, setup.asked, setup.placement
    )


def _volunteers(setup: EngineSetup) -> VolunteersEngine:
    from hati.engine.volunteers import VolunteersEngine

    store = _store(setup, VOLUNTEERS)
    return VolunteersEngine(
        store.ledger, store.volunteers, setup.benchmarks, setup.waiting, asked=setup.asked, placement=setup.placement
    )


def _store(setup: EngineSetup, engine: str) -> SqlStore:
    if setup.store is None:
        raise InputError(f"the engine {engine} needs a store", fix="name one by --store")
    return setup.store


_OWN: dict[str, MakeEngine] = {LOCAL: LocalEngine.of, WORKERS: _workers, VOLUNTEERS: _volunteers}
