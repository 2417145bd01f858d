"""When studies were measured."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, func, select

from hati.store import schema
from hati.store.failures import UNREADABLE, damaged


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
