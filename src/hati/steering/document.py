"""Tables of the status of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hati.core.wording import counted, listed
from hati.document.document import Align, Column, Table
from hati.steering.choice import ClientKind
from hati.steering.status import AwayMachine, LeaseStatus, LedgerStatus

_TIME = "%Y-%m-%d %H:%M:%S"
_TURN = "waits for its turn"
_DAY_SECONDS, _MOST_AWAY = 86_400.0, 20
_FORGETS = {
    ClientKind.WORKER: "`hati grid forget NAME`",
    ClientKind.VOLUNTEER: "`hati grid revoke NAME` for a volunteer",
}


def grid_tables(status: LedgerStatus) -> tuple[Table, ...]:
    """Tables of machines and batches and, if there are any, of machines that left, settings, and failures."""
    away = _long_away(status)
    if not status.machines and not status.studies and not status.settings and not away:
        return ()
    tables = [_machines(status), _batches(status)]
    tables += [_away(status, away)] if away else []
    tables += [_settings(status)] if status.settings else []
    tables += [_waiting(status)] if status.waiting else []
    tables += [_failures(status)] if status.failed else []
    return tuple(tables)


def _machines(status: LedgerStatus) -> Table:
    columns = (
        Column("machine"),
        Column("CPUs", align=Align.RIGHT),
        Column("study"),
        Column("batch", align=Align.RIGHT),
        Column("since"),
        Column("until"),
        Column("chosen as"),
    )
    rows = tuple((machine.name, machine.cpus, *_lease(machine.lease)) for machine in status.machines)
    late = sum(machine.lease is not None and machine.lease.until <= status.at for machine in status.machines)
    notes = (
        [f"Times are UTC; it is {status.at:{_TIME}}."] if rows else ["No worker is there: start one by `hati worker`."]
    )
    notes += [f"{counted(late, 'lease')} ended without a sign of life."] if late else []
    return Table("Machines", columns, rows, tuple(notes))


def _lease(lease: LeaseStatus | None) -> tuple[str | int | None, ...]:
    if lease is None:
        return None, None, None, None, None
    return lease.study, lease.batch, f"{lease.since:{_TIME}}", f"{lease.until:{_TIME}}", lease.reason


def _long_away(status: LedgerStatus) -> list[AwayMachine]:
    """The machines that were seen over a day ago."""
    return [each for each in status.away if each.seen is None or _seconds_since(status, each.seen) >= _DAY_SECONDS]


def _seconds_since(status: LedgerStatus, seen: datetime) -> float:
    return (status.at - seen).total_seconds()


def _away(status: LedgerStatus, machines: Sequence[AwayMachine]) -> Table:
    columns = (Column("machine"), Column("kind"), Column("last sign"), Column("ago", align=Align.RIGHT))
    rows = tuple(
        (
            each.name,
            each.kind.value,
            None if each.seen is None else f"{each.seen:{_TIME}}",
            None if each.seen is None else counted(int(_seconds_since(status, each.seen) / _DAY_SECONDS), "day"),
        )
        for each in machines[:_MOST_AWAY]
    )
    kinds = {each.kind for each in machines}
    commands = listed(command for kind, command in _FORGETS.items() if kind in kinds)
    notes = [f"Studies are planned for what these machines have, and wait for them. To end that: {commands}."]
    notes += [f"{len(machines) - _MOST_AWAY:,} more are not shown."] if len(machines) > _MOST_AWAY else []
    return Table("Machines without a worker", columns, rows, tuple(notes))


def _batches(status: LedgerStatus) -> Table:
    names = ("waiting", "leased", "done", "withdrawn", "quarantined", "failures", "results")
    columns = (Column("study"), *(Column(name, align=Align.RIGHT) for name in names))
    rows = tuple((study.study, *(getattr(study, name) for name in names)) for study in status.studies)
    return Table("Batches", columns, rows, (f"{counted(status.results, 'result')} in the last hour.",))


def _settings(status: LedgerStatus) -> Table:
    columns = (Column("option"), Column("setting"), Column("machines"), Column("there now"))
    rows = tuple(
        (each.option, each.setting, ", ".join(each.machines) or None, ", ".join(each.present) or None)
        for each in status.settings
    )
    missing = [f"{each.option}={each.setting}" for each in status.settings if not each.machines]
    notes = (f"No known machine has {listed(missing)}, which studies leave out.",) if missing else ()
    return Table("Settings of machines", columns, rows, notes)


def _waiting(status: LedgerStatus) -> Table:
    columns = (Column("study"), Column("batches", align=Align.RIGHT), Column("reason"))
    rows = tuple((each.study, each.batches, each.reason or _TURN) for each in status.waiting)
    return Table("Waiting batches", columns, rows)


def _failures(status: LedgerStatus) -> Table:
    columns = (
        Column("batch", align=Align.RIGHT),
        Column("study"),
        Column("state"),
        Column("failures", align=Align.RIGHT),
        Column("last error"),
    )
    rows = tuple((each.batch, each.study, each.state, each.failures, each.error) for each in status.failed)
    return Table("Failed batches", columns, rows)
