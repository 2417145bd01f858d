"""Tables and plain values for other programs: CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO

from hati.core import NotInstalledError, Setting, guarded, setting_text
from hati.report import Table, cell_value


def table_csv(table: Table) -> str:
    """A line of the columns' names, then one for each row: values unrounded, empty where there is none."""
    lines = [_line([guarded(column.name) for column in table.columns])]
    for row in table.rows:
        values = map(cell_value, row)
        lines.append(_line(["" if value is None else _field(value) for value in values]))
    return "".join(lines)


def _field(value: Setting) -> str:
    """A value's text; that which a spreadsheet would take for a formula has an apostrophe before it."""
    return guarded(value) if isinstance(value, str) else setting_text(value)


def _line(fields: list[str]) -> str:
    r"""A record that ends in a newline; written with ``\r\n`` first, so that both characters are quoted in fields."""
    text = StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


def table_parquet(table: Table) -> bytes:
    """A Parquet file with the columns' names; a column whose values are of several types becomes text.

    Raises:
        NotInstalledError: without pyarrow.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise NotInstalledError("Parquet needs pyarrow", fix="install it: pip install 'hati[parquet]'") from error
    columns = {}
    for position, column in enumerate(table.columns):
        values = [cell_value(row[position]) for row in table.rows]
        kinds = {
            "number" if type(value) in {int, float} else type(value).__name__ for value in values if value is not None
        }
        mixed = len(kinds) > 1
        columns[column.name] = [None if v is None else setting_text(v) for v in values] if mixed else values
    out = BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


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
