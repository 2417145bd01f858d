"""The status of a ledger: machines, batches of each study, waiting batches with the reason, and failed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, func, select, text

from hati.core import decode
from hati.steering import (
    AwayMachine,
    Client,
    FailedBatch,
    LeaseStatus,
    LedgerStatus,
    MachineStatus,
    Queue,
    Requirements,
    StudyStatus,
    Waiting,
    obstacle,
)
from hati.store import schema
from hati.store.ledger_entries import AttemptOutcome, BatchState
from hati.store.ledger_queues import read_lengths
from hati.store.statements import in_pieces

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
_AWAY = text("""
    SELECT client, coalesce((SELECT max(worker.seen) FROM worker WHERE worker.machine = client.machine), seen) AS last
    FROM client
    WHERE NOT EXISTS (SELECT 1 FROM worker WHERE worker.machine = client.machine AND worker.until > :now)
""")
_COUNTED = [outcome.value for outcome in AttemptOutcome if outcome.counted]


def read_status(connection: Connection, now: float) -> LedgerStatus:
    """The status of the ledger at a time in seconds since 1970."""
    clients, machines = _machines(connection, now)
    studies = _studies(connection, now)
    results = sum(study.results for study in studies)
    waiting, failed = _waiting(connection, clients), _failed(connection)
    return LedgerStatus(_time(now), results, machines, studies, waiting, failed, away=_away(connection, now))


def _machines(connection: Connection, now: float) -> tuple[tuple[Client, ...], tuple[MachineStatus, ...]]:
    """The machines with present workers, and the status of these and of all with a lease."""
    leases = _leases(connection)
    last: dict[str, tuple[float, Client]] = {}
    for row in connection.execute(select(schema.worker).order_by(schema.worker.c.until)):
        if row.until > now or row.machine in leases:
            last[row.machine] = row.until, decode(row.client, Client)
    found = sorted(last.values(), key=lambda pair: (pair[1].name, pair[1].machine))
    return (
        tuple(client for until, client in found if until > now),
        tuple(
            MachineStatus(client.machine, client.name, client.cpus, _time(until), leases.get(client.machine))
            for until, client in found
        ),
    )


def _away(connection: Connection, now: float) -> tuple[AwayMachine, ...]:
    """The machines without a worker that are not forgotten, the one that was seen last at the end."""
    rows = sorted(connection.execute(_AWAY, {"now": now}), key=lambda row: (row.last or 0.0, row.client))
    found = [(decode(row.client, Client), row.last) for row in rows]
    return tuple(
        AwayMachine(each.machine, each.name, each.kind, None if last is None else _time(last)) for each, last in found
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
