"""What ``--dry-run`` prints: the tasks, and the time that they would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.output import Format, TableFormat
from hati.cli.tables import write_table

if TYPE_CHECKING:
    from hati.wiring import Rehearsal


def write_rehearsal(rehearsal: Rehearsal, chosen: Format, output: str) -> None:
    """Write the tasks in the order in which they would be run."""
    from hati.report import plan_table

    table = plan_table(rehearsal.plan, rehearsal.reason, rehearsal.seconds, rehearsal.options)
    write_table(table, TableFormat(chosen.value), output)
