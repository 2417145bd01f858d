"""Results that do not count: late ones and duplicates, kept in the ledger's history up to a number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, text

from hati.store import schema
from hati.store.ledger_entries import EntryKind, append

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
