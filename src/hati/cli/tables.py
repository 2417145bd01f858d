"""Tables in the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import STDOUT, TableFormat, console, write

if TYPE_CHECKING:
    from hati.report import Table


def write_table(table: Table, chosen: TableFormat, output: str = STDOUT) -> None:
    """Write a table; as JSON a list of objects, as CSV with a header."""
    from hati import render

    if chosen is TableFormat.TEXT and output == STDOUT:
        render.print_table(table, console())
        return
    texts = {
        TableFormat.TEXT: render.table_text,
        TableFormat.JSON: render.table_json,
        TableFormat.MARKDOWN: render.table_markdown,
        TableFormat.CSV: render.table_csv,
    }
    write(texts[chosen](table), output)
