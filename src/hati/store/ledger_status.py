"""What the ledger shows of machines: what one may claim, and the status of batches, leases and results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, bindparam, column, delete, func, select, text

from hati.steering import (
    Client,
    ClientKind,
    FailedBatch,
    LeaseStatus,
    LedgerStatus,
    MachineStatus,
    Queue,
    Requirements,
    StudyStatus,
    Waiting,
    obstacle,
    unmet,
)
from hati.store import schema
from hati.store.ledger_entries import AttemptOutcome, BatchState, EntryKind, append
from hati.store.ledger_queues import OVERDUE, read_lengths, requirements_of
from hati.store.statements import in_pieces, row_of

HOUR_SECONDS = 3600.0
_UNSETTLED = (BatchState.OPEN, BatchState.LEASED, BatchState.ENDING, BatchState.QUARANTINED)
_OF_QUEUE = text("""
    SELECT number, tasks FROM batch WHERE state = 'open' AND machine IS NULL
    AND queue = (SELECT queue FROM batch WHERE number = :head)
""")
_ANSWERED = select(schema.result.c.task).where(schema.result.c.task.in_(bindparam("tasks", expanding=True)))
_REPORTED = select(schema.report.c.task, schema.report.c.machine).where(
    schema.report.c.task.in_(bindparam("tasks", expanding=True))
)
_COUNTED = [outcome.value for outcome in AttemptOutcome if outcome.counted]


def read_status(connection: Connection, now: float) -> LedgerStatus:
    """The status of the ledger at a time in seconds since 1970."""
    clients, machines = _machines(connection, now)
    studies = _studies(connection, now)
    results = sum(study.results for study in studies)
    return LedgerStatus(_time(now), results, machines, studies, _waiting(connection, clients), _failed(connection))


def _machines(connection: Connection, now: float) -> tuple[tuple[Client, ...], tuple[MachineStatus, ...]]:
    """The machines with present workers, and the status of these and of all with a lease."""
    leases = _leases(connection)
    last: dict[str, tuple[float, Client]] = {}
    for row in connection.execute(select(schema.worker).order_by(schema.worker.c.until)):
        if row.until > now or row.machine in leases:
            last[row.machine] = row.until, msgspec.json.decode(row.client, type=Client)
    found = sorted(last.values(), key=lambda pair: (pair[1].name, pair[1].machine))
    return (
        tuple(client for until, client in found if until > now),
        tuple(
            MachineStatus(client.machine, client.name, client.cpus, _time(until), leases.get(client.machine))
            for until, client in found
        ),
    )


def _leases(connection: Connection) -> dict[str, LeaseStatus]:
    """The leases, by the machines' identities."""
    lease, attempt, batch = schema.lease.c, schema.attempt.c, schema.batch.c
    same = (attempt.batch == lease.batch) & (attempt.number == lease.attempt)
    query = (
        select(lease.machine, lease.batch, batch.study, lease.attempt, attempt.choice, attempt.began, lease.until)
        .join_from(schema.lease, schema.attempt, same)
        .join(schema.batch, batch.number == lease.batch)
    )
    return {
        row.machine: LeaseStatus(
            row.batch, row.study, row.attempt, row.choice or "", _time(row.began), _time(row.until)
        )
        for row in connection.execute(query)
    }


def _studies(connection: Connection, now: float) -> tuple[StudyStatus, ...]:
    """The status of each study, in the order of its first release."""
    table = schema.batch.c
    number, failures = func.count(table.number).label("batches"), func.sum(table.failures).label("failures")
    first = func.min(table.number).label("first")
    query = select(table.study, table.state, number, failures, first).group_by(table.study, table.state)
    states, failed, since = dict[str, Counter[BatchState]](), Counter[str](), dict[str, int]()
    for row in connection.execute(query):
        states.setdefault(row.study, Counter())[BatchState(row.state)] += row.batches
        failed[row.study] += int(row.failures)
        since[row.study] = min(row.first, since.get(row.study, row.first))
    results = _results(connection, now)
    return tuple(
        StudyStatus(
            study,
            states[study][BatchState.OPEN],
            states[study][BatchState.LEASED] + states[study][BatchState.ENDING],
            states[study][BatchState.DONE],
            states[study][BatchState.WITHDRAWN],
            states[study][BatchState.QUARANTINED],
            results.get(study, 0),
            failed[study],
        )
        for study in sorted(states, key=since.__getitem__)
    )


def _results(connection: Connection, now: float) -> dict[str, int]:
    """The numbers of results accepted in the last hour, by study."""
    recent = (schema.ledger.c.what == text("'accepted'")) & (schema.ledger.c.at > now - HOUR_SECONDS)
    query = (
        select(schema.batch.c.study, func.count().label("results"))
        .join_from(schema.ledger, schema.batch, schema.batch.c.number == schema.ledger.c.batch)
        .where(recent)
        .group_by(schema.batch.c.study)
    )
    return {row.study: row.results for row in connection.execute(query)}


def _waiting(connection: Connection, clients: Iterable[Client]) -> tuple[Waiting, ...]:
    """The waiting batches, by study and reason, in the order of release."""
    there, found = {client.machine: client for client in clients}, Counter[tuple[str, str]]()
    reasons: dict[tuple[Requirements, str | None, frozenset[str]], str] = {}
    for queue, batches in read_lengths(connection).items():
        for reported, number in _reporters(connection, queue, batches).items():
            about = queue.requirements, queue.machine, reported
            if about not in reasons:
                reasons[about] = obstacle(queue.requirements, queue.machine, there, reported)
            found[queue.study, reasons[about]] += number
    return tuple(Waiting(study, batches, reason) for (study, reason), batches in found.items())


def _reporters(connection: Connection, queue: Queue, batches: int) -> Mapping[frozenset[str], int]:
    """The number of batches in a queue, by the machines that have nothing left to report of them."""
    if queue.requirements.replicas == 1:
        return {frozenset(): batches}
    rows = connection.execute(_OF_QUEUE, {"head": queue.head})
    return Counter(read_reporters(connection, {row.number: row.tasks.split() for row in rows}).values())


def read_reporters(connection: Connection, batches: Mapping[int, Sequence[str]]) -> dict[int, frozenset[str]]:
    """The machines that reported all tasks of a batch that have no result; ``batches`` are their tasks, by number."""
    reported, answered = dict[str, set[str]](), set[str]()
    for some in in_pieces([task for tasks in batches.values() for task in tasks]):
        answered.update(connection.scalars(_ANSWERED, {"tasks": some}))
        for row in connection.execute(_REPORTED, {"tasks": some}):
            reported.setdefault(row.task, set()).add(row.machine)
    left = {number: [reported.get(task, set()) for task in {*tasks} - answered] for number, tasks in batches.items()}
    return {number: frozenset(set.intersection(*sets) if sets else ()) for number, sets in left.items()}


def _failed(connection: Connection) -> tuple[FailedBatch, ...]:
    """The unfinished or quarantined batches that machines failed, each with its last failure."""
    batch, attempt = schema.batch.c, schema.attempt.c
    query = (
        select(batch.number, batch.study, batch.state, batch.failures, attempt.machine, attempt.ended, attempt.reason)
        .join_from(schema.batch, schema.attempt, attempt.batch == batch.number)
        .where(batch.failures > text("0"), batch.state.in_([state.value for state in _UNSETTLED]))
        .where(attempt.outcome.in_(_COUNTED))
        .order_by(batch.number, attempt.number)
    )
    last = {
        row.number: FailedBatch(
            row.number, row.study, row.state, row.failures, row.machine, _time(row.ended), row.reason
        )
        for row in connection.execute(query)
    }
    return tuple(last.values())


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 10.0, 3600.0
RETURNS = 3
"""How many batches in sequence a volunteer may give back before it waits."""
ELSEWHERE_SECONDS = 300.0
"""The time after its last failure for which a batch waits for a better machine."""
MACHINE_ASIDE, ALL_ASIDE = 100, 1000
"""How many results that do not count are kept, of each machine and in all."""
ASIDE_BYTES = 2**16
"""The largest result that does not count and is kept with its values, as JSON."""
_MOST = 16
_OF_MACHINE = """
    FROM attempt JOIN batch ON batch.number = attempt.batch
    WHERE attempt.machine = :machine AND attempt.ended IS NOT NULL
    AND NOT (attempt.outcome = 'returned' AND batch.state = 'withdrawn')
    ORDER BY attempt.ended DESC LIMIT
"""
_LAST = text(f"SELECT attempt.outcome, attempt.ended {_OF_MACHINE} :most")
_FAILED_BEFORE = "batch.failures > 0 AND batch.state = 'open' AND batch.machine IS NULL"
_FAILED = text(f"""
    SELECT batch.number, batch.requirements, attempt.machine, count(*) AS failures, max(attempt.ended) AS ended
    FROM batch JOIN attempt ON attempt.batch = batch.number
    WHERE {_FAILED_BEFORE} AND attempt.outcome IN ('expired', 'crashed', 'failed')
    GROUP BY batch.number, batch.requirements, attempt.machine
""")  # noqa: S608 - of constants
_CLAIM_STATE = text(f"""
    SELECT lease.batch, lease.worker, (SELECT attempt.outcome {_OF_MACHINE} 1) AS last,
    EXISTS (SELECT 1 FROM batch WHERE {_FAILED_BEFORE}) AS failed, {OVERDUE} AS overdue
    FROM (SELECT 1 AS one) AS always LEFT JOIN lease ON lease.machine = :machine
""").columns(*map(column, ("batch", "worker", "last", "failed", "overdue")))  # noqa: S608 - of constants
_NUMBER_COUNTED = text("""
    SELECT count(*) FROM attempt
    WHERE batch = :batch AND (outcome IN ('expired', 'crashed', 'failed') OR number = :attempt) AND (EXISTS (
        SELECT 1 FROM attempt AS other JOIN result ON result.batch = other.batch AND result.attempt = other.number
        WHERE other.machine = attempt.machine
    ) OR EXISTS (SELECT 1 FROM report WHERE report.machine = attempt.machine AND report.verdict = 'agreed'))
""")
_PRESENT = text("""
    SELECT client, EXISTS (
        SELECT 1 FROM attempt WHERE attempt.machine = worker.machine AND attempt.outcome = 'done'
    ) AS proven FROM worker WHERE until > :now
""")


class ClaimState(Struct, frozen=True):
    """What a claim begins with: the batch that the machine has, by which worker, and what is to be looked at.

    ``unreliable`` is whether a volunteer did not complete its last batch, ``failed`` whether batches wait that others
    failed, and ``overdue`` whether leases have ended or workers gone.
    """

    batch: int | None
    worker: str | None
    unreliable: bool
    failed: bool
    overdue: bool


def read_claim_state(connection: Connection, client: Client, now: float, limit: float) -> ClaimState:
    """The state of a machine at a time; workers whose time was over at the time ``limit`` have gone."""
    row = row_of(connection, _CLAIM_STATE, {"machine": client.machine, "now": now, "limit": limit})
    volunteer = client.kind is ClientKind.VOLUNTEER
    unreliable = volunteer and row.last not in {None, AttemptOutcome.DONE}
    return ClaimState(row.batch, row.worker, unreliable, volunteer and bool(row.failed), bool(row.overdue))


def read_backoff(connection: Connection, machine: str) -> float:
    """The time before which a volunteer gets no batch; 0 without one.

    The wait doubles with each batch in sequence that the machine did not complete. Batches that were withdrawn while it
    ran them do not count, and neither do the first ``RETURNS`` that it gave back.
    """
    rows = connection.execute(_LAST, {"machine": machine, "most": _MOST}).all()
    failed = returned = 0
    for row in rows:
        outcome = AttemptOutcome(row.outcome)
        if outcome is AttemptOutcome.DONE:
            break
        failed, returned = failed + outcome.counted, returned + (not outcome.counted)
    number = failed + max(0, returned - RETURNS)
    return rows[0].ended + min(BACKOFF_SECONDS * 2.0**number, LONGEST_BACKOFF_SECONDS) if number else 0.0


def read_counted(connection: Connection, batch: int, attempt: int) -> int:
    """How many volunteers' failures of a batch count, with the attempt that fails now.

    Those of machines that have never returned a result do not: they say nothing about the batch, and whoever may
    register one may register many.
    """
    return int(connection.execute(_NUMBER_COUNTED, {"batch": batch, "attempt": attempt}).scalar_one())


def read_withheld(connection: Connection, client: Client, now: float) -> frozenset[int]:
    """The open batches that failed lately, and that another present machine tries before this one.

    A machine is better for a batch where it failed it less often, and among equals where it has completed a batch. One
    that gets no batch now is not waited for.
    """
    failures: dict[int, dict[str, int]] = {}
    needed, ended = dict[int, str](), dict[int, float]()
    for row in connection.execute(_FAILED):
        failures.setdefault(row.number, {})[row.machine] = row.failures
        needed[row.number] = row.requirements
        ended[row.number] = max(row.ended, ended.get(row.number, 0.0))
    recent = [number for number in failures if ended[number] > now - ELSEWHERE_SECONDS]
    if not recent:
        return frozenset()
    rows = connection.execute(_PRESENT, {"now": now}).all()
    proven = {msgspec.json.decode(row.client, type=Client): bool(row.proven) for row in rows}

    def rank(number: int, each: Client) -> tuple[int, bool]:
        return failures[number].get(each.machine, 0), not proven.get(each, False)

    @cache
    def waits(each: Client) -> bool:
        return read_backoff(connection, each.machine) > now

    return frozenset(
        number
        for number in recent
        if any(
            rank(number, each) < rank(number, client)
            and not unmet(requirements_of(needed[number]), each)
            and not waits(each)
            for each in proven
        )
    )


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
