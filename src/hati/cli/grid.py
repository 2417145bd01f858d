"""``hati grid``: the workers and batches in a store's ledger."""

from __future__ import annotations

import typer

from hati.cli.output import STDOUT, Format, TableFormat, check_output, write
from hati.cli.parameters import HERE, FormatOption, Output, ProjectPath, StorePlace
from hati.cli.tables import write_tables

app = typer.Typer(help="Show workers, and the batches that they run.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def grid() -> None:
    """Show workers, and the batches that they run."""


@app.command("status")
def status(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Show machines, batches, why batches wait, and what failed."""
    from hati import render
    from hati.steering.document import grid_tables
    from hati.wiring import existing_store

    check_output(output)
    found = existing_store(path, store).ledger.status()
    tables = grid_tables(found)
    if chosen is Format.JSON:
        write(render.to_json(found), output)
    elif tables:
        write_tables(tables, TableFormat(chosen.value), output)
    else:
        write("Nothing was released to workers, and no worker is there.\n", output)
