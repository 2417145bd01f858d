"""A plan as a table."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Plan
from hati.core.wording import counted
from hati.report.quantities import duration
from hati.report.table import Align, Column, Table


def plan_table(
    plan: Plan, reason: str, seconds: float | None, options: Sequence[str], notes: Sequence[str] = ()
) -> Table:
    """A row for each task in order, a column for each of the options.

    ``seconds`` is the time that all tasks would take, None where unknown; ``notes`` are more to be said.
    """
    tasks = plan.tasks
    columns = (Column("task"), Column("stage"), Column("repetition", None, Align.RIGHT), *(Column(o) for o in options))
    rows = tuple(
        (task.id, task.stage, task.repetition, *(task.configuration.get(option) for option in options))
        for task in tasks
    )
    time = "how long they take is not known yet" if seconds is None else f"about {duration(seconds)}"
    return Table("Plan", columns, rows, (f"{reason}.", f"{counted(len(tasks), 'run')}: {time}.", *notes))
