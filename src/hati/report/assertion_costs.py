"""What formulas will cost, and what they have cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Setting
from hati.core.wording import counted
from hati.report.promises import ConsequencesJson, consequences
from hati.report.publishing import Of
from hati.report.quantities import duration
from hati.report.table import Align, Cell, Column, Shown, Table
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


class ExpectedRunsJson(Struct, frozen=True):
    """How often a thing is run, by all its names; ``seconds`` are those of the fewest runs."""

    methods: list[str]
    least: int
    most: int | None
    seconds: Annotated[float | None, Of("least_seconds")]


def _most(each: ExpectedRuns) -> Cell:
    return Shown("not known yet", None) if each.most is None else each.most


def _time(each: ExpectedRuns) -> Cell:
    seconds = each.least_seconds
    return Shown("not known yet" if seconds is None else f"about {duration(seconds)}", seconds)


def cost_text(cost: Cost) -> str:
    """``14 runs (7 shared), 2.1 s``."""
    shared = f" ({cost.shared:,} shared)" if cost.shared else ""
    return f"{counted(cost.runs, 'run')}{shared}, {duration(cost.seconds)}"


class DryRunJson(Struct, frozen=True, kw_only=True, tag_field="format", tag="hati-dry-run-1"):
    """The tasks that would be run, their time, what follows from their design, and how often methods are run."""

    reason: str
    runs: Annotated[int, Of(lambda planned: len(planned.plan))]
    seconds: float | None
    design: Annotated[
        ConsequencesJson | None,
        Of(lambda planned: planned.choice and consequences(planned.choice, planned.options)),
    ]
    methods: list[ExpectedRunsJson] | UnsetType = UNSET
    tasks: list[dict[str, Setting | None]]


class CostJson(Struct, frozen=True):
    """What a formula cost; shared runs are those of several formulas."""

    runs: int
    shared: int
    seconds: float


def sharing(costs: Sequence[Cost]) -> tuple[str, ...]:
    """The explanation of shared runs, where any are shared."""
    shared = any(cost.shared for cost in costs)
    return ("Shared runs are those of several formulas, and count for each of them.",) if shared else ()
