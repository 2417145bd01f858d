"""Tables in the requested format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import STDOUT, Format, TableFormat, console, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from hati.report import Table


def write_table(table: Table, chosen: TableFormat, output: str = STDOUT) -> None:
    """Write a table; as JSON an object for each row, as CSV with a header."""
    write_tables((table,), chosen, output)


def write_tables(tables: Sequence[Table], chosen: TableFormat = TableFormat.TEXT, output: str = STDOUT) -> None:
    """Write tables one below the other, an empty line between them."""
    from hati import render

    if chosen is TableFormat.TEXT and output == STDOUT:
        for number, table in enumerate(tables):
            if number:
                console().print()
            render.print_table(table, console())
        return
    texts = {
        TableFormat.TEXT: render.table_text,
        TableFormat.JSON: render.table_json,
        TableFormat.MARKDOWN: render.table_markdown,
        TableFormat.CSV: render.table_csv,
    }
    write("\n".join(map(texts[chosen], tables)), output)


def write_published(values: Struct, table: Table, chosen: Format, output: str = STDOUT) -> None:
    """Write the published JSON, or the table for people."""
    if chosen is Format.JSON:
        from hati import render

        write(render.to_json(values), output)
        return
    write_table(table, TableFormat(chosen.value), output)
