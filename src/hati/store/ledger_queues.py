"""The waiting batches as queues, whose heads come from an index: a decision does not read all batches."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, TextualSelect, column, func, select, text

from hati.core import decode, digest, replace
from hati.steering import Queue, Requirements
from hati.store import schema
from hati.store.statements import rows_of

# Literals instead of parameters: a database uses a partial index only if it sees the same condition.
_FREE = "state = 'open' AND machine IS NULL"
_HEADS = f"""
    WITH RECURSIVE line(key) AS (
        SELECT min(queue) FROM batch WHERE {_FREE}
        UNION ALL
        SELECT (SELECT min(queue) FROM batch WHERE {_FREE} AND queue > line.key) FROM line WHERE line.key IS NOT NULL
    )
    SELECT number, study, requirements, machine FROM batch WHERE number IN (
        SELECT (SELECT min(number) FROM batch WHERE {_FREE} AND queue = line.key) FROM line WHERE line.key IS NOT NULL
    )
"""  # noqa: S608 - of constants
_BEGUN = """
    SELECT number, study, requirements, machine FROM batch
    WHERE state = 'open' AND machine IS NOT NULL AND machine = :machine
"""
_UNDER_WAY = """
    SELECT count(*) AS number, study, NULL AS requirements, NULL AS machine FROM (
        SELECT (SELECT study FROM batch WHERE number = lease.batch) AS study FROM lease
    ) AS held GROUP BY study
"""


def _of_queues(written: str) -> TextualSelect:
    """A statement for the columns of queues, which SQLAlchemy compiles once."""
    return text(written).columns(column("number"), column("study"), column("requirements"), column("machine"))


_QUEUES = _of_queues(f"{_HEADS} UNION ALL {_BEGUN}")
_STEERING = _of_queues(f"{_HEADS} UNION ALL {_BEGUN} UNION ALL {_UNDER_WAY}")
_ALL_HEADS = _of_queues(_HEADS)
_COUNTS = text(f"SELECT queue, count(*) AS batches, min(number) AS head FROM batch WHERE {_FREE} GROUP BY queue")  # noqa: S608 - of constants
_ALL_BEGUN = text("""
    SELECT number, study, requirements, machine FROM batch WHERE state = 'open' AND machine IS NOT NULL
    ORDER BY machine, number
""")
_ABANDONED = """
    SELECT number FROM batch WHERE state = 'open' AND machine IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM worker WHERE worker.machine = batch.machine AND worker.until > :limit)
    AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.batch = batch.number AND attempt.ended > :limit)
    AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.number = batch.number AND ledger.at > :limit)
"""
_ALL_ABANDONED = text(_ABANDONED)
OVERDUE = f"""(
    EXISTS (SELECT 1 FROM lease WHERE until <= :now) OR EXISTS (SELECT 1 FROM worker WHERE until <= :limit)
    OR EXISTS ({_ABANDONED})
)"""  # noqa: S608 - of constants
"""Whether a lease ended at the time ``now``, or a worker or a machine with a batch has been away since ``limit``."""


def queue_key(study: str, requirements: str) -> str:
    """The key of a queue, equal for batches of a study with equal requirements; ``requirements`` are JSON."""
    return digest([study, requirements], 32)


def read_queues(connection: Connection, machine: str) -> tuple[Queue, ...]:
    """The queues of batches that have begun nowhere, and a queue for each batch that has begun on a machine.

    Its time grows with the number of queues, and hardly with the number of batches.
    """
    return tuple(map(_queue, rows_of(connection, _QUEUES, {"machine": machine})))


def read_steering(connection: Connection, machine: str) -> tuple[tuple[Queue, ...], dict[str, int]]:
    """The queues for a machine, and the number of batches that machines run, by study: what a choice is made from."""
    queues, under_way = list[Queue](), dict[str, int]()
    for row in rows_of(connection, _STEERING, {"machine": machine}):
        if row.requirements is None:
            under_way[row.study] = row.number
        else:
            queues.append(_queue(row))
    return tuple(queues), under_way


def read_passing(connection: Connection, queues: Iterable[Queue], withheld: Set[int]) -> tuple[Queue, ...]:
    """The queues without the withheld batches at their heads; queues that have no others are left out."""
    table, found = schema.batch.c, list[Queue]()
    for queue in queues:
        head: int | None = queue.head
        if head in withheld and queue.machine is None:
            same = table.queue == select(table.queue).where(table.number == head).scalar_subquery()
            free = (table.state == text("'open'")) & table.machine.is_(None)
            head = connection.scalar(select(func.min(table.number)).where(same & free & table.number.not_in(withheld)))
        if head is not None:
            found.append(replace(queue, head=head))
    return tuple(found)


def read_lengths(connection: Connection) -> dict[Queue, int]:
    """The number of batches in each queue, of all machines, in the order of their heads."""
    counts = {row.head: row.batches for row in connection.execute(_COUNTS)}
    rows = [*connection.execute(_ALL_HEADS), *connection.execute(_ALL_BEGUN)]
    found = {_queue(row): counts.get(row.number, 1) for row in rows}
    return dict(sorted(found.items(), key=lambda pair: pair[0].head))


def read_abandoned(connection: Connection, limit: float) -> list[int]:
    """The open batches begun on a machine that has left, without any activity since a time."""
    return list(connection.scalars(_ALL_ABANDONED, {"limit": limit}))


def _queue(row: Row[Any]) -> Queue:
    return Queue(row.number, row.study, requirements_of(row.requirements), row.machine)


@lru_cache(maxsize=1024)
def requirements_of(written: str) -> Requirements:
    """The requirements that were written as JSON."""
    return decode(written, Requirements)
