"""What ``--dry-run`` prints: the tasks, the time that they would take, and what the design cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import Format, TableFormat, write
from hati.cli.tables import write_table, write_tables

if TYPE_CHECKING:
    from hati.report import Table
    from hati.wiring import PlannedAssertion, PlannedCampaign

_MOST_SHOWN = 100


def write_plan(rehearsal: PlannedCampaign, chosen: Format, output: str) -> None:
    """Write the tasks in the order in which they would be run."""
    write_table(_for(_table(rehearsal), chosen), TableFormat(chosen.value), output)


def write_planned_formulas(rehearsed: PlannedAssertion, chosen: Format, output: str) -> None:
    """The same of formulas: first how often each of their methods is run."""
    from hati import render
    from hati.report import expected_runs_json, expected_runs_table

    whole = rehearsed.whole
    tables = (expected_runs_table(rehearsed.methods), _table(whole))
    if chosen is Format.JSON:
        told = {
            "reason": whole.reason,
            "methods": expected_runs_json(rehearsed.methods),
            "runs": len(whole.plan),
            "seconds": whole.seconds,
            "tasks": render.table_rows(tables[1]),
        }
        write(render.to_json(told), output)
    else:
        write_tables([_for(table, chosen) for table in tables], TableFormat(chosen.value), output)


def write_planned_design(rehearsal: PlannedCampaign, chosen: Format, output: str) -> None:
    """The same of a screening that is planned for an effect: JSON has what follows from the design, and the tasks."""
    if chosen is not Format.JSON:
        write_plan(rehearsal, chosen, output)
        return
    from hati import render
    from hati.report import consequences

    choice = rehearsal.choice
    told = {
        "reason": rehearsal.reason,
        "runs": len(rehearsal.plan),
        "seconds": rehearsal.seconds,
        "design": None if choice is None else consequences(choice, rehearsal.options).to_json(),
        "tasks": render.table_rows(_table(rehearsal)),
    }
    write(render.to_json(told), output)


def _for(table: Table, chosen: Format) -> Table:
    """All rows for programs, the first for people, who are told how to have the others."""
    if chosen is not Format.TEXT:
        return table
    return table.first(_MOST_SHOWN, "--format json lists all")


def _table(rehearsal: PlannedCampaign) -> Table:
    from hati.report import consequences, plan_table, runs_after_design

    choice = rehearsal.choice
    notes = () if rehearsal.expected is None else (f"Expected: {rehearsal.expected.source}.",)
    if choice is not None:
        notes = (*notes, *runs_after_design(choice), *consequences(choice, rehearsal.options).sentences())
    return plan_table(rehearsal.plan, rehearsal.reason, rehearsal.seconds, rehearsal.options, notes)
