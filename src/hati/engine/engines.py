"""The engines by name; packages add others by entry points of ``hati.engines``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from hati.core import Engine, InputError, Job
from hati.engine.local import EngineSetup, LocalEngine
from hati.engine.volunteers import VolunteersEngine
from hati.engine.workers import WorkersEngine
from hati.packages import callable_only, called, load_added
from hati.project import LOCAL, VOLUNTEERS, WORKERS, ClusterAddress, is_cluster

if TYPE_CHECKING:
    from hati.engine.dask_engine import DaskEngine

GROUP = "hati.engines"
"""The group of entry points of other packages."""
MakeEngine = Callable[[EngineSetup], AbstractContextManager[Engine[Job]]]


def engine_of(name: str) -> MakeEngine:
    """The function that makes the engine of that name.

    Raises:
        InputError: where there is none, or its package cannot be used.
    """
    if name == LOCAL:
        return LocalEngine.of
    if name == WORKERS:
        return _workers
    if is_cluster(name):
        return partial(_dask, ClusterAddress.parse(name))
    if name == VOLUNTEERS:
        return _volunteers
    found: MakeEngine = load_added(GROUP, name, "engine", callable_only, (LOCAL, WORKERS, VOLUNTEERS))
    return lambda setup: called(f"the engine {name!r}", found, setup)


def _workers(setup: EngineSetup) -> WorkersEngine:
    if setup.ledger is None:
        raise InputError("the engine workers needs a store", fix="name one by --store")
    return WorkersEngine(setup.ledger, setup.machines, setup.waiting)


def _dask(address: ClusterAddress, setup: EngineSetup) -> DaskEngine:
    from hati.engine.dask_engine import DaskEngine

    if setup.ledger is None:
        raise InputError(f"the engine {address} needs a store", fix="name one by --store")
    return DaskEngine(setup.ledger, setup.machines, setup.waiting, address)


def _volunteers(setup: EngineSetup) -> VolunteersEngine:
    if setup.ledger is None or setup.volunteers is None:
        raise InputError("the engine volunteers needs a store", fix="name one by --store")
    return VolunteersEngine(setup.ledger, setup.volunteers, setup.benchmarks, setup.waiting)
