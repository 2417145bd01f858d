"""The engines by their names: one table of them, to which packages add by entry points of ``hati.engines``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hati.core import Engine, Job
from hati.engine.local import EngineSetup, LocalEngine
from hati.packages import callable_only, called, load_added

GROUP = "hati.engines"
"""The entry points of other packages."""
LOCAL = "local"
MakeEngine = Callable[[EngineSetup], AbstractContextManager[Engine[Job]]]


def engine_of(name: str) -> MakeEngine:
    """What makes the engine of that name.

    Raises:
        InputError: where there is none, or its package cannot be used.
    """
    if name == LOCAL:
        return LocalEngine.of
    found: MakeEngine = load_added(GROUP, name, "engine", callable_only, (LOCAL,))
    return lambda setup: called(f"the engine {name!r}", found, setup)
