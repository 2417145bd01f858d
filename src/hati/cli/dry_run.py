"""What ``--dry-run`` prints: the tasks, the time that they would take, and what the design cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import Format, TableFormat, write
from hati.cli.tables import write_tables

if TYPE_CHECKING:
    from hati.report import Table
    from hati.wiring import PlannedCampaign

_MOST_SHOWN = 100


def write_plan(planned: PlannedCampaign, chosen: Format, output: str) -> None:
    """Write the tasks in the order in which they would be run; of formulas, first how often each method is run."""
    from hati import render

    table, methods = _table(planned), planned.methods
    if chosen is Format.JSON:
        from hati.report import DryRunJson, Joined, publish, table_rows

        write(render.to_json(publish(Joined(planned, tasks=table_rows(table), methods=methods), DryRunJson)), output)
        return
    tables = [table]
    if methods is not None:
        from hati.report import expected_runs_table

        tables = [expected_runs_table(methods), table]
    write_tables([_for(each, chosen) for each in tables], TableFormat(chosen.value), output)


def _for(table: Table, chosen: Format) -> Table:
    """All rows for programs, the first for people, with a note on how to get the others."""
    if chosen is not Format.TEXT:
        return table
    return table.first(_MOST_SHOWN, "--format json lists all")


def _table(planned: PlannedCampaign) -> Table:
    from hati.report import consequences, plan_table, runs_after_design

    choice = planned.choice
    notes = () if planned.expected is None else (f"Expected: {planned.expected.source}.",)
    if choice is not None:
        notes = (*notes, *runs_after_design(choice), *consequences(choice, planned.options).sentences())
    return plan_table(planned.plan, planned.reason, planned.seconds, planned.options, notes)
