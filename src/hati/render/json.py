"""JSON text of plain values and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hati.report import Table, cell_value


def to_json(value: object) -> str:
    """The JSON text of a plain value, indented, ending in a newline.

    Raises:
        ValueError: for a number that is not finite, which JSON cannot say.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def table_json(table: Table) -> str:
    """JSON text of a table: a list with an object for each row, keyed by the columns' names, numbers unrounded.

    A column's unit stands beside it, under its name and `` unit``.
    """
    return to_json(table_rows(table))


def table_rows(table: Table) -> list[dict[str, object]]:
    """The objects of ``table_json``."""
    return [_row(table, number) for number in range(len(table.rows))]


def _row(table: Table, number: int) -> dict[str, object]:
    row: dict[str, object] = {}
    for column, cell in zip(table.columns, table.rows[number], strict=True):
        row[column.name] = cell_value(cell)
        if column.unit:
            row[f"{column.name} unit"] = column.unit
    return row


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
