"""What screenings found, kept in Hati's folder as long as their runs and the code are the same: it may take seconds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import msgpack

import hati
from hati.core import Evidence, Run, digest, replace
from hati.core.wording import counted
from hati.studies.screening import AnyScreening, ScreeningConclusion
from hati.studies.screening.warnings import OF_PROGRAMS
from hati.whole_files import replace_file

if TYPE_CHECKING:
    from hati.wiring.workplace import Announce, Workplace

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


_SLOW_TO_ANALYSE = 30_000
"""The number of runs times squared options above which an analysis takes seconds."""


def announce_analysis(announce: Announce, study: AnyScreening, evidence: Evidence, doing: str) -> None:
    """Announce an analysis that may take long: ``doing``, then the number of runs."""
    if len(evidence.runs) * len(study.space.options) ** 2 > _SLOW_TO_ANALYSE:
        announce(f"{doing} {counted(len(evidence.runs), 'run')}")


def findings(place: Workplace, study: AnyScreening, evidence: Evidence, doing: str) -> ScreeningConclusion:
    """The conclusion without its warnings: the kept one if it is of the same study and runs, else it is kept.

    An analysis that may take long is announced: ``doing``, then the number of runs.

    Raises:
        MeasurementError: if no run yielded a value.
    """

    def analysed() -> ScreeningConclusion:
        announce_analysis(place.announce, study, evidence, doing)
        return study.conclude(evidence)

    return _kept(place, study, evidence, analysed)


def keep_findings(place: Workplace, study: AnyScreening, evidence: Evidence, found: ScreeningConclusion) -> None:
    """Keep the conclusion of these runs for the studies that are planned from it."""
    _kept(place, study, evidence, lambda: found)


def _kept(
    place: Workplace, study: AnyScreening, evidence: Evidence, conclude: Callable[[], ScreeningConclusion]
) -> ScreeningConclusion:
    """The kept conclusion; its warnings also depend on the advice of a command, and are not kept."""
    name = digest([study.metric.name, study.relevant, *map(str, study.space.template)], 12)
    file = place.project.root / ".hati" / "conclusions" / f"{study.id.key}-{name}"
    inputs = (repr(replace(study, remedies=OF_PROGRAMS)), inputs_of(evidence))
    return kept(file, ScreeningConclusion, inputs, lambda: replace(conclude(), warnings=()))
