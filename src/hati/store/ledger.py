"""The ledger: batches that campaigns release, the machines that run them, and the accepted result of each task.

Every change is an entry of an append-only history, and is applied to the state in the same transaction. Times are the
database's, so that workers need no common clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Engine, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from hati.core import Batch, HatiError, Job, Run, StudyId, replace
from hati.steering import Client, ClientKind, LedgerStatus, Queue, Requirements, SteeringDecision
from hati.store import schema
from hati.store.databases import Database, explained
from hati.store.ledger_entries import (
    AttemptOutcome,
    BatchState,
    EntryKind,
    LedgerEntry,
    append,
    batch_content,
    batch_key,
    batch_of,
    erase_runs,
    erase_study,
    read_entries,
    rebuild,
    run_content,
)
from hati.store.ledger_machines import read_backoff, read_withheld, set_aside
from hati.store.ledger_queues import read_abandoned, read_passing, read_queues, read_under_way, requirements_of
from hati.store.ledger_status import read_status

ATTEMPTS = 3
"""The number of failures by machines after which a batch is quarantined."""
VOLUNTEERS_ATTEMPTS = 9
"""The same for volunteers, who may leave in the middle of a run."""
LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 600.0
"""The time for which a batch waits for the machine that began it, after the machine has left."""
_AT_ONCE = 500
_SHORTEST_RENEWAL = 0.1

Choose = Callable[[Sequence[Queue], Mapping[str, int], Client], SteeringDecision]
Clock = Callable[[Connection], float]


P = ParamSpec("P")
R = TypeVar("R")


def _repeated(method: Callable[P, R]) -> Callable[P, R]:
    """Repeat a call once if the connection was lost: it may have been committed, and repeating it does no harm."""

    @wraps(method)
    def call(*args: P.args, **named: P.kwargs) -> R:
        try:
            return method(*args, **named)
        except HatiError as error:
            if not (isinstance(error.__cause__, DBAPIError) and error.__cause__.connection_invalidated):
                raise
        return method(*args, **named)

    return call


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


class Ledger:
    """The ledger of a store; each call is a separate transaction, serialised with those of other processes.

    ``clock`` gives the time in seconds since 1970 [default: the database's].
    """

    def __init__(self, engine: Engine, database: Database, clock: Clock | None = None) -> None:
        self.engine = engine
        self._database = database
        self._clock = clock or database.now

    def at(self, clock: Callable[[], float]) -> Ledger:
        """The same ledger with another clock."""
        return Ledger(self.engine, self._database, lambda _: clock())

    @_repeated
    def release(self, batch: Batch[Job], requirements: Requirements, again: Collection[str] = ()) -> int:
        """Release a batch to the machines; return its number, or that of an equal batch that is open or leased.

        Jobs whose tasks have a result are not run; for the tasks with the ids ``again`` the result is voided first.
        A batch that was begun on a present machine stays on it, except on a volunteer's.
        """
        with self._turn() as (connection, now):
            self._void(connection, now, again)
            rows = connection.execute(select(schema.batch).where(schema.batch.c.key == batch_key(batch))).all()
            for row in rows:
                if row.state in _OUT:
                    return int(row.number)
            content = batch_content(batch, requirements)
            known = _results_of(connection, content["tasks"])
            done = len(known) == len(content["tasks"])
            free = done or requirements.kind is ClientKind.VOLUNTEER
            begun = None if free else self._present_machine(connection, now, known.values())
            state = BatchState.DONE if done else BatchState.OPEN
            return append(
                connection, now, EntryKind.RELEASED, 0, {**content, "machine": begun, "state": state.value}
            ).number

    @_repeated
    def withdraw(self, number: int) -> bool:
        """Withdraw a batch, so that no more of it begins; False if a part of it has begun, and may still run."""
        with self._turn() as (connection, now):
            row = connection.execute(select(schema.batch).where(schema.batch.c.number == number)).one_or_none()
            if row is None:  # the study was forgotten
                return True
            state = BatchState(row.state)
            begun = state in {BatchState.LEASED, BatchState.ENDING} or bool(_results_of(connection, row.tasks.split()))
            _withdraw(connection, now, number, state)
            return not begun

    @_repeated
    def withdraw_earlier(self, study: StudyId) -> None:
        """Withdraw the batches left by earlier campaigns of a study, which nothing resumes."""
        batch, known = schema.batch.c, schema.study.c
        earlier = (known.family == study.family) & (known.campaign < study.campaign)
        query = select(batch.number, batch.state).join(schema.study, known.key == batch.study).where(earlier)
        with self._turn() as (connection, now):
            for row in connection.execute(query.where(batch.state.in_(_OUT))).all():
                _withdraw(connection, now, row.number, BatchState(row.state))

    def states(self, numbers: Iterable[int]) -> dict[int, BatchState]:
        """The states of batches, by their numbers."""
        table, found = schema.batch.c, dict[int, BatchState]()
        with self._reading() as connection:
            for some in _pieces(list(numbers)):
                rows = connection.execute(select(table.number, table.state).where(table.number.in_(some)))
                found |= {row.number: BatchState(row.state) for row in rows}
        return found

    def results(self, tasks: Iterable[str]) -> dict[str, dict[str, object]]:
        """The accepted results of those tasks that have one, by the tasks' ids, in the order of acceptance."""
        found = dict[str, dict[str, object]]()
        with self._reading() as connection:
            for some in _pieces(list(tasks)):
                joined = select(schema.result.c.task, schema.ledger.c.content).join_from(
                    schema.result, schema.ledger, schema.result.c.entry == schema.ledger.c.number
                )
                rows = connection.execute(joined.where(schema.result.c.task.in_(some)).order_by(schema.ledger.c.number))
                found |= {row.task: json.loads(row.content)["run"] for row in rows}
        return found

    def attempts(self, number: int) -> tuple[Attempt, ...]:
        """All attempts at a batch, in order."""
        query = select(schema.attempt).where(schema.attempt.c.batch == number).order_by(schema.attempt.c.number)
        with self._reading() as connection:
            return tuple(_attempt(row) for row in connection.execute(query))

    def leased(self, number: int, attempt: int) -> Lease | None:
        """The lease that an attempt at a batch had or has, with all jobs; None where the ledger has no such attempt."""
        with self._reading() as connection:
            row = connection.execute(_ATTEMPT, {"batch": number, "attempt": attempt}).one_or_none()
            content = None if row is None else _content_of(connection, number)
        if row is None or content is None:
            return None
        return Lease(number, attempt, row.machine, row.worker, row.began, batch_of(json.loads(content)))

    def waiting(self, head: int, after: int, most: int = _AT_ONCE) -> dict[int, Batch[Job]]:
        """Batches begun nowhere, in the queue of batch ``head``, by their numbers; the first ones ``after`` one."""
        table = schema.batch.c
        same = select(table.queue).where(table.number == head).scalar_subquery()
        open_ = (table.queue == same) & (table.state == BatchState.OPEN.value) & table.machine.is_(None)
        query = (
            select(table.number, schema.ledger.c.content)
            .join_from(schema.batch, schema.ledger, schema.ledger.c.number == table.number)
            .where(open_ & (table.number > after))
            .order_by(table.number)
            .limit(most)
        )
        with self._reading() as connection:
            return {row.number: batch_of(json.loads(row.content)) for row in connection.execute(query)}

    def wanted(self, machine: str) -> tuple[Requirements, ...]:
        """The distinct requirements of the open batches in a machine's queues."""
        with self._reading() as connection:
            return tuple(dict.fromkeys(queue.requirements for queue in read_queues(connection, machine)))

    def backoff(self, machine: str) -> float:
        """The seconds for which a volunteer gets no batch, since it did not complete its last ones; 0 without any."""
        with self._reading() as connection:
            return max(0.0, read_backoff(connection, machine) - self._clock(connection))

    def present(self) -> tuple[Client, ...]:
        """The machines with present workers."""
        with self._reading() as connection:
            here = schema.worker.c.until > self._clock(connection)
            texts = connection.scalars(select(schema.worker.c.client).where(here).order_by(schema.worker.c.key)).all()
        found = [msgspec.json.decode(text, type=Client) for text in texts]
        return tuple({client.machine: client for client in found}.values())

    @_repeated
    def enter(self, worker: str, client: Client, seconds: float = LEASE_SECONDS) -> None:
        """Record that a worker is present for a time."""
        with self._turn() as (connection, now):
            _enter(connection, worker, client, now, seconds)

    @_repeated
    def leave(self, worker: str) -> None:
        """Record that a worker has left; it gives back what it has."""
        self._depart(worker, AttemptOutcome.RETURNED, f"worker {worker} ended")

    def workers(self) -> frozenset[str]:
        """The keys of all workers that have not left, also of those that have been silent for some minutes."""
        with self._reading() as connection:
            return frozenset(connection.scalars(select(schema.worker.c.key)))

    @_repeated
    def lose(self, worker: str, reason: str) -> None:
        """Record that a worker has gone without leaving, and end its lease as expired."""
        self._depart(worker, AttemptOutcome.EXPIRED, reason)

    @_repeated
    def claim(self, worker: str, client: Client, choose: Choose, seconds: float = LEASE_SECONDS) -> Lease | None:
        """Lease an open batch to a machine for a time, as ``choose`` decides; None if there is none for it.

        A machine has one batch at a time. A worker that asks again gets the batch that it has. A volunteer that did not
        complete its last batches gets none for a while, and no batch that other volunteers are to try first.
        """
        with self._turn() as (connection, now):
            self._expire(connection, now)
            _enter(connection, worker, client, now, seconds)
            if client.kind is ClientKind.VOLUNTEER:  # each of its claims may have another name
                connection.execute(_REMOVE_OTHERS, {"machine": client.machine, "worker": worker})
            held = connection.execute(_LEASE_OF_MACHINE, {"machine": client.machine}).one_or_none()
            if held is not None:
                return self._lease(connection, held) if held.worker == worker else None
            if client.kind is ClientKind.VOLUNTEER and read_backoff(connection, client.machine) > now:
                return None
            decision = self._chosen(connection, now, client, choose)
            if decision.batch is None:
                return None
            number = _batch_row(connection, decision.batch).attempts + 1
            content = {
                "attempt": number,
                "machine": client.machine,
                "worker": worker,
                "until": now + seconds,
                "reason": decision.reason,
                "client": msgspec.to_builtins(client),
            }
            append(connection, now, EntryKind.LEASED, decision.batch, content)
            held = connection.execute(_LEASE_OF_MACHINE, {"machine": client.machine}).one()
            return self._lease(connection, held)

    @_repeated
    def renew(self, lease: Lease, seconds: float = LEASE_SECONDS) -> BatchState | None:
        """Extend a lease to a time from now; return the state of its batch, None if the lease is lost.

        An extension by less than a tenth of that time is not stored: a machine may ask at any rate.
        """
        with self._turn() as (connection, now):
            held = _held(connection, lease)
            if held is None:
                return None
            if now + seconds - held.until >= seconds * _SHORTEST_RENEWAL:
                append(connection, now, EntryKind.RENEWED, lease.number, {"until": now + seconds})
            same = schema.worker.c.key == lease.worker
            connection.execute(update(schema.worker).where(same).values(seen=now, until=now + seconds))
            return BatchState(_batch_row(connection, lease.number).state)

    def standing(self, lease: Lease) -> BatchState | None:
        """The state of a lease's batch; None if the lease is lost."""
        with self._reading() as connection:
            return BatchState(_batch_row(connection, lease.number).state) if _holds(connection, lease) else None

    @_repeated
    def accept(self, lease: Lease, run: Run) -> EntryKind:
        """Store a result: ACCEPTED if it counts, else set aside as LATE if the lease is lost, or as DUPLICATE."""
        with self._turn() as (connection, now):
            content = {"attempt": lease.attempt, "run": run_content(run)}
            known = _results_of(connection, [run.task.id]).get(run.task.id)
            if known is not None:
                if known.batch == lease.number and _content_of(connection, known.entry) == json.dumps(content):
                    return EntryKind.ACCEPTED  # the reply was lost, or the result is sent twice
                return set_aside(connection, now, EntryKind.DUPLICATE, lease.number, lease.machine, content)
            if not _holds(connection, lease):
                if _content_of(connection, lease.number) is None:  # nothing is stored for a forgotten study
                    return EntryKind.LATE
                return set_aside(connection, now, EntryKind.LATE, lease.number, lease.machine, content)
            accepted = append(connection, now, EntryKind.ACCEPTED, lease.number, content).what
            tasks = _batch_row(connection, lease.number).tasks.split()
            if len(_results_of(connection, tasks)) == len(tasks):
                self._end(connection, now, lease.number, AttemptOutcome.DONE, "")
            return accepted

    @_repeated
    def end(self, lease: Lease, outcome: AttemptOutcome, reason: str) -> bool:
        """Give the rest of a batch back; False if the lease is lost.

        A batch that machines have failed too often is quarantined.
        """
        with self._turn() as (connection, now):
            held = _holds(connection, lease)
            if held:
                self._end(connection, now, lease.number, outcome, reason)
            return held

    @_repeated
    def expire(self) -> None:
        """End expired leases, and let any machine resume the batches whose machine left long ago."""
        with self._reading() as connection:
            now = self._clock(connection)
            due = select(schema.lease.c.batch).where(schema.lease.c.until <= now).limit(1)
            if connection.execute(due).first() is None and not read_abandoned(connection, now - PATIENCE_SECONDS):
                return
        with self._turn() as (connection, now):
            self._expire(connection, now)

    def forget(self, connection: Connection, tasks: Collection[str], studies: Collection[str]) -> None:
        """Forget the results of tasks, and whole studies, in a transaction that the caller began with ``take_turn``."""
        self._void(connection, self._clock(connection), tasks)
        erase_runs(connection, set(tasks))
        for study in studies:
            erase_study(connection, study)

    def status(self) -> LedgerStatus:
        """The current status: machines, batches of each study, waiting batches with the reason, and failed ones."""
        with self._reading() as connection:
            return read_status(connection, self._clock(connection))

    def history(self) -> tuple[LedgerEntry, ...]:
        """The whole history, oldest first."""
        with self._reading() as connection:
            return read_entries(connection)

    def rebuild(self) -> None:
        """Rebuild the state of batches, leases, attempts and results from the history."""
        with self._turn() as (connection, _):
            rebuild(connection)

    @contextmanager
    def _turn(self) -> Iterator[tuple[Connection, float]]:
        with explained(self._database), self.engine.connect() as connection:
            self._database.take_turn(connection)
            yield connection, self._clock(connection)
            connection.commit()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self._database), self.engine.connect() as connection:
            yield connection

    def _depart(self, worker: str, outcome: AttemptOutcome, reason: str) -> None:
        with self._turn() as (connection, now):
            for row in connection.execute(select(schema.lease).where(schema.lease.c.worker == worker)).all():
                self._end(connection, now, row.batch, outcome, reason)
            connection.execute(delete(schema.worker).where(schema.worker.c.key == worker))

    def _expire(self, connection: Connection, now: float) -> None:
        for row in connection.execute(_DUE, {"now": now}).all():
            silent = f"gave no sign of life for {now - row.until:.0f} s after its lease had ended"
            reason = f"worker {row.worker} {silent}; a run that ends its worker or its machine does so each time"
            self._end(connection, now, row.batch, AttemptOutcome.EXPIRED, reason)
        limit = now - PATIENCE_SECONDS
        for number in read_abandoned(connection, limit):
            append(connection, now, EntryKind.FREED, number, {})
        connection.execute(_REMOVE_GONE, {"limit": limit})

    def _chosen(self, connection: Connection, now: float, client: Client, choose: Choose) -> SteeringDecision:
        """The decision; chosen batches whose tasks all have results from other batches are marked as done first.

        A batch that is chosen a second time ends the search: the choice has no other.
        """
        volunteer = client.kind is ClientKind.VOLUNTEER
        withheld = read_withheld(connection, client, now) if volunteer else frozenset[int]()
        seen = set[int]()
        while True:
            queues = read_passing(connection, read_queues(connection, client.machine), withheld)
            decision = choose(queues, read_under_way(connection), client)
            if decision.batch is None or decision.batch in seen:
                return replace(decision, batch=None)
            seen.add(decision.batch)
            if decision.batch in withheld:  # where the choice looks behind the heads of queues
                continue
            tasks = _batch_row(connection, decision.batch).tasks.split()
            if len(_results_of(connection, tasks)) < len(tasks):
                return decision
            append(connection, now, EntryKind.WITHDRAWN, decision.batch, {"state": BatchState.DONE.value})

    def _end(self, connection: Connection, now: float, number: int, outcome: AttemptOutcome, reason: str) -> None:
        row = _batch_row(connection, number)
        held = connection.execute(_LEASE_OF_BATCH, {"batch": number}).one()
        volunteer = requirements_of(row.requirements).kind is ClientKind.VOLUNTEER
        begun = held.machine if _results_of(connection, row.tasks.split()) else row.machine
        left = (VOLUNTEERS_ATTEMPTS if volunteer else ATTEMPTS) - row.failures
        content = {
            "attempt": held.attempt,
            "outcome": outcome.value,
            "reason": reason,
            "state": _state_after(BatchState(row.state), outcome, left).value,
            "machine": None if volunteer else begun,  # a volunteer that leaves may never come back
        }
        append(connection, now, EntryKind.ENDED, number, content)

    def _void(self, connection: Connection, now: float, tasks: Iterable[str]) -> None:
        for task, row in _results_of(connection, list(tasks)).items():
            append(connection, now, EntryKind.VOIDED, row.batch, {"task": task})

    def _present_machine(self, connection: Connection, now: float, known: Iterable[Row[Any]]) -> str | None:
        """A present machine that produced one of the results; None without one."""
        there = set(connection.scalars(select(schema.worker.c.machine).where(schema.worker.c.until > now)))
        for row in known:
            table = schema.attempt.c
            same = (table.batch == row.batch) & (table.number == row.attempt)
            machine: str = connection.execute(select(table.machine).where(same)).scalar_one()
            if machine in there:
                return machine
        return None

    def _lease(self, connection: Connection, row: Row[Any]) -> Lease:
        batch = batch_of(json.loads(_content_of(connection, row.batch) or ""))
        known = _results_of(connection, [job.task.id for job in batch.members])
        left = tuple(job for job in batch.members if job.task.id not in known)
        return Lease(row.batch, row.attempt, row.machine, row.worker, row.until, replace(batch, members=left))


_OUT = (BatchState.OPEN.value, BatchState.LEASED.value)
# Statements are built once: building one for each call takes several times as long as the database.
_ATTEMPT = select(schema.attempt).where(
    schema.attempt.c.batch == bindparam("batch"), schema.attempt.c.number == bindparam("attempt")
)
_BATCH = select(schema.batch).where(schema.batch.c.number == bindparam("number"))
_CONTENT = select(schema.ledger.c.content).where(schema.ledger.c.number == bindparam("number"))
_RESULTS = select(schema.result).where(schema.result.c.task.in_(bindparam("tasks", expanding=True)))
_LEASE_OF_MACHINE = select(schema.lease).where(schema.lease.c.machine == bindparam("machine"))
_LEASE_OF_BATCH = select(schema.lease).where(schema.lease.c.batch == bindparam("batch"))
_HELD = select(schema.lease.c.until).where(
    schema.lease.c.batch == bindparam("batch"),
    schema.lease.c.attempt == bindparam("attempt"),
    schema.lease.c.worker == bindparam("worker"),
)
_DUE = select(schema.lease).where(schema.lease.c.until <= bindparam("now")).order_by(schema.lease.c.batch)
_UPDATE_WORKER = update(schema.worker).where(schema.worker.c.key == bindparam("worker"))
_ADD_WORKER = insert(schema.worker)
_REMOVE_GONE = delete(schema.worker).where(schema.worker.c.until <= bindparam("limit"))
_REMOVE_OTHERS = delete(schema.worker).where(
    schema.worker.c.machine == bindparam("machine"), schema.worker.c.key != bindparam("worker")
)


def _state_after(state: BatchState, outcome: AttemptOutcome, attempts: int) -> BatchState:
    """The state of a batch after an attempt; ``attempts`` is the number of failures that it had left before."""
    if outcome is AttemptOutcome.DONE:
        return BatchState.DONE
    if state is BatchState.ENDING:
        return BatchState.WITHDRAWN
    return BatchState.QUARANTINED if outcome.counted and attempts <= 1 else BatchState.OPEN


def _holds(connection: Connection, lease: Lease) -> bool:
    return _held(connection, lease) is not None


def _held(connection: Connection, lease: Lease) -> Row[Any] | None:
    about = {"batch": lease.number, "attempt": lease.attempt, "worker": lease.worker}
    return connection.execute(_HELD, about).first()


def _withdraw(connection: Connection, now: float, number: int, state: BatchState) -> None:
    if state.value in _OUT:
        after = BatchState.WITHDRAWN if state is BatchState.OPEN else BatchState.ENDING
        append(connection, now, EntryKind.WITHDRAWN, number, {"state": after.value})


def _content_of(connection: Connection, number: int) -> str | None:
    """The content of an entry, as JSON."""
    content: str | None = connection.scalar(_CONTENT, {"number": number})
    return content


def _batch_row(connection: Connection, number: int) -> Row[Any]:
    return connection.execute(_BATCH, {"number": number}).one()


def _results_of(connection: Connection, tasks: Sequence[str]) -> dict[str, Row[Any]]:
    found: dict[str, Row[Any]] = {}
    for some in _pieces(tasks):
        rows = connection.execute(_RESULTS, {"tasks": list(some)})
        found |= {row.task: row for row in rows}
    return found


T = TypeVar("T")


def _pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split values into parts for single statements."""
    for first in range(0, len(values), _AT_ONCE):
        yield values[first : first + _AT_ONCE]


def _enter(connection: Connection, worker: str, client: Client, now: float, seconds: float) -> None:
    text = msgspec.json.encode(client).decode()
    values = {"machine": client.machine, "client": text, "seen": now, "until": now + seconds}
    if not connection.execute(_UPDATE_WORKER, {"worker": worker, **values}).rowcount:
        connection.execute(_ADD_WORKER, {"key": worker, **values})


def _attempt(row: Row[Any]) -> Attempt:
    outcome = None if row.outcome is None else AttemptOutcome(row.outcome)
    return Attempt(
        row.batch, row.number, row.machine, row.worker, row.began, row.ended, outcome, row.reason, row.choice
    )
