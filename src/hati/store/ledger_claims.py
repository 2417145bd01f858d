"""What a machine may claim: its state, how long a volunteer waits, and batches that others try first."""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from sqlalchemy import Connection, column, text

from hati.core import decode
from hati.steering import Client, ClientKind, unmet
from hati.store.ledger_entries import AttemptOutcome
from hati.store.ledger_queues import OVERDUE, requirements_of
from hati.store.statements import row_of

BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 10.0, 3600.0
RETURNS = 3
"""How many batches in sequence a volunteer may give back before it waits."""
ELSEWHERE_SECONDS = 300.0
"""The time after its last failure for which a batch waits for a better machine."""
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
    proven = {decode(row.client, Client): bool(row.proven) for row in rows}

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
