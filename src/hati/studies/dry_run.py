"""The dry run of a study of any kind: published values, and the table of how often methods are run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Setting
from hati.document.document import Cell, Shown, Table, columns_of, duration
from hati.document.publishing import Of
from hati.studies.assertion import ExpectedRuns
from hati.studies.screening.promises import ConsequencesJson, consequences

_NAMES = ", also "
_MEANT = (
    "At least: every formula is decided at the first look. At most: the formulas with this method are decided last."
)


def expected_runs_table(methods: Sequence[ExpectedRuns]) -> Table:
    """A row for each method that is run, with all its names."""
    columns = columns_of("method | > runs at least | > at most | > time at least")
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
