"""Tables as comma-separated values, for other programs."""

from __future__ import annotations

import csv
from io import StringIO

from hati.core import setting_text
from hati.report import Table, cell_value


def table_csv(table: Table) -> str:
    """A line of the columns' names, then one for each row: values unrounded, empty where there is none."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    for row in table.rows:
        values = map(cell_value, row)
        writer.writerow(["" if value is None else setting_text(value) for value in values])
    return text.getvalue()
