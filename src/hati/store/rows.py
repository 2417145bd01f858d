"""Convert runs, events and machines to rows of the tables and back: encoded, compressed, checked against damage."""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import Column, Connection, Float, Insert, Integer, LargeBinary, Row, Table, func, select, update

from hati.core import (
    Configuration,
    Event,
    EventKind,
    FloatArray,
    Machine,
    MachineState,
    Observations,
    Outcome,
    Resources,
    Run,
    SeriesKey,
    Size,
    Task,
    Workload,
    canonical_json,
)
from hati.store import schema
from hati.store.databases import UNREADABLE, damaged

_PLAIN = b"\x00"
_SHUFFLED_ZLIB = b"\x01"
_LEVEL = 1
_FEW = 16
"""The number of values below which compression does not pay."""
_MARK = "\ue000"
_MARKED = re.compile(f"{_MARK}[{_MARK}0]")


def encode(values: FloatArray) -> bytes:
    """Compress values of shape (n,).

    The bytes of little-endian doubles are first grouped by significance: exponents repeat, mantissas do not.
    """
    if values.size < _FEW:
        return _PLAIN + values.astype("<f8").tobytes()
    shuffled = np.ascontiguousarray(values, dtype="<f8").view(np.uint8).reshape(-1, 8).T.tobytes()
    return _SHUFFLED_ZLIB + zlib.compress(shuffled, _LEVEL)


def decode(data: bytes) -> FloatArray:
    """The values of shape (n,) that ``encode`` compressed.

    Raises:
        ValueError: where the bytes are not from ``encode``.
    """
    try:
        if data[:1] == _PLAIN:
            return np.frombuffer(data[1:], dtype="<f8").astype(np.float64)
        if data[:1] != _SHUFFLED_ZLIB:
            raise ValueError("unknown codec")
        raw = np.frombuffer(zlib.decompress(data[1:]), dtype=np.uint8)
        values: FloatArray = np.ascontiguousarray(raw.reshape(8, -1).T).view("<f8").ravel().astype(np.float64)
    except (TypeError, zlib.error) as error:
        raise ValueError(f"the observations cannot be read: {error}") from error
    return values


def encode_text(text: str) -> str:
    """A text with the character U+0000 escaped, which programs may print and PostgreSQL cannot store."""
    return text.replace(_MARK, 2 * _MARK).replace("\0", f"{_MARK}0") if "\0" in text or _MARK in text else text


def decode_text(text: str) -> str:
    """The text that ``encode_text`` encoded."""
    return _MARKED.sub(lambda found: "\0" if found[0][1] == "0" else _MARK, text) if _MARK in text else text


_OBSERVED = ("metric", "unit", "warmup", "position")


def checksum(table: Table, row: Mapping[Any, Any], observed: Iterable[Mapping[Any, Any]] = ()) -> int:
    """The CRC-32 over the values of a row and of its observations."""
    values = [_stored(row[name]) if isfloat else row[name] for name, isfloat in _CHECKED[table]]
    values += [row[name] for name in _ADDED if name in table.c and row[name] is not None]
    found = zlib.crc32(json.dumps(values).encode())
    for each in observed:
        found = zlib.crc32(_heading(*(each[name] for name in _OBSERVED)), found)
        found = zlib.crc32(each["data"], found)
    return found


@lru_cache(maxsize=256, typed=True)
def _heading(*values: object) -> bytes:
    """The values of observations without their data, which are the same in the runs of a benchmark."""
    return json.dumps(values).encode()


def verify(table: Table, row: Mapping[Any, Any], observed: Iterable[Mapping[Any, Any]] = ()) -> None:
    """Check the checksum of a row; without a checksum, that its values have the types of its columns.

    Raises:
        ValueError: where the row is damaged.
        TypeError: likewise.
    """
    if row["checksum"] is None:
        _verify_types(table, row)
        for each in observed:
            _verify_types(schema.observations, each)
    elif row["checksum"] != checksum(table, row, observed):
        raise ValueError("its checksum differs")


def _verify_types(table: Table, row: Mapping[Any, Any]) -> None:
    for column in table.columns:
        value = row[column.name]
        if not (column.nullable if value is None else isinstance(value, _kind(column))):
            raise ValueError(f"its {column.name} is {value!r}")


def _kind(column: Column[Any]) -> type | tuple[type, ...]:
    if isinstance(column.type, Float):
        return (float, int)
    return int if isinstance(column.type, Integer) else bytes if isinstance(column.type, LargeBinary) else str


def _stored(value: object) -> object:
    """A value as the database returns it from a column of floats: a double, and zero has no sign."""
    return float(value) + 0.0 if isinstance(value, int | float) else value


_ADDED = ("reset",)
"""The columns that were added after checksums: for rows without a value there, the checksum is as before."""
_CHECKED = {
    table: tuple(
        (column.name, isinstance(column.type, Float))
        for column in table.columns
        if column.name not in {"number", "checksum", *_ADDED}
    )
    for table in (schema.study, schema.run, schema.machine)
}


_RESOURCES = (
    "wall_time",
    "user_time",
    "system_time",
    "peak_memory",
    "voluntary_switches",
    "involuntary_switches",
    "load",
    "pressure",
    "steal",
)
_NOT_EVERYWHERE = {"pressure", "steal"}


def run_rows(run: Run) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The row of a run, and the rows of its observations without the run's number."""
    observed = [
        {"metric": o.metric, "unit": o.unit, "warmup": o.warmup, "position": position, "data": encode(o.values)}
        for position, o in enumerate(run.observations)
    ]
    row = _run_row(run)
    return {**row, "checksum": checksum(schema.run, row, observed)}, observed


def _run_row(run: Run) -> dict[str, object]:
    task = run.task
    return {
        "task": task.id,
        "study": task.study,
        "stage": task.stage,
        "benchmark": task.benchmark,
        "configuration": task.configuration.key,
        "revision": task.revision,
        "workload": task.workload.key,
        "repetition": task.repetition,
        "machine": run.machine,
        "started": run.started.isoformat(),
        "seconds": run.seconds,
        "outcome": run.outcome.value,
        "detail": encode_text(run.detail),
        "exit": run.exit,
        "output": encode_text(run.output),
        **{name: run.resources and getattr(run.resources, name) for name in _RESOURCES},
        "reset": None if run.reset is None else float(run.reset),
    }


def read_run(row: Row[Any], observed: Sequence[Row[Any]]) -> Run:
    """A run from its row and the rows of its observations.

    Raises:
        ValueError: or another of ``UNREADABLE``, where they are damaged.
    """
    verify(schema.run, row._mapping, [o._mapping for o in observed])
    task = Task(
        study=row.study,
        stage=row.stage,
        benchmark=row.benchmark,
        configuration=_configuration(row.configuration),
        revision=row.revision,
        workload=_workload(row.workload),
        repetition=row.repetition,
    )
    if task.id != row.task:
        raise ValueError("its task is another")
    return Run(
        task=task,
        machine=row.machine,
        started=datetime.fromisoformat(row.started),
        seconds=row.seconds,
        outcome=Outcome(row.outcome),
        detail=decode_text(row.detail),
        exit=row.exit,
        output=decode_text(row.output),
        resources=_resources(row),
        observations=tuple(map(_observations, observed)),
        reset=row.reset,
    )


@lru_cache(maxsize=4096)  # many runs have the same ones
def _configuration(text: str) -> Configuration:
    return Configuration(json.loads(text))


@lru_cache(maxsize=4096)
def _workload(text: str) -> Workload:
    return Workload(json.loads(text))


def _observations(row: Row[Any]) -> Observations:
    if not row.metric:
        raise ValueError("a metric has no name")
    return Observations(row.metric, row.unit, decode(row.data), row.warmup)


def _resources(row: Row[Any]) -> Resources | None:
    if row.wall_time is None:
        return None
    values = {name: getattr(row, name) for name in _RESOURCES}
    if any(values[name] is None for name in _RESOURCES if name not in _NOT_EVERYWHERE):
        raise ValueError("its resources are not whole")
    return Resources(**values)


def add_events(connection: Connection, insertion: Insert, events: Iterable[Event]) -> int:
    """Store missing events, and return their number; ``insertion`` does not change existing rows."""
    wanted = {event.id: event for event in events}
    known = set(connection.scalars(select(schema.event.c.id)))
    missing = [wanted[name] for name in sorted(wanted) if name not in known]  # in a fixed order: no deadlocks
    counted = insertion.execution_options(preserve_rowcount=True)
    return sum(connection.execute(counted, _event_row(event)).rowcount for event in missing)


def read_events(connection: Connection, name: str) -> tuple[Event, ...]:
    """All events, in the order of their times.

    Raises:
        MeasurementError: where a row in the store ``name`` is damaged.
    """
    rows = connection.execute(select(schema.event).order_by(schema.event.c.at, schema.event.c.id))
    return tuple(_read_or_raise(row, name) for row in rows)


def _read_or_raise(row: Row[Any], name: str) -> Event:
    try:
        event = _read_event(row)
        if event.id != row.id:
            raise ValueError("its content is another's")
    except UNREADABLE as error:
        raise damaged(name, f"event {row.id}", error) from error
    return event


def _event_row(event: Event) -> dict[str, object]:
    sizes = [[*astuple(spot), *size.values] for spot, size in sorted(event.sizes.items())]
    return {
        "id": event.id,
        "finding": event.finding,
        "what": event.what.value,
        "at": event.at.isoformat(),
        "study": event.study,
        "reference": event.reference,
        "revision": event.revision,
        "sizes": canonical_json(sizes),
        "author": event.author,
        "reason": event.reason,
    }


def _read_event(row: Row[Any]) -> Event:
    sizes = {SeriesKey(*one[:5]): Size(*one[5:]) for one in json.loads(row.sizes)}
    return Event(
        finding=row.finding,
        what=EventKind(row.what),
        at=datetime.fromisoformat(row.at),
        study=row.study,
        reference=row.reference,
        revision=row.revision,
        sizes=sizes,
        author=row.author,
        reason=row.reason,
    )


class Span(Struct, frozen=True):
    """The starts of the first and the last of several runs, and the number of runs."""

    first: datetime
    last: datetime
    runs: int


def read_spans(connection: Connection, name: str, study: str | None = None) -> dict[str, Span]:
    """The spans of all studies with runs, by their keys; for one study, by the machine fingerprints of its runs.

    Raises:
        MeasurementError: where a time in the store ``name`` is damaged.
    """
    # Times are in UTC and in one format, so that their texts sort as they do.
    started = schema.run.c.started
    by = schema.run.c.study if study is None else schema.run.c.machine
    query = select(by, func.min(started), func.max(started), func.count()).group_by(by)
    rows = connection.execute(query if study is None else query.where(schema.run.c.study == study))
    try:
        return {
            key: Span(datetime.fromisoformat(first), datetime.fromisoformat(last), runs)
            for key, first, last, runs in rows
        }
    except UNREADABLE as error:
        raise damaged(name, "the time of a run", error) from error


def add_machine(connection: Connection, insertion: Insert, machine: Machine) -> None:
    """Store a machine's missing states; ``insertion`` does not change existing rows.

    If a state is stored with an identity, such as that from another user of the machine, the others get the same one.
    """
    table, own = schema.machine.c, schema.machine.c.fingerprint.in_(machine.fingerprints)
    rows = connection.execute(select(table.fingerprint, table.identity).where(own).order_by(table.fingerprint)).all()
    known = {row.fingerprint: row.identity for row in rows}
    if set(known) == set(machine.fingerprints) and all(known.values()):
        return
    identity = known.get(machine.id) or next(filter(None, known.values()), machine.id)
    for state in sorted(machine.states, key=lambda state: state.fingerprint):  # in a fixed order: no deadlocks
        connection.execute(insertion, _machine_row(state, identity))
    for state in machine.states:
        if known.get(state.fingerprint, identity) is None:  # stored when states had no identity
            same = table.fingerprint == state.fingerprint
            connection.execute(update(schema.machine).where(same).values(**_machine_row(state, identity)))


def read_machines(connection: Connection, name: str) -> tuple[Machine, ...]:
    """All machines, by their identities; a machine's states in the order in which they were first observed.

    Raises:
        MeasurementError: where a row in the store ``name`` is damaged.
    """
    states = defaultdict[str, list[MachineState]](list)
    for row in connection.execute(select(schema.machine)):
        states[row.identity or row.fingerprint].append(_read_state(row, name))
    return tuple(Machine(tuple(sorted(own, key=partial(_place, identity)))) for identity, own in sorted(states.items()))


def _place(identity: str, state: MachineState) -> tuple[bool, str, str]:
    """The sort key of a machine's states: first the one that is its identity, then by the time of first observation."""
    since = state.since.isoformat() if state.since else ""
    return state.fingerprint != identity, since, state.fingerprint


def _machine_row(state: MachineState, identity: str) -> dict[str, object]:
    row = {
        "fingerprint": state.fingerprint,
        "properties": canonical_json(state.properties),
        "identity": identity,
        "since": state.since.isoformat() if state.since else None,
    }
    return {**row, "checksum": checksum(schema.machine, row)}


def _read_state(row: Row[Any], name: str) -> MachineState:
    try:
        verify(schema.machine, row._mapping)
        since = None if row.since is None else datetime.fromisoformat(row.since)
        state = MachineState(tuple((str(key), str(value)) for key, value in json.loads(row.properties)), since)
        if state.fingerprint != row.fingerprint:
            raise ValueError("its properties are another's")
    except UNREADABLE as error:
        raise damaged(name, f"machine {row.fingerprint}", error) from error
    return state
