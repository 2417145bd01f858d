"""The ledger: batches that campaigns release, the machines that run them, and the accepted result of each task.

Every change is an entry of an append-only history, and is applied to the state in the same transaction. Times are the
database's, so that workers need no common clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, Row, delete, select

from hati.core import Batch, Job, Run, StudyId, decode
from hati.steering import Choose, Client, ClientKind, LedgerStatus, Requirements
from hati.store import schema
from hati.store.ledger_batches import (
    ANY_OVERDUE,
    ATTEMPT,
    BATCH,
    CONTENTS,
    DUE,
    LEASED,
    OUT,
    RECORD_CLIENT,
    SAME,
    STATES,
    STAY,
    TO_JUDGE,
    AnyRow,
    Attempt,
    Lease,
    all_answered,
    attempt_of,
    content_of,
    end_attempt,
    enter_worker,
    held_by,
    held_lease,
    lease_values,
    remove_gone,
    remove_worker,
    rest_of,
    results_of,
    unreported,
    withdraw_batch,
)
from hati.store.ledger_claims import ClaimState, read_backoff, read_claim_state, read_withheld
from hati.store.ledger_entries import (
    AttemptOutcome,
    BatchState,
    EntryKind,
    LedgerEntry,
    append,
    batch_content,
    batch_of,
    erase_runs,
    erase_study,
    read_entries,
    rebuild,
    run_content,
)
from hati.store.ledger_queues import (
    read_abandoned,
    read_passing,
    read_queues,
    read_steering,
    requirements_of,
)
from hati.store.ledger_reports import keep_report, read_waiting_reports, set_aside
from hati.store.ledger_status import read_reporters, read_status
from hati.store.statements import AT_ONCE, Transactions, change, in_pieces, repeated, row_of

LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 600.0
"""The time for which a batch waits for the machine that began it, after the machine has left."""
_SHORTEST_RENEWAL = 0.1

_UNFORESEEN = SystemRandom().random


def _answers(known: Requirements, state: str, asked: Requirements) -> bool:
    """Whether an equal batch that is open or leased does what a release asks for.

    Of two campaigns that release it again and again, one has the last word: nothing is ever made less urgent.
    """
    if known.replicas != asked.replicas:
        return known.replicas > asked.replicas
    return state == BatchState.LEASED or known.urgency <= asked.urgency


class Ledger:
    """The ledger of a store; each call is a separate transaction, serialised with those of other processes.

    ``clock`` gives the time in seconds since 1970 [default: the database's], and ``draw`` random numbers in [0, 1) that
    no machine can predict.
    """

    def __init__(
        self,
        transactions: Transactions,
        clock: Callable[[], float] | None = None,
        draw: Callable[[], float] = _UNFORESEEN,
    ) -> None:
        self._transactions = transactions
        self._clock, self._draw = clock, draw

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine."""
        return self._transactions.engine

    def at(self, clock: Callable[[], float], draw: Callable[[], float] = _UNFORESEEN) -> Ledger:
        """The same ledger with another clock, and other random numbers."""
        return Ledger(self._transactions, clock, draw)

    def within(self, transactions: Transactions) -> Ledger:
        """The same ledger, with other transactions."""
        return Ledger(transactions, self._clock, self._draw)

    @repeated
    def release(self, batch: Batch[Job], requirements: Requirements, again: Collection[str] = ()) -> int:
        """Release a batch to the machines; return its number, or that of an equal batch that is open or leased.

        Jobs whose tasks have a result are not run; for the tasks with the ids ``again`` the result is voided first.
        A batch that was begun on a present machine stays on it, except on a volunteer's. One for which fewer machines
        have to agree is withdrawn first, and so is one that is open and less urgent.
        """
        with self._turn() as (connection, now):
            self._void(connection, now, again)
            content = batch_content(batch, requirements)
            for row in connection.execute(SAME, {"key": content["key"]}).all():
                if row.state in OUT and _answers(requirements_of(row.requirements), row.state, requirements):
                    return int(row.number)
                withdraw_batch(connection, now, row.number, BatchState(row.state))
            known = results_of(connection, content["tasks"])
            done = len(known) == len(content["tasks"])
            free = done or not known or not requirements.bound
            begun = None if free else self._present_machine(connection, now, known.values())
            state = BatchState.DONE if done else BatchState.OPEN
            return append(
                connection, now, EntryKind.RELEASED, 0, {**content, "machine": begun, "state": state.value}
            ).number

    @repeated
    def withdraw(self, number: int) -> bool:
        """Withdraw a batch, so that no more of it begins; False if a part of it has begun, and may still run."""
        with self._turn() as (connection, now):
            row = connection.execute(select(schema.batch).where(schema.batch.c.number == number)).one_or_none()
            if row is None:  # the study was forgotten
                return True
            state = BatchState(row.state)
            begun = state in {BatchState.LEASED, BatchState.ENDING} or bool(results_of(connection, row.tasks.split()))
            withdraw_batch(connection, now, number, state)
            return not begun

    @repeated
    def withdraw_earlier(self, study: StudyId) -> None:
        """Withdraw the batches left by earlier campaigns of a study, which nothing resumes."""
        batch, known = schema.batch.c, schema.study.c
        earlier = (known.family == study.family) & (known.campaign < study.campaign)
        query = select(batch.number, batch.state).join(schema.study, known.key == batch.study).where(earlier)
        with self._turn() as (connection, now):
            for row in connection.execute(query.where(batch.state.in_(OUT))).all():
                withdraw_batch(connection, now, row.number, BatchState(row.state))

    def states(self, numbers: Iterable[int]) -> dict[int, BatchState]:
        """The states of batches, by their numbers."""
        found = dict[int, BatchState]()
        with self._transactions.reading() as connection:
            for some in in_pieces(list(numbers)):
                rows = connection.execute(STATES, {"numbers": some})
                found |= {row.number: BatchState(row.state) for row in rows}
        return found

    def results(self, tasks: Iterable[str]) -> dict[str, dict[str, object]]:
        """The accepted results of those tasks that have one, by the tasks' ids, in the order of acceptance."""
        found = dict[str, dict[str, object]]()
        with self._transactions.reading() as connection:
            for some in in_pieces(list(tasks)):
                rows = connection.execute(CONTENTS, {"tasks": some})
                found |= {row.task: json.loads(row.content)["run"] for row in rows}
        return found

    def attempts(self, number: int) -> tuple[Attempt, ...]:
        """All attempts at a batch, in order."""
        query = select(schema.attempt).where(schema.attempt.c.batch == number).order_by(schema.attempt.c.number)
        with self._transactions.reading() as connection:
            return tuple(attempt_of(row) for row in connection.execute(query))

    def reporters(self, number: int) -> frozenset[str]:
        """The machines that have nothing left to report of a batch on which several machines have to agree."""
        query = select(schema.batch.c.tasks).where(schema.batch.c.number == number)
        with self._transactions.reading() as connection:
            tasks = connection.scalar(query) or ""
            return read_reporters(connection, {number: tasks.split()})[number]

    def leased(self, number: int, attempt: int) -> Lease | None:
        """The lease that an attempt at a batch had or has, with all jobs; None where the ledger has no such attempt."""
        with self._transactions.reading() as connection:
            row = row_of(connection, ATTEMPT, {"batch": number, "attempt": attempt})
        if row is None:
            return None
        return Lease(number, attempt, row.machine, row.worker, row.began, batch_of(row.content))

    def waiting(self, head: int, after: int, most: int = AT_ONCE) -> dict[int, Batch[Job]]:
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
        with self._transactions.reading() as connection:
            return {row.number: batch_of(row.content) for row in connection.execute(query)}

    def wanted(self, machine: str) -> tuple[Requirements, ...]:
        """The distinct requirements of the open batches in a machine's queues."""
        with self._transactions.reading() as connection:
            return tuple(dict.fromkeys(queue.requirements for queue in read_queues(connection, machine)))

    def backoff(self, machine: str) -> float:
        """The seconds for which a volunteer gets no batch, since it did not complete its last ones; 0 without any."""
        with self._transactions.reading() as connection:
            return max(0.0, read_backoff(connection, machine) - self._now(connection))

    def present(self) -> tuple[Client, ...]:
        """The machines with present workers."""
        with self._transactions.reading() as connection:
            here = schema.worker.c.until > self._now(connection)
            texts = connection.scalars(select(schema.worker.c.client).where(here).order_by(schema.worker.c.key)).all()
        found = [decode(text, Client) for text in texts]
        return tuple({client.machine: client for client in found}.values())

    @repeated
    def record_client(self, client: Client) -> None:
        """Keep which attributes a machine has, also after its worker has left."""
        with self._turn() as (connection, now):
            about = {"machine": client.machine, "client": msgspec.json.encode(client).decode()}
            change(connection, RECORD_CLIENT, {**about, "now": now})

    @repeated
    def forget_client(self, machine: str) -> None:
        """Remove what a machine said of its attributes; its attempts and results stay."""
        with self._turn() as (connection, _):
            connection.execute(delete(schema.client).where(schema.client.c.machine == machine))

    def clients(self) -> tuple[Client, ...]:
        """The machines that ever said which attributes they have, as they said it last."""
        query = select(schema.client.c.client).order_by(schema.client.c.machine)
        with self._transactions.reading() as connection:
            return tuple(decode(text, Client) for text in connection.scalars(query))

    @repeated
    def enter(self, worker: str, client: Client, seconds: float = LEASE_SECONDS) -> None:
        """Record that a worker is present for a time."""
        with self._turn() as (connection, now):
            enter_worker(connection, worker, client, now, seconds)

    @repeated
    def leave(self, worker: str) -> None:
        """Record that a worker has left; it gives back what it has."""
        self._depart(worker, AttemptOutcome.RETURNED, f"worker {worker} ended")

    def workers(self) -> frozenset[str]:
        """The keys of all workers that have not left, also of those that have been silent for some minutes."""
        with self._transactions.reading() as connection:
            return frozenset(connection.scalars(select(schema.worker.c.key)))

    @repeated
    def lose(self, worker: str, reason: str) -> None:
        """Record that a worker has gone without leaving, and end its lease as expired."""
        self._depart(worker, AttemptOutcome.EXPIRED, reason)

    @repeated
    def claim(self, worker: str, client: Client, choose: Choose, seconds: float = LEASE_SECONDS) -> Lease | None:
        """Lease an open batch to a machine for a time, as ``choose`` decides; None if there is none for it.

        A machine has one batch at a time. A worker that asks again gets the batch that it has. A volunteer that did not
        complete its last batches gets none for a while, and no batch that other volunteers are to try first.
        """
        with self._turn() as (connection, now):
            state = self._claim_state(connection, now, client)
            enter_worker(connection, worker, client, now, seconds)
            if state.batch is not None:
                if state.worker != worker:
                    return None
                held = held_lease(connection, now, state.batch)
                if held is not None:
                    return held
            if state.unreliable and read_backoff(connection, client.machine) > now:
                return None
            chosen = self._chosen(connection, now, client, choose, state)
            if chosen is None:
                return None
            number, attempt, reason, batch = chosen
            content = {
                "attempt": attempt,
                "machine": client.machine,
                "worker": worker,
                "until": now + seconds,
                "reason": reason,
                "client": msgspec.to_builtins(client),
            }
            append(connection, now, EntryKind.LEASED, number, content)
            return Lease(number, attempt, client.machine, worker, now + seconds, batch)

    @repeated
    def renew(self, lease: Lease, seconds: float = LEASE_SECONDS) -> BatchState | None:
        """Extend a lease to a time from now; return the state of its batch, None if the lease is lost.

        An extension by less than a tenth of that time is not stored: a machine may ask at any rate.
        """
        with self._turn() as (connection, now):
            held = held_by(connection, lease)
            if held is None:
                return None
            if now + seconds - held.until >= seconds * _SHORTEST_RENEWAL:
                append(connection, now, EntryKind.RENEWED, lease.number, {"until": now + seconds})
            keys = {"own": lease.worker, "volunteer": lease.machine}
            change(connection, STAY, {**keys, "now": now, "end": now + seconds})
            return BatchState(held.state)

    def standing(self, lease: Lease) -> BatchState | None:
        """The state of a lease's batch; None if the lease is lost."""
        with self._transactions.reading() as connection:
            held = held_by(connection, lease)
        return None if held is None else BatchState(held.state)

    @repeated
    def accept(self, lease: Lease, run: Run) -> EntryKind:
        """Store a result: ACCEPTED if it counts, else set aside as LATE if the lease is lost, or as DUPLICATE.

        REPORTED where other machines have to agree with it first.
        """
        with self._turn() as (connection, now):
            row = row_of(connection, TO_JUDGE, {**lease_values(lease), "task": run.task.id})
            if row is None:  # nothing is stored for a forgotten study
                return EntryKind.LATE
            if requirements_of(row.requirements).replicas > 1:
                return self._reported(connection, now, row, lease, run)
            content = {"attempt": lease.attempt, "run": run_content(run)}
            if row.entry is not None:
                if row.accepted_in == lease.number and content_of(connection, row.entry) == json.dumps(content):
                    return EntryKind.ACCEPTED  # the reply was lost, or the result is sent twice
                return set_aside(connection, now, EntryKind.DUPLICATE, lease.number, lease.machine, content)
            if row.until is None:
                return set_aside(connection, now, EntryKind.LATE, lease.number, lease.machine, content)
            append(connection, now, EntryKind.ACCEPTED, lease.number, content)
            if all_answered(connection, [task for task in row.tasks.split() if task != run.task.id]):
                end_attempt(connection, now, row, AttemptOutcome.DONE, "")
            return EntryKind.ACCEPTED

    @repeated
    def end(self, lease: Lease, outcome: AttemptOutcome, reason: str) -> bool:
        """Give the rest of a batch back; False if the lease is lost.

        A batch that machines have failed too often is quarantined.
        """
        with self._turn() as (connection, now):
            held = held_by(connection, lease)
            if held is not None:
                end_attempt(connection, now, held, outcome, reason)
            return held is not None

    @repeated
    def expire(self) -> None:
        """End expired leases, and let any machine resume the batches whose machine left long ago."""
        with self._transactions.reading() as connection:
            now = self._now(connection)
            if not connection.scalar(ANY_OVERDUE, {"now": now, "limit": now - PATIENCE_SECONDS}):
                return
        with self._turn() as (connection, now):
            self._expire(connection, now)

    def forget(self, connection: Connection, tasks: Collection[str], studies: Collection[str]) -> None:
        """Forget the results of tasks, and whole studies, in a transaction that the caller began with ``take_turn``."""
        self._void(connection, self._now(connection), tasks)
        erase_runs(connection, set(tasks))
        for study in studies:
            erase_study(connection, study)

    def status(self) -> LedgerStatus:
        """The current status: machines, batches of each study, waiting batches with the reason, and failed ones."""
        with self._transactions.reading() as connection:
            return read_status(connection, self._now(connection))

    def history(self) -> tuple[LedgerEntry, ...]:
        """The whole history, oldest first."""
        with self._transactions.reading() as connection:
            return read_entries(connection)

    def rebuild(self) -> None:
        """Rebuild the state of batches, leases, attempts and results from the history."""
        with self._turn() as (connection, _):
            rebuild(connection)

    @contextmanager
    def _turn(self) -> Iterator[tuple[Connection, float]]:
        with self._transactions.turn() as (connection, now):
            yield connection, now if self._clock is None else self._clock()

    def _now(self, connection: Connection) -> float:
        return self._transactions.now(connection) if self._clock is None else self._clock()

    def _depart(self, worker: str, outcome: AttemptOutcome, reason: str) -> None:
        with self._turn() as (connection, now):
            for row in connection.execute(LEASED.where(schema.lease.c.worker == worker)).all():
                end_attempt(connection, now, row, outcome, reason)
            remove_worker(connection, worker)

    def _expire(self, connection: Connection, now: float) -> None:
        for row in connection.execute(DUE, {"now": now}).all():
            silent = f"gave no sign of life for {now - row.until:.0f} s after its lease had ended"
            reason = f"worker {row.worker} {silent}; a run that ends its worker or its machine does so each time"
            end_attempt(connection, now, row, AttemptOutcome.EXPIRED, reason)
        limit = now - PATIENCE_SECONDS
        for number in read_abandoned(connection, limit):
            append(connection, now, EntryKind.FREED, number, {})
        remove_gone(connection, limit)

    def _claim_state(self, connection: Connection, now: float, client: Client) -> ClaimState:
        """The state of a machine, after what is overdue has ended."""
        limit = now - PATIENCE_SECONDS
        state = read_claim_state(connection, client, now, limit)
        if state.overdue:
            self._expire(connection, now)
            state = read_claim_state(connection, client, now, limit)
        return state

    def _chosen(
        self, connection: Connection, now: float, client: Client, choose: Choose, state: ClaimState
    ) -> tuple[int, int, str, Batch[Job]] | None:
        """The chosen batch's number, attempt, reason, and what is left of it; None where there is none.

        Chosen batches whose tasks all have results from other batches are marked as done first. A batch that is chosen
        a second time ends the search: the choice has no other. One that waits for other machines to agree is passed
        over.
        """
        withheld = set(read_withheld(connection, client, now) if state.failed else ())
        seen = set[int]()
        while True:
            queues, under_way = read_steering(connection, client.machine)
            decision = choose(read_passing(connection, queues, withheld), under_way, client)
            if decision.batch is None or decision.batch in seen:
                return None
            seen.add(decision.batch)
            if decision.batch in withheld:  # where the choice looks behind the heads of queues
                continue
            row = row_of(connection, BATCH, {"number": decision.batch})
            batch = rest_of(connection, row, client.machine)
            if batch is not None:
                return decision.batch, row.attempts + 1, decision.reason, batch
            if all_answered(connection, row.tasks.split()):
                append(connection, now, EntryKind.WITHDRAWN, decision.batch, {"state": BatchState.DONE.value})
            else:
                withheld.add(decision.batch)

    def _reported(self, connection: Connection, now: float, row: AnyRow, lease: Lease, run: Run) -> EntryKind:
        """Keep a result on which machines have to agree; the attempt ends where its machine has reported all tasks."""
        kept = keep_report(connection, now, row, lease.machine, lease.attempt, run, self._draw())
        held = held_by(connection, lease)
        if held is not None and not unreported(connection, lease.machine, row.tasks.split()):
            end_attempt(connection, now, held, AttemptOutcome.DONE, "")
        return kept

    def _void(self, connection: Connection, now: float, tasks: Iterable[str]) -> None:
        """Void the results of tasks, and the reports of them that wait for others."""
        own = list(tasks)
        known = {task: row.batch for task, row in results_of(connection, own).items()}
        for task, batch in {**read_waiting_reports(connection, own), **known}.items():
            append(connection, now, EntryKind.VOIDED, batch, {"task": task})

    def _present_machine(self, connection: Connection, now: float, known: Iterable[Row[Any]]) -> str | None:
        """The machine of a present worker that produced one of the results; None without one."""
        texts = connection.scalars(select(schema.worker.c.client).where(schema.worker.c.until > now))
        clients = [decode(text, Client) for text in texts]
        there = {client.machine for client in clients if client.kind is ClientKind.WORKER}
        for row in known:
            table = schema.attempt.c
            same = (table.batch == row.batch) & (table.number == row.attempt)
            machine: str = connection.execute(select(table.machine).where(same)).scalar_one()
            if machine in there:
                return machine
        return None
