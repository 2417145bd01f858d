"""Events, and when studies were measured, as rows of the tables and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import Connection, Insert, Row, func, select

from hati.core import Event, EventKind, SeriesKey, Size, canonical_json
from hati.store import schema
from hati.store.database import UNREADABLE, damaged


def add_events(connection: Connection, insertion: Insert, events: Iterable[Event]) -> int:
    """Keep those that are not there yet; how many these are. The insertion leaves alone what is there."""
    wanted = {event.id: event for event in events}
    known = set(connection.scalars(select(schema.event.c.id)))
    missing = [wanted[name] for name in sorted(wanted) if name not in known]  # in one order: no two wait for each other
    counted = insertion.execution_options(preserve_rowcount=True)
    return sum(connection.execute(counted, _row(event)).rowcount for event in missing)


def read_events(connection: Connection, name: str) -> tuple[Event, ...]:
    """All of them, in the order of their times.

    Raises:
        MeasurementError: where one in the store of that name is not as it was written.
    """
    rows = connection.execute(select(schema.event).order_by(schema.event.c.at, schema.event.c.id))
    return tuple(_read_or_raise(row, name) for row in rows)


def _read_or_raise(row: Row[Any], name: str) -> Event:
    try:
        event = _read(row)
        if event.id != row.id:
            raise ValueError("its content is another's")
    except UNREADABLE as error:
        raise damaged(name, f"event {row.id}", error) from error
    return event


def _row(event: Event) -> dict[str, object]:
    sizes = [[*astuple(spot), *astuple(size)] for spot, size in sorted(event.sizes.items())]
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


def _read(row: Row[Any]) -> Event:
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
    """When the first and the last run of a study started, and how many runs there are."""

    first: datetime
    last: datetime
    runs: int


def read_spans(connection: Connection, name: str) -> dict[str, Span]:
    """Of every study that has runs, by its key.

    Raises:
        MeasurementError: where a time in the store of that name is none.
    """
    # Times are in UTC and written alike, so that their texts are ordered as they are.
    started = schema.run.c.started
    rows = connection.execute(
        select(schema.run.c.study, func.min(started), func.max(started), func.count()).group_by(schema.run.c.study)
    )
    try:
        return {
            key: Span(datetime.fromisoformat(first), datetime.fromisoformat(last), runs)
            for key, first, last, runs in rows
        }
    except UNREADABLE as error:
        raise damaged(name, "the time of a run", error) from error
