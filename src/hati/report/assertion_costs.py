"""What formulas will cost, and what they have cost."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core.wording import counted
from hati.report.quantities import duration
from hati.report.table import Align, Cell, Column, Plain, Shown, Table
from hati.studies.assertion import Cost, ExpectedRuns

_NAMES = ", also "
_MEANT = "At least: all is decided at the earliest. At most: what the method is in is decided last."


def expected_runs_table(methods: Sequence[ExpectedRuns]) -> Table:
    """A row for each thing that is run, by all its names."""
    columns = (
        Column("method"),
        Column("runs at least", align=Align.RIGHT),
        Column("at most", align=Align.RIGHT),
        Column("time at least", align=Align.RIGHT),
    )
    rows = tuple((_NAMES.join(each.methods), each.least, _most(each), _time(each)) for each in methods)
    return Table("Methods", columns, rows, (_MEANT,))


def expected_runs_json(methods: Sequence[ExpectedRuns]) -> list[Plain]:
    """The same as plain values; ``seconds`` are those of the fewest runs."""
    return [
        {"methods": list(each.methods), "least": each.least, "most": each.most, "seconds": each.least_seconds}
        for each in methods
    ]


def _most(each: ExpectedRuns) -> Cell:
    return Shown("not known yet", None) if each.most is None else each.most


def _time(each: ExpectedRuns) -> Cell:
    seconds = each.least_seconds
    return Shown("not known yet" if seconds is None else f"about {duration(seconds)}", seconds)


def cost_text(cost: Cost) -> str:
    """``14 runs (7 shared), 2.1 s``."""
    shared = f" ({cost.shared:,} shared)" if cost.shared else ""
    return f"{counted(cost.runs, 'run')}{shared}, {duration(cost.seconds)}"


def cost_json(cost: Cost) -> Plain:
    """The same as plain values."""
    return {"runs": cost.runs, "shared": cost.shared, "seconds": cost.seconds}


def sharing(costs: Sequence[Cost]) -> tuple[str, ...]:
    """What is meant by shared, where anything is."""
    shared = any(cost.shared for cost in costs)
    return ("Shared runs are those of several formulas, and count for each of them.",) if shared else ()
