"""How Python functions are measured: the tables ``[python]``, ``[python.recording]`` and ``[python.environment]``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from hati.core import Place
from hati.project.document import TomlTable, Value
from hati.project.metrics import duration, positive_natural, positive_number, share
from hati.project.schema import keys_of

_COLLECTORS = ("on", "off", "between")
_LARGEST_SEED = 2**32 - 1


class Past(StrEnum):
    """Where past revisions run: in an environment of their own, if they say which, or as the working tree does."""

    OWN = "own"
    TODAY = "today"


class RecordingTable(Struct, frozen=True):
    """What a run records, and ``timeout``, in seconds, after which it is killed; None where nothing is said."""

    observations: int | None = None
    seconds: float | None = None
    warmup: int | None = None
    overhead: float | None = None
    collector: str | None = None
    memory: int | None = None
    timeout: float | None = None


class EnvironmentTable(Struct, frozen=True):
    """What past revisions run in; without ``network`` nothing is downloaded for it."""

    past: Past = Past.OWN
    network: bool = False
    extra: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonTable:
    """How Python functions are measured; empty, or None, where nothing is said."""

    interpreter: str = ""
    roots: tuple[str, ...] = ()
    frozen_modules: str = ""
    hash_seed: int | None = None
    recording: RecordingTable = field(default_factory=RecordingTable)
    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    place: Place | None = field(default=None, compare=False)


def read_python(document: TomlTable) -> PythonTable:
    """Read ``[python]``; without one all is as it is where nothing is said.

    Raises:
        InputError: for what is wrong, with its place.
    """
    table = document.part("python", keys_of("python"))
    return PythonTable(
        table.read("interpreter", Value.line, ""),
        table.read("roots", _roots, ()),
        table.read("frozen_modules", lambda value: "on" if value.truth() else "off", ""),
        table.read("hash_seed", _seed, None),
        _recording(table),
        _environment(table),
        document.read("python", lambda value: value.place, None),
    )


def _roots(value: Value) -> tuple[str, ...]:
    found = value.items()
    if not found:
        raise value.error("roots is empty", fix='as in roots = ["src", "."]')
    for root in found:
        if root.line().startswith("/") or ".." in root.line().split("/") or ":" in root.line():
            raise root.error(f"{root.line()!r} is not a folder below the project's", fix='as in roots = ["src", "."]')
    return value.lines()


def _seed(value: Value) -> int:
    if value.natural() > _LARGEST_SEED:
        raise value.error(f"hash_seed is {value.natural()}", fix=f"give one from 0 to {_LARGEST_SEED}")
    return value.natural()


def _recording(python: TomlTable) -> RecordingTable:
    table = python.part("recording", keys_of("recording"))
    return RecordingTable(
        table.read("observations", positive_natural, None),
        table.read("seconds", positive_number, None),
        table.read("warmup", Value.natural, None),
        table.read("overhead", share, None),
        table.read("collector", lambda value: _one_of(value, _COLLECTORS), None),
        table.read("memory", positive_natural, None),
        table.read("timeout", duration, None),
    )


def _environment(python: TomlTable) -> EnvironmentTable:
    table = python.part("environment", keys_of("environment"))
    return EnvironmentTable(
        table.read("past", lambda value: Past(_one_of(value, tuple(Past))), Past.OWN),
        table.read("network", Value.truth, default=False),
        table.read("extra", Value.lines, ()),
        table.read("options", Value.lines, ()),
    )


def _one_of(value: Value, known: tuple[str, ...]) -> str:
    if value.line() not in known:
        raise value.error(f"{value.name}: {value.line()!r} is none of {', '.join(known)}")
    return value.line()
