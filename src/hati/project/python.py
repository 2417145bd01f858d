"""How Python functions are measured: the tables ``[python]``, ``[python.recording]`` and ``[python.environment]``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from hati.core import Place
from hati.project.document import TomlTable, Value
from hati.project.metrics import duration, number, positive, share
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
    value = document.get("python")
    if value is None:
        return PythonTable()
    table = value.table()
    table.only(*keys_of("python"))
    interpreter, frozen, seed = table.get("interpreter"), table.get("frozen_modules"), table.get("hash_seed")
    return PythonTable(
        "" if interpreter is None else interpreter.line(),
        _roots(table.get("roots")),
        "" if frozen is None else "on" if frozen.truth() else "off",
        None if seed is None else _seed(seed),
        _recording(table.get("recording")),
        _environment(table.get("environment")),
        value.place,
    )


def _roots(value: Value | None) -> tuple[str, ...]:
    if value is None:
        return ()
    found = value.items()
    if not found:
        raise value.error("roots is empty", fix='as in roots = ["src", "."]')
    for root in found:
        if root.line().startswith("/") or ".." in root.line().split("/") or ":" in root.line():
            raise root.error(f"{root.line()!r} is not a folder below the project's", fix='as in roots = ["src", "."]')
    return tuple(root.line() for root in found)


def _seed(value: Value) -> int:
    if value.natural() > _LARGEST_SEED:
        raise value.error(f"hash_seed is {value.natural()}", fix=f"give one from 0 to {_LARGEST_SEED}")
    return value.natural()


def _recording(value: Value | None) -> RecordingTable:
    if value is None:
        return RecordingTable()
    table = value.table()
    table.only(*keys_of("recording"))
    observations, seconds, warmup = table.get("observations"), table.get("seconds"), table.get("warmup")
    overhead, collector, memory = table.get("overhead"), table.get("collector"), table.get("memory")
    timeout = table.get("timeout")
    return RecordingTable(
        None if observations is None else positive(observations, observations.natural()),
        None if seconds is None else positive(seconds, number(seconds)),
        None if warmup is None else warmup.natural(),
        None if overhead is None else share(overhead),
        None if collector is None else _one_of(collector, _COLLECTORS),
        None if memory is None else positive(memory, memory.natural()),
        None if timeout is None else duration(timeout),
    )


def _environment(value: Value | None) -> EnvironmentTable:
    if value is None:
        return EnvironmentTable()
    table = value.table()
    table.only(*keys_of("environment"))
    past, network = table.get("past"), table.get("network")
    return EnvironmentTable(
        Past.OWN if past is None else Past(_one_of(past, tuple(Past))),
        network is not None and network.truth(),
        _lines(table.get("extra")),
        _lines(table.get("options")),
    )


def _one_of(value: Value, known: tuple[str, ...]) -> str:
    if value.line() not in known:
        raise value.error(f"{value.name}: {value.line()!r} is none of {', '.join(known)}")
    return value.line()


def _lines(value: Value | None) -> tuple[str, ...]:
    return () if value is None else tuple(item.line() for item in value.items())
