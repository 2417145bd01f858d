"""The engines by their names: one table of them, to which packages add by entry points of ``hati.engines``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hati.core import Benchmark, Engine, Machine, Pairing
from hati.engine.duet import DuetEngine
from hati.engine.local import LocalEngine, say_nothing
from hati.packages import callable_only, called, load_added
from hati.subject import Trees, duet_cores

GROUP = "hati.engines"
"""The entry points of other packages."""
LOCAL = "local"


class HeldEngine(Engine, Protocol):
    """An engine that can be reserved before its first plan."""

    def hold(self, study: str) -> None:
        """Reserve what the tasks of a study need: what others have measured meanwhile is known after it."""
        ...


class EngineSetup(Struct, frozen=True):
    """What an engine is made for: benchmarks of the subject in the folder ``root``, on this machine.

    ``trees`` has the files of revisions; ``secrets`` names variables whose values are masked; ``waiting`` is called
    with a sentence where the engine has to wait. The tasks of a pair run as ``pairing`` says.
    """

    root: Path
    benchmarks: tuple[Benchmark, ...]
    machine: Machine
    trees: Trees | None = None
    secrets: tuple[str, ...] = ()
    waiting: Callable[[str], None] = say_nothing
    pairing: Pairing = Pairing.INTERLEAVED


MakeEngine = Callable[[EngineSetup], AbstractContextManager[HeldEngine]]


def local_engine(setup: EngineSetup) -> LocalEngine:
    """The engine of this machine, which runs one task after the other, or both of a pair at once."""
    about = (setup.root, setup.benchmarks, setup.machine)
    if setup.pairing is Pairing.DUET:
        cores = duet_cores(setup.benchmarks)
        return DuetEngine(*about, cores, setup.waiting, trees=setup.trees, secrets=setup.secrets)
    return LocalEngine(*about, setup.waiting, trees=setup.trees, secrets=setup.secrets)


def engine_of(name: str) -> MakeEngine:
    """What makes the engine of that name.

    Raises:
        InputError: where there is none, or its package cannot be used.
    """
    if name == LOCAL:
        return local_engine
    found: MakeEngine = load_added(GROUP, name, "engine", callable_only, (LOCAL,))
    return lambda setup: called(f"the engine {name!r}", found, setup)
