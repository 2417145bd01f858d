"""Results that several machines report, of which one counts; late ones and duplicates, which do not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select, text

from hati.core import Run, convert, decode
from hati.steering import Client, MachineReport, most_reports, quorum_of, report_of, reports_needed
from hati.store import schema
from hati.store.ledger_entries import EntryKind, Verdict, append, run_content
from hati.store.ledger_queues import requirements_of
from hati.store.statements import in_pieces

_REPORTS = (
    select(schema.report, schema.ledger.c.content)
    .join(schema.ledger, schema.ledger.c.number == schema.report.c.entry)
    .where(schema.report.c.task == bindparam("task"))
    .order_by(schema.report.c.entry)
)
_OF_MACHINE = select(schema.report.c.task).where(
    schema.report.c.machine == bindparam("machine"), schema.report.c.task.in_(bindparam("tasks", expanding=True))
)
# A task is judged as its last report arrives: that an outlier has other reports that wait does not help it.
_AGREEMENTS = text("""
    SELECT count(*) FROM report WHERE machine = :machine AND verdict = 'agreed' AND entry > coalesce((
        SELECT max(last.entry) FROM report AS own JOIN report AS last ON last.task = own.task
        WHERE own.machine = :machine AND own.verdict = 'outlier'
    ), 0)
""")
_DISPUTED = text("""
    SELECT count(*) FROM report JOIN batch ON batch.number = :batch
    WHERE report.verdict IS NULL AND ' ' || batch.tasks || ' ' LIKE '% ' || report.task || ' %'
    GROUP BY report.task ORDER BY count(*) DESC LIMIT 1
""")
_UNJUDGED = text("SELECT task, batch FROM report WHERE machine = :machine AND verdict IS NULL ORDER BY entry")
_WAITING = select(schema.report.c.task, schema.report.c.batch).where(
    schema.report.c.task.in_(bindparam("tasks", expanding=True)), schema.report.c.verdict.is_(None)
)
_CLIENT = text("SELECT client FROM worker WHERE machine = :machine ORDER BY until DESC LIMIT 1")


def keep_report(
    connection: Connection, now: float, row: Row[Any], machine: str, attempt: int, run: Run, draw: float
) -> EntryKind:
    """Keep a machine's result of a task of a batch, and accept the first one on which enough machines agree.

    REPORTED if it waits for others. ``row`` is the batch with its lease, if that is held, and the task's result.
    """
    content, reports = {"attempt": attempt, "run": run_content(run)}, _reports(connection, run.task.id)
    own = next((each for each in reports if each.machine == machine), None)
    if own is not None and _same(own, content):
        return EntryKind.REPORTED if row.entry is None else EntryKind.ACCEPTED
    if own is not None or row.entry is not None:
        return set_aside(connection, now, EntryKind.DUPLICATE, row.number, machine, content)
    if row.until is None:
        return set_aside(connection, now, EntryKind.LATE, row.number, machine, content)
    hardware = _hardware(connection, machine)
    replicas = requirements_of(row.requirements).replicas
    needed = replicas
    if not reports:
        agreements = connection.execute(_AGREEMENTS, {"machine": machine}).scalar_one()
        needed = reports_needed(replicas, agreements, draw)
    reported = {**content, "machine": machine, "report": msgspec.to_builtins(report_of(machine, hardware, run))}
    append(connection, now, EntryKind.REPORTED, row.number, reported)
    return _judged(connection, now, run.task.id, needed)


def _judged(connection: Connection, now: float, task: str, needed: int) -> EntryKind:
    """Accept the report on which enough machines agree, if there is one."""
    rows = _reports(connection, task)
    found = quorum_of([convert(json.loads(row.content)["report"], MachineReport) for row in rows], needed)
    if found is None:
        return EntryKind.REPORTED
    counts = rows[found.counts]
    agreed = Verdict.TRUSTED if needed == 1 else Verdict.AGREED
    verdicts = {agreed.value: found.agreed, Verdict.OUTLIER.value: found.outliers}
    content = {"attempt": counts.attempt, "run": {"task": task}, "report": counts.entry, "verdicts": verdicts}
    append(connection, now, EntryKind.ACCEPTED, counts.batch, content)
    return EntryKind.ACCEPTED


def read_reported(connection: Connection, machine: str, tasks: Sequence[str]) -> frozenset[str]:
    """Those of the tasks of which a machine has reported a result."""
    return frozenset(connection.scalars(_OF_MACHINE, {"machine": machine, "tasks": list(tasks)}))


def read_disagreement(connection: Connection, batch: int, replicas: int) -> bool:
    """Whether as many machines reported on a task of a batch as may, without an agreement."""
    return (connection.scalar(_DISPUTED, {"batch": batch}) or 0) >= most_reports(replicas)


def read_waiting_reports(connection: Connection, tasks: Sequence[str]) -> dict[str, int]:
    """Those of the tasks of which reports wait for others, with the batch of one of these."""
    found = dict[str, int]()
    for some in in_pieces(tasks):
        found |= {row.task: row.batch for row in connection.execute(_WAITING, {"tasks": some})}
    return found


def void_reports(connection: Connection, now: float, machine: str) -> None:
    """Remove the reports of a machine that no others have confirmed or refuted yet."""
    for row in connection.execute(_UNJUDGED, {"machine": machine}).all():
        append(connection, now, EntryKind.VOIDED, row.batch, {"task": row.task, "machine": machine})


def _reports(connection: Connection, task: str) -> Sequence[Row[Any]]:
    return connection.execute(_REPORTS, {"task": task}).all()


def _same(row: Row[Any], content: Mapping[str, Any]) -> bool:
    known = json.loads(row.content)
    return all(json.dumps(known[name]) == json.dumps(content[name]) for name in ("attempt", "run"))


def _hardware(connection: Connection, machine: str) -> str:
    """The class of a machine; its own where it is not known."""
    found = connection.scalar(_CLIENT, {"machine": machine})
    return (found and decode(found, Client).hardware) or machine


MACHINE_ASIDE, ALL_ASIDE = 100, 1000
"""How many results that do not count are kept, of each machine and in all."""
ASIDE_BYTES = 2**16
"""The largest result that does not count and is kept with its values, as JSON."""
_OLDEST = text("""
    SELECT number FROM ledger WHERE what IN ('late', 'duplicate') ORDER BY number DESC LIMIT 1 OFFSET :kept
""")
_OLDEST_OF_MACHINE = text("""
    SELECT ledger.number FROM attempt JOIN ledger ON ledger.batch = attempt.batch
    WHERE attempt.machine = :machine AND ledger.what IN ('late', 'duplicate')
    AND ledger.content LIKE '{"attempt": ' || attempt.number || ',%'
    ORDER BY ledger.number DESC LIMIT 1 OFFSET :kept
""")


def set_aside(
    connection: Connection, at: float, what: EntryKind, batch: int, machine: str, content: Mapping[str, Any]
) -> EntryKind:
    """Append a result that does not count to the history.

    A large one is kept without its values, and the oldest ones are dropped: a machine may send any number.
    """
    if len(json.dumps(content)) > ASIDE_BYTES:
        content = {"attempt": content["attempt"], "run": {"task": content["run"]["task"]}}
    append(connection, at, what, batch, content)
    own = connection.scalar(_OLDEST_OF_MACHINE, {"machine": machine, "kept": MACHINE_ASIDE})
    for oldest in (own, connection.scalar(_OLDEST, {"kept": ALL_ASIDE})):
        connection.execute(delete(schema.ledger).where(schema.ledger.c.number == oldest))
    return what
