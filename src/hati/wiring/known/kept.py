"""Values computed from stored runs, kept as files in Hati's folder while what they are computed from is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import msgpack

import hati
from hati.core import Evidence, Run
from hati.whole_files import replace_file

T = TypeVar("T")
_DIGEST = 32


def kept(file: Path, kind: type[T], inputs: Iterable[str | bytes], compute: Callable[[], T]) -> T:
    """The value in a file if it was computed from the same inputs by the same code; else computed, and kept there.

    Where the file cannot be written, nothing is kept.
    """
    key = _digest([*_code(), *inputs])
    with suppress(OSError, msgspec.MsgspecError):
        content = file.read_bytes()
        if content.startswith(key):
            return msgpack.decode(content[_DIGEST:], type=kind, dec_hook=_assigned)
    value = compute()
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        replace_file(file, [key, msgpack.encode(value, enc_hook=dict)])
    return value


def _assigned(kind: Callable[[Any], object], value: Any) -> object:
    """Settings by name, which are the only values that need help."""
    return kind(value)


def inputs_of(evidence: Evidence) -> bytes:
    """A digest of all that the runs contribute to a conclusion: their tasks, outcomes and observations, in order."""
    return _digest(part for run in evidence.runs for part in _parts(run))


def _parts(run: Run) -> Iterable[str | bytes]:
    yield repr((run.task.id, run.machine, run.started, run.seconds, run.outcome, run.detail, run.exit, run.reset))
    for one in run.observations:
        yield repr((one.metric, one.unit, one.warmup))
        yield one.values.tobytes()


def _digest(parts: Iterable[str | bytes]) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()


@cache
def _code() -> tuple[str, ...]:
    """The versions of the code that computes, and the last change of its files, which differs where it is edited."""
    changed = max(file.stat().st_mtime_ns for file in Path(hati.__path__[0]).rglob("*.py"))
    return (*(version(name) for name in ("hati", "numpy", "scipy")), str(changed))
