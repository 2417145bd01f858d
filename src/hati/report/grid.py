"""The status of a ledger and its machines, as plain values and as tables."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from hati.core.wording import counted
from hati.report.table import Align, Column, Table

_TIME = "%Y-%m-%d %H:%M:%S"
_TURN = "waits for its turn"


class LeaseJson(Struct, frozen=True):
    """The batch that a machine runs: the attempt at it, since when, and until when it stays with the machine."""

    batch: int
    study: str
    attempt: int
    since: datetime
    until: datetime


class GridMachineJson(Struct, frozen=True):
    """A machine that has a worker or a lease; ``until`` is when its worker is gone unless it gives a sign of life."""

    id: str
    name: str
    cpus: int
    until: datetime
    lease: LeaseJson | None


class GridStudyJson(Struct, frozen=True):
    """The numbers of a study's batches by their state, of results in the last hour, and of failures of machines."""

    study: str
    waiting: int
    leased: int
    done: int
    withdrawn: int
    quarantined: int
    results: int
    failures: int


class WaitingJson(Struct, frozen=True):
    """How many batches of a study wait for the same reason, which is empty where a machine may run them."""

    study: str
    batches: int
    reason: str


class FailedBatchJson(Struct, frozen=True):
    """A batch that machines failed and that is not done: how often, and the ``error`` of the last failure."""

    batch: int
    study: str
    state: str
    failures: int
    machine: str
    at: datetime
    error: str


class GridStatusJson(Struct, frozen=True, tag_field="format", tag="hati-grid-status-1"):
    """What a store's ledger shows at a time of its database; ``results`` is the number in the last hour."""

    at: datetime
    results: int
    machines: list[GridMachineJson]
    studies: list[GridStudyJson]
    waiting: list[WaitingJson]
    failed: list[FailedBatchJson]


def grid_tables(status: GridStatusJson) -> tuple[Table, ...]:
    """Tables of machines and of batches, and where there are such, of what waits and of what failed."""
    if not status.machines and not status.studies:
        return ()
    tables = [_machines(status), _batches(status)]
    tables += [_waiting(status)] if status.waiting else []
    tables += [_failures(status)] if status.failed else []
    return tuple(tables)


def _machines(status: GridStatusJson) -> Table:
    columns = (
        Column("machine"),
        Column("CPUs", align=Align.RIGHT),
        Column("study"),
        Column("batch", align=Align.RIGHT),
        Column("since"),
        Column("until"),
    )
    rows = tuple((machine.name, machine.cpus, *_lease(machine.lease)) for machine in status.machines)
    late = sum(machine.lease is not None and machine.lease.until <= status.at for machine in status.machines)
    notes = (
        [f"Times are UTC; it is {status.at:{_TIME}}."] if rows else ["No worker is there: start one by `hati worker`."]
    )
    notes += [f"{counted(late, 'lease')} ended without a sign of life."] if late else []
    return Table("Machines", columns, rows, tuple(notes))


def _lease(lease: LeaseJson | None) -> tuple[str | int | None, ...]:
    if lease is None:
        return None, None, None, None
    return lease.study, lease.batch, f"{lease.since:{_TIME}}", f"{lease.until:{_TIME}}"


def _batches(status: GridStatusJson) -> Table:
    names = ("waiting", "leased", "done", "withdrawn", "quarantined", "failures", "results")
    columns = (Column("study"), *(Column(name, align=Align.RIGHT) for name in names))
    rows = tuple((study.study, *(getattr(study, name) for name in names)) for study in status.studies)
    return Table("Batches", columns, rows, (f"{counted(status.results, 'result')} in the last hour.",))


def _waiting(status: GridStatusJson) -> Table:
    columns = (Column("study"), Column("batches", align=Align.RIGHT), Column("reason"))
    rows = tuple((each.study, each.batches, each.reason or _TURN) for each in status.waiting)
    return Table("Waiting batches", columns, rows)


def _failures(status: GridStatusJson) -> Table:
    columns = (
        Column("batch", align=Align.RIGHT),
        Column("study"),
        Column("state"),
        Column("failures", align=Align.RIGHT),
        Column("last error"),
    )
    rows = tuple((each.batch, each.study, each.state, each.failures, each.error) for each in status.failed)
    return Table("Failed batches", columns, rows)
