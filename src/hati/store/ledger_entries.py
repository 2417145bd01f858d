"""Entries of the ledger's history, as values and as rows, and their effects on batches and leases."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Set
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from hati.core import Batch, BatchOrder, Job, Observations, Outcome, Resources, Run, Task, digest
from hati.steering import Requirements
from hati.store import schema
from hati.store.ledger_queues import queue_key
from hati.store.rows import decode, encode
from hati.store.statements import change


class BatchState(StrEnum):
    """The state of a batch; DONE, WITHDRAWN and QUARANTINED are final."""

    OPEN = "open"
    LEASED = "leased"
    ENDING = "ending"
    DONE = "done"
    WITHDRAWN = "withdrawn"
    QUARANTINED = "quarantined"

    @property
    def final(self) -> bool:
        """Whether the state never changes again."""
        return self in {BatchState.DONE, BatchState.WITHDRAWN, BatchState.QUARANTINED}


class AttemptOutcome(StrEnum):
    """How an attempt ended.

    FAILED is a failure of the machine, not a result of the subject. In CRASHED and EXPIRED the worker ended, by a fault
    or silently, which the batch itself may cause.
    """

    DONE = "done"
    RETURNED = "returned"
    EXPIRED = "expired"
    CRASHED = "crashed"
    FAILED = "failed"

    @property
    def fatal(self) -> bool:
        """Whether the worker ended without being asked to."""
        return self in {AttemptOutcome.EXPIRED, AttemptOutcome.CRASHED}

    @property
    def counted(self) -> bool:
        """Whether it counts as one of a batch's failures."""
        return self.fatal or self is AttemptOutcome.FAILED


class EntryKind(StrEnum):
    """The kind of an entry."""

    RELEASED = "released"
    LEASED = "leased"
    RENEWED = "renewed"
    REPORTED = "reported"
    ACCEPTED = "accepted"
    LATE = "late"
    DUPLICATE = "duplicate"
    ENDED = "ended"
    FREED = "freed"
    WITHDRAWN = "withdrawn"
    VOIDED = "voided"


class Verdict(StrEnum):
    """What became of a report: machines agreed with it, or did not, or nobody was asked as its machine is trusted."""

    AGREED = "agreed"
    OUTLIER = "outlier"
    TRUSTED = "trusted"


class LedgerEntry(Struct, frozen=True):
    """An entry of the history, at a time in seconds since 1970; ``batch`` is the number of the batch's release."""

    number: int
    at: float
    what: EntryKind
    batch: int
    content: Mapping[str, Any]


# Statements are built once: building one for each call takes several times as long as the database.
_ADD_ENTRY, _ADD_BATCH, _ADD_ATTEMPT, _ADD_LEASE, _ADD_RESULT = map(
    insert, (schema.ledger, schema.batch, schema.attempt, schema.lease, schema.result)
)
_ADD_REPORT = insert(schema.report)
_JUDGE = (
    update(schema.report)
    .where(schema.report.c.task == bindparam("of"), schema.report.c.machine == bindparam("by"))
    .values(verdict=bindparam("as"))
)
_REMOVE_REPORT = delete(schema.report).where(
    schema.report.c.task == bindparam("of"), schema.report.c.machine == bindparam("by")
)
_UPDATE_LEASE = update(schema.lease).where(schema.lease.c.batch == bindparam("of"))
_REMOVE_LEASE = delete(schema.lease).where(schema.lease.c.batch == bindparam("of"))
_UPDATE_ATTEMPT = update(schema.attempt).where(
    schema.attempt.c.batch == bindparam("of"), schema.attempt.c.number == bindparam("attempt")
)
_UPDATE_BATCH = update(schema.batch).where(schema.batch.c.number == bindparam("of"))
_END_BATCH = _UPDATE_BATCH.values(
    state=bindparam("state"), machine=bindparam("machine"), failures=schema.batch.c.failures + bindparam("failed")
)


def batch_content(batch: Batch[Job], requirements: Requirements) -> dict[str, Any]:
    """The content of a released batch."""
    return {
        "key": batch_key(batch),
        "study": batch.members[0].task.study,
        "order": batch.order.value,
        "jobs": [job.to_json() for job in batch.members],
        "tasks": [job.task.id for job in batch.members],
        "requirements": msgspec.to_builtins(requirements),
    }


def batch_key(batch: Batch[Job]) -> str:
    """The key of a batch, equal for equal batches."""
    return digest([batch.order.value, *(job.digest for job in batch.members)], 32)


@lru_cache(maxsize=64)
def batch_of(written: str) -> Batch[Job]:
    """The released batch with a content, as JSON: a claim reads it, and soon after it each result."""
    content = json.loads(written)
    return Batch(tuple(map(Job.from_json, content["jobs"])), BatchOrder(content["order"]))


def run_content(run: Run) -> dict[str, Any]:
    """The content of a run, with the id of its task only."""
    return {
        "task": run.task.id,
        "machine": run.machine,
        "started": run.started.isoformat(),
        "seconds": run.seconds,
        "outcome": run.outcome.value,
        "detail": run.detail,
        "exit": run.exit,
        "output": run.output,
        "resources": run.resources and msgspec.to_builtins(run.resources),
        "observations": [
            [o.metric, o.unit, o.warmup, base64.b64encode(encode(o.values)).decode()] for o in run.observations
        ],
        "reset": run.reset,
    }


def run_of(content: Mapping[str, Any], task: Task) -> Run:
    """The run of a task with a content.

    Raises:
        ValueError: or another of ``UNREADABLE``, where the content is not that of a run.
    """
    return Run(
        task=task,
        machine=content["machine"],
        started=datetime.fromisoformat(content["started"]),
        seconds=content["seconds"],
        outcome=Outcome(content["outcome"]),
        detail=content["detail"],
        exit=content["exit"],
        output=content["output"],
        resources=content["resources"] and Resources(**content["resources"]),
        observations=tuple(
            Observations(metric, unit, decode(base64.b64decode(data)), warmup)
            for metric, unit, warmup, data in content["observations"]
        ),
        reset=content["reset"],
    )


def append(connection: Connection, at: float, what: EntryKind, batch: int, content: Mapping[str, Any]) -> LedgerEntry:
    """Append an entry to the history, and apply it to the state; ``batch`` is 0 for a release, which has none yet."""
    row = {"at": at, "what": what.value, "batch": batch or None, "content": json.dumps(content)}
    number = change(connection, _ADD_ENTRY, row)
    entry = LedgerEntry(number, at, what, batch or number, content)
    _APPLY.get(what, _leave)(connection, entry)
    return entry


def read_entries(connection: Connection) -> tuple[LedgerEntry, ...]:
    """The whole history, oldest first."""
    rows = connection.execute(select(schema.ledger).order_by(schema.ledger.c.number))
    return tuple(
        LedgerEntry(row.number, row.at, EntryKind(row.what), row.batch or row.number, json.loads(row.content))
        for row in rows
    )


def rebuild(connection: Connection) -> None:
    """Rebuild the state from the history."""
    for table in (schema.report, schema.result, schema.lease, schema.attempt, schema.batch):
        connection.execute(delete(table))
    for entry in read_entries(connection):
        _APPLY.get(entry.what, _leave)(connection, entry)


def erase_runs(connection: Connection, tasks: Set[str]) -> None:
    """Erase the runs of tasks in the history, and what was compared of them, except the fact that they existed."""
    table = schema.ledger.c
    results = (EntryKind.REPORTED, EntryKind.ACCEPTED, EntryKind.LATE, EntryKind.DUPLICATE)
    kinds = [kind.value for kind in results]
    for row in connection.execute(select(table.number, table.what, table.content).where(table.what.in_(kinds))).all():
        content = json.loads(row.content)
        if content["run"]["task"] in tasks:
            content["run"] = {"task": content["run"]["task"]}
            if row.what == EntryKind.REPORTED:
                del content["report"]
            left = json.dumps(content)
            connection.execute(update(schema.ledger).where(table.number == row.number).values(content=left))


def erase_study(connection: Connection, study: str) -> None:
    """Erase a study completely; machines that run its batches lose their leases."""
    numbers = select(schema.batch.c.number).where(schema.batch.c.study == study)
    for table in (schema.report, schema.result, schema.lease, schema.attempt):
        connection.execute(delete(table).where(table.c.batch.in_(numbers)))
    entries = schema.ledger.c
    own = list(connection.scalars(numbers))
    connection.execute(delete(schema.batch).where(schema.batch.c.study == study))
    for number in own:
        connection.execute(delete(schema.ledger).where((entries.number == number) | (entries.batch == number)))


def _leave(_: Connection, __: LedgerEntry) -> None:
    """Change nothing: the entry is only kept."""


def _released(connection: Connection, entry: LedgerEntry) -> None:
    content = entry.content
    requirements = json.dumps(content["requirements"])
    row = {
        "number": entry.number,
        "key": content["key"],
        "study": content["study"],
        "state": content["state"],
        "requirements": requirements,
        "queue": queue_key(content["study"], requirements),
        "tasks": " ".join(content["tasks"]),
        "machine": content["machine"],
        "attempts": 0,
        "failures": 0,
    }
    change(connection, _ADD_BATCH, row)


def _leased(connection: Connection, entry: LedgerEntry) -> None:
    content = entry.content
    own = {name: content[name] for name in ("machine", "worker")}
    begun = {
        "batch": entry.batch,
        "number": content["attempt"],
        "began": entry.at,
        "reason": "",
        "choice": content["reason"],
    }
    change(connection, _ADD_ATTEMPT, own | begun)
    held = {"batch": entry.batch, "attempt": content["attempt"], "until": content["until"]}
    change(connection, _ADD_LEASE, own | held)
    _change(connection, entry, state=BatchState.LEASED.value, attempts=content["attempt"])


def _renewed(connection: Connection, entry: LedgerEntry) -> None:
    change(connection, _UPDATE_LEASE, {"of": entry.batch, "until": entry.content["until"]})


def _accepted(connection: Connection, entry: LedgerEntry) -> None:
    content = entry.content
    row = {
        "task": content["run"]["task"],
        "batch": entry.batch,
        "attempt": content["attempt"],
        "entry": content.get("report", entry.number),
    }
    change(connection, _ADD_RESULT, row)
    for verdict, machines in content.get("verdicts", {}).items():
        for machine in machines:
            change(connection, _JUDGE, {"of": row["task"], "by": machine, "as": verdict})


def _reported(connection: Connection, entry: LedgerEntry) -> None:
    content = entry.content
    row = {"task": content["run"]["task"], "machine": content["machine"], "attempt": content["attempt"]}
    change(connection, _ADD_REPORT, {**row, "batch": entry.batch, "entry": entry.number, "verdict": None})


def _ended(connection: Connection, entry: LedgerEntry) -> None:
    content = entry.content
    ended = {"ended": entry.at, "outcome": content["outcome"], "reason": content["reason"]}
    change(connection, _UPDATE_ATTEMPT, {"of": entry.batch, "attempt": content["attempt"], **ended})
    change(connection, _REMOVE_LEASE, {"of": entry.batch})
    failed = int(AttemptOutcome(content["outcome"]).counted)
    about = {"state": content["state"], "machine": content["machine"], "failed": failed}
    change(connection, _END_BATCH, {"of": entry.batch, **about})


def _freed(connection: Connection, entry: LedgerEntry) -> None:
    _change(connection, entry, machine=None)


def _withdrawn(connection: Connection, entry: LedgerEntry) -> None:
    _change(connection, entry, state=entry.content["state"])


def _voided(connection: Connection, entry: LedgerEntry) -> None:
    task, machine = entry.content["task"], entry.content.get("machine")
    if machine is not None:
        change(connection, _REMOVE_REPORT, {"of": task, "by": machine})
        return
    for table in (schema.result, schema.report):
        connection.execute(delete(table).where(table.c.task == task))


def _change(connection: Connection, entry: LedgerEntry, **values: object) -> None:
    change(connection, _UPDATE_BATCH, {"of": entry.batch, **values})


_APPLY = {
    EntryKind.RELEASED: _released,
    EntryKind.LEASED: _leased,
    EntryKind.RENEWED: _renewed,
    EntryKind.REPORTED: _reported,
    EntryKind.ACCEPTED: _accepted,
    EntryKind.ENDED: _ended,
    EntryKind.FREED: _freed,
    EntryKind.WITHDRAWN: _withdrawn,
    EntryKind.VOIDED: _voided,
}
