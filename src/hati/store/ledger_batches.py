"""Batches in the ledger: their leases and attempts, what is left of them, and how they end.

All is done in a transaction of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Row, and_, bindparam, delete, select, text, update

from hati.core import Batch, Job, replace
from hati.steering import Client, ClientKind
from hati.store import schema
from hati.store.ledger_claims import read_counted
from hati.store.ledger_entries import AttemptOutcome, BatchState, EntryKind, append, batch_of
from hati.store.ledger_queues import OVERDUE, requirements_of
from hati.store.ledger_reports import read_disagreement, read_reported
from hati.store.statements import change, row_of, rows_among

ATTEMPTS = 3
"""The number of failures by machines after which a batch is quarantined."""
VOLUNTEERS_ATTEMPTS = 9
"""The same for volunteers that have returned a result, who may leave in the middle of a run."""
DISAGREE = "too many machines reported different results of a task"

AnyRow = Row[*tuple[Any, ...]]


class Lease(Struct, frozen=True):
    """A batch leased to a machine, without the jobs that have a result; ``attempt`` fences its results."""

    number: int
    attempt: int
    machine: str
    worker: str
    until: float
    batch: Batch[Job]


class Attempt(Struct, frozen=True):
    """A machine's attempt at a batch: ``choice`` is why it got it, ``reason`` why it ended; in seconds since 1970."""

    batch: int
    number: int
    machine: str
    worker: str
    began: float
    ended: float | None
    outcome: AttemptOutcome | None
    reason: str
    choice: str | None


OUT = (BatchState.OPEN.value, BatchState.LEASED.value)
# Statements are built once: building one for each call takes several times as long as the database.
ATTEMPT = (
    select(schema.attempt, schema.ledger.c.content)
    .join(schema.ledger, schema.ledger.c.number == schema.attempt.c.batch)
    .where(schema.attempt.c.batch == bindparam("batch"), schema.attempt.c.number == bindparam("attempt"))
)
BATCH = (
    select(schema.batch.c.attempts, schema.batch.c.tasks, schema.batch.c.requirements, schema.ledger.c.content)
    .join_from(schema.batch, schema.ledger, schema.ledger.c.number == schema.batch.c.number)
    .where(schema.batch.c.number == bindparam("number"))
)
SAME = select(schema.batch.c.number, schema.batch.c.state, schema.batch.c.requirements).where(
    schema.batch.c.key == bindparam("key")
)
_CONTENT = select(schema.ledger.c.content).where(schema.ledger.c.number == bindparam("number"))
_RESULTS = select(schema.result)
STATES = select(schema.batch.c.number, schema.batch.c.state).where(
    schema.batch.c.number.in_(bindparam("numbers", expanding=True))
)
CONTENTS = (
    select(schema.result.c.task, schema.ledger.c.content)
    .join_from(schema.result, schema.ledger, schema.result.c.entry == schema.ledger.c.number)
    .where(schema.result.c.task.in_(bindparam("tasks", expanding=True)))
    .order_by(schema.ledger.c.number)
)
_STATE = select(
    schema.batch.c.number,
    schema.batch.c.state,
    schema.batch.c.requirements,
    schema.batch.c.tasks,
    schema.batch.c.failures,
    schema.batch.c.machine,
    schema.lease.c.machine.label("holder"),
    schema.lease.c.attempt,
    schema.lease.c.worker,
    schema.lease.c.until,
)
LEASED = _STATE.join_from(schema.batch, schema.lease, schema.lease.c.batch == schema.batch.c.number)
_OWN = and_(
    schema.lease.c.batch == bindparam("batch"),
    schema.lease.c.attempt == bindparam("attempt"),
    schema.lease.c.worker == bindparam("worker"),
)
_HELD = LEASED.where(_OWN)
_LEASE = (
    LEASED.add_columns(schema.ledger.c.content)
    .join(schema.ledger, schema.ledger.c.number == schema.batch.c.number)
    .where(schema.batch.c.number == bindparam("number"))
)
TO_JUDGE = (
    _STATE.add_columns(schema.result.c.batch.label("accepted_in"), schema.result.c.entry)
    .select_from(
        schema.batch.outerjoin(schema.lease, _OWN).outerjoin(schema.result, schema.result.c.task == bindparam("task"))
    )
    .where(schema.batch.c.number == bindparam("batch"))
)
DUE = LEASED.where(schema.lease.c.until <= bindparam("now")).order_by(schema.batch.c.number)
ANY_OVERDUE = text(f"SELECT {OVERDUE}")
_ENTER = text("""
    INSERT INTO worker (key, machine, client, seen, until) VALUES (:worker, :machine, :client, :now, :until)
    ON CONFLICT (key) DO UPDATE SET machine = excluded.machine, client = excluded.client, seen = excluded.seen,
    until = excluded.until
""")
RECORD_CLIENT = text("""
    INSERT INTO client (machine, client, seen) VALUES (:machine, :client, :now)
    ON CONFLICT (machine) DO UPDATE SET client = excluded.client, seen = excluded.seen
""")
STAY = (
    update(schema.worker)
    .where(schema.worker.c.key.in_((bindparam("own"), bindparam("volunteer"))))
    .values(seen=bindparam("now"), until=bindparam("end"))
)
_RECORD_SEEN = text("""
    UPDATE client SET seen = (SELECT max(seen) FROM worker WHERE worker.machine = client.machine)
    WHERE machine IN (SELECT machine FROM worker WHERE until <= :limit OR key = :key)
""")
_REMOVE_WORKER = delete(schema.worker).where(schema.worker.c.key == bindparam("key"))
_REMOVE_GONE = delete(schema.worker).where(schema.worker.c.until <= bindparam("limit"))


def _state_after(connection: Connection, row: AnyRow, outcome: AttemptOutcome) -> BatchState:
    """The state of a leased batch after an attempt."""
    replicas = requirements_of(row.requirements).replicas
    if outcome is AttemptOutcome.DONE and (replicas == 1 or all_answered(connection, row.tasks.split())):
        return BatchState.DONE
    if BatchState(row.state) is BatchState.ENDING:
        return BatchState.WITHDRAWN
    if outcome is AttemptOutcome.DONE:
        disagree = read_disagreement(connection, row.number, replicas)
        return BatchState.QUARANTINED if disagree else BatchState.OPEN
    return BatchState.QUARANTINED if outcome.counted and _exhausted(connection, row) else BatchState.OPEN


def _exhausted(connection: Connection, row: AnyRow) -> bool:
    """Whether machines have failed a leased batch too often, the one that has it included."""
    if _for_volunteers(row):
        return read_counted(connection, row.number, row.attempt) >= VOLUNTEERS_ATTEMPTS
    failures: int = row.failures
    return failures + 1 >= ATTEMPTS


def _for_volunteers(row: AnyRow) -> bool:
    return requirements_of(row.requirements).kind is ClientKind.VOLUNTEER


def lease_values(lease: Lease) -> dict[str, object]:
    """The parameters of statements on a lease."""
    return {"batch": lease.number, "attempt": lease.attempt, "worker": lease.worker}


def held_by(connection: Connection, lease: Lease) -> AnyRow | None:
    """A lease with the state of its batch; None where it is lost."""
    held: AnyRow | None = row_of(connection, _HELD, lease_values(lease))
    return held


def held_lease(connection: Connection, now: float, number: int) -> Lease | None:
    """The lease of a batch; None where its tasks got their results in others, which ends it."""
    row = connection.execute(_LEASE, {"number": number}).one()
    rest = rest_of(connection, row, row.holder)
    if rest is None:
        end_attempt(connection, now, row, AttemptOutcome.DONE, "")
        return None
    return Lease(number, row.attempt, row.holder, row.worker, row.until, rest)


def rest_of(connection: Connection, row: AnyRow, machine: str) -> Batch[Job] | None:
    """The jobs of a released batch without a result, where several machines have to agree also from this machine.

    None where there are none.
    """
    batch, tasks = batch_of(row.content), row.tasks.split()
    replicated = requirements_of(row.requirements).replicas > 1
    wanted = unreported(connection, machine, tasks) if replicated else set(tasks) - set(results_of(connection, tasks))
    left = tuple(job for job in batch.members if job.task.id in wanted)
    return replace(batch, members=left) if left else None


def unreported(connection: Connection, machine: str, tasks: Sequence[str]) -> set[str]:
    """The tasks that have no result, and none from this machine."""
    return set(tasks) - set(results_of(connection, tasks)) - read_reported(connection, machine, tasks)


def all_answered(connection: Connection, tasks: Sequence[str]) -> bool:
    """Whether all of the tasks have results."""
    return len(results_of(connection, tasks)) == len(tasks)


def end_attempt(connection: Connection, now: float, row: AnyRow, outcome: AttemptOutcome, reason: str) -> None:
    """End the attempt at a leased batch."""
    state = _state_after(connection, row, outcome)
    disagree = outcome is AttemptOutcome.DONE and state is BatchState.QUARANTINED
    content = {
        "attempt": row.attempt,
        "outcome": outcome.value,
        "reason": DISAGREE if disagree else reason,
        "state": state.value,
        "machine": _origin(connection, row, outcome),
    }
    append(connection, now, EntryKind.ENDED, row.number, content)


def _origin(connection: Connection, row: AnyRow, outcome: AttemptOutcome) -> str | None:
    """The machine to which a leased batch is bound, None where nothing of it has a result."""
    if not requirements_of(row.requirements).bound:
        return None
    begun = outcome is AttemptOutcome.DONE or results_of(connection, row.tasks.split())
    machine: str | None = row.holder if begun else row.machine
    return machine


def withdraw_batch(connection: Connection, now: float, number: int, state: BatchState) -> None:
    """Withdraw a batch that is not done: at once, or at the end of its attempt."""
    if state.value in OUT:
        after = BatchState.WITHDRAWN if state is BatchState.OPEN else BatchState.ENDING
        append(connection, now, EntryKind.WITHDRAWN, number, {"state": after.value})


def content_of(connection: Connection, number: int) -> str | None:
    """The content of an entry, as JSON."""
    content: str | None = connection.scalar(_CONTENT, {"number": number})
    return content


def results_of(connection: Connection, tasks: Sequence[str]) -> dict[str, AnyRow]:
    """The accepted results of tasks."""
    return {row.task: row for row in rows_among(connection, _RESULTS, schema.result.c.task, tasks)}


def enter_worker(connection: Connection, worker: str, client: Client, now: float, seconds: float) -> None:
    """Enter a worker, or its sign of life, for a time in seconds."""
    key = client.machine if client.kind is ClientKind.VOLUNTEER else worker  # each claim of it may have another name
    about = {"worker": key, "machine": client.machine, "client": msgspec.json.encode(client).decode()}
    change(connection, _ENTER, {**about, "now": now, "until": now + seconds})


def remove_worker(connection: Connection, worker: str) -> None:
    """Remove a worker that has ended."""
    change(connection, _RECORD_SEEN, {"limit": 0.0, "key": worker})
    change(connection, _REMOVE_WORKER, {"key": worker})


def remove_gone(connection: Connection, limit: float) -> None:
    """Remove the workers whose time was over at a time."""
    change(connection, _RECORD_SEEN, {"limit": limit, "key": ""})
    change(connection, _REMOVE_GONE, {"limit": limit})


def attempt_of(row: Row[Any]) -> Attempt:
    """An attempt from its row."""
    outcome = None if row.outcome is None else AttemptOutcome(row.outcome)
    return Attempt(
        row.batch, row.number, row.machine, row.worker, row.began, row.ended, outcome, row.reason, row.choice
    )
