"""Tables, and the plan of ``--dry-run``, in the requested format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import STDOUT, Format, TableFormat, console, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from hati.document import Table
    from hati.wiring import PlannedCampaign


_MOST_SHOWN = 100


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


def write_plan(planned: PlannedCampaign, chosen: Format, output: str) -> None:
    """Write the tasks in the order of their runs; for formulas, first how often each method is run."""
    from hati import render

    table, methods = _table(planned), planned.methods
    if chosen is Format.JSON:
        from hati.document import Joined, publish, table_rows
        from hati.studies.assertion.tables import DryRunJson

        write(render.to_json(publish(Joined(planned, tasks=table_rows(table), methods=methods), DryRunJson)), output)
        return
    tables = [table]
    if methods is not None:
        from hati.studies.assertion.tables import expected_runs_table

        tables = [expected_runs_table(methods), table]
    write_tables([_for(each, chosen) for each in tables], TableFormat(chosen.value), output)


def _for(table: Table, chosen: Format) -> Table:
    """All rows for programs, the first for people, with a note on how to get the others."""
    if chosen is not Format.TEXT:
        return table
    return table.first(_MOST_SHOWN, "--format json lists all")


def _table(planned: PlannedCampaign) -> Table:
    from hati.harness.run_tables import plan_table
    from hati.studies.screening.promises import consequences, runs_after_design

    choice = planned.choice
    notes = () if planned.expected is None else (f"Expected: {planned.expected.source}.",)
    if choice is not None:
        notes = (*notes, *runs_after_design(choice), *consequences(choice, planned.options).sentences())
    return plan_table(planned.plan, planned.reason, planned.seconds, planned.options, notes)
