"""Tables in the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import STDOUT, Format, TableFormat, console, write

if TYPE_CHECKING:
    from hati.report import Plain, Table


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


def write_plain(values: Plain, table: Table, chosen: Format, output: str = STDOUT) -> None:
    """Write plain values as JSON, or what people read of them as a table."""
    if chosen is Format.JSON:
        from hati import render

        write(render.to_json(values), output)
        return
    write_table(table, TableFormat(chosen.value), output)
