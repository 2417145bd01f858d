"""Tables as comma-separated values, for other programs."""

from __future__ import annotations

import csv
from io import StringIO

from hati.core import Setting, guarded, setting_text
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
