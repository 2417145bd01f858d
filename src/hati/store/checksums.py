"""What shows that a row is still as it was written."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Column, Float, Integer, LargeBinary, Table

from hati.store import schema

_OBSERVED = ("metric", "unit", "warmup", "position")


def checksum(table: Table, row: Mapping[Any, Any], observed: Iterable[Mapping[Any, Any]] = ()) -> int:
    """CRC-32 over the values of a row, and of the observations that belong to it."""
    values = [_stored(row[column.name], column) for column in _CHECKED[table]]
    values += [row[name] for name in _ADDED if name in table.c and row[name] is not None]
    found = zlib.crc32(json.dumps(values).encode())
    for each in observed:
        found = zlib.crc32(json.dumps([each[name] for name in _OBSERVED]).encode(), found)
        found = zlib.crc32(each["data"], found)
    return found


def verify(table: Table, row: Mapping[Any, Any], observed: Iterable[Mapping[Any, Any]] = ()) -> None:
    """See that a row is as it was written; of one without a checksum, that its values have the types of its columns.

    Raises:
        ValueError: where it is not.
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


def _stored(value: object, column: Column[Any]) -> object:
    """A value as the database gives it back: numbers with a fraction are doubles, and zeros have no sign."""
    return float(value) + 0.0 if isinstance(column.type, Float) and isinstance(value, int | float) else value


_ADDED = ("reset",)
"""Columns that came after checksums: of rows that have nothing in them the checksum is as it was before."""
_CHECKED = {
    table: tuple(column for column in table.columns if column.name not in {"number", "checksum", *_ADDED})
    for table in (schema.study, schema.run)
}
