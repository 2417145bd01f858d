"""Convert machines to rows of their states and back."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Insert, Row, select, update

from hati.core import Machine, MachineState, canonical_json
from hati.store import schema
from hati.store.databases import UNREADABLE, damaged
from hati.store.rows import checksum, verify


def add_machine(connection: Connection, insertion: Insert, machine: Machine) -> None:
    """Store a machine's missing states; ``insertion`` does not change existing rows.

    If a state is stored with an identity, such as that from another user of the machine, the others get the same one.
    """
    table, own = schema.machine.c, schema.machine.c.fingerprint.in_(machine.fingerprints)
    rows = connection.execute(select(table.fingerprint, table.identity).where(own).order_by(table.fingerprint)).all()
    known = {row.fingerprint: row.identity for row in rows}
    if set(known) == set(machine.fingerprints) and all(known.values()):
        return
    identity = known.get(machine.id) or next(filter(None, known.values()), machine.id)
    for state in sorted(machine.states, key=lambda state: state.fingerprint):  # in a fixed order: no deadlocks
        connection.execute(insertion, _row(state, identity))
    for state in machine.states:
        if known.get(state.fingerprint, identity) is None:  # stored when states had no identity
            same = table.fingerprint == state.fingerprint
            connection.execute(update(schema.machine).where(same).values(**_row(state, identity)))


def read_machines(connection: Connection, name: str) -> tuple[Machine, ...]:
    """All machines, by their identities; a machine's states in the order in which they were first observed.

    Raises:
        MeasurementError: where a row in the store ``name`` is damaged.
    """
    states = defaultdict[str, list[MachineState]](list)
    for row in connection.execute(select(schema.machine)):
        states[row.identity or row.fingerprint].append(_read(row, name))
    return tuple(Machine(tuple(sorted(own, key=partial(_place, identity)))) for identity, own in sorted(states.items()))


def _place(identity: str, state: MachineState) -> tuple[bool, str, str]:
    """The sort key of a machine's states: first the one that is its identity, then by the time of first observation."""
    since = state.since.isoformat() if state.since else ""
    return state.fingerprint != identity, since, state.fingerprint


def _row(state: MachineState, identity: str) -> dict[str, object]:
    row = {
        "fingerprint": state.fingerprint,
        "properties": canonical_json(state.properties),
        "identity": identity,
        "since": state.since.isoformat() if state.since else None,
    }
    return {**row, "checksum": checksum(schema.machine, row)}


def _read(row: Row[Any], name: str) -> MachineState:
    try:
        verify(schema.machine, row._mapping)
        since = None if row.since is None else datetime.fromisoformat(row.since)
        state = MachineState(tuple((str(key), str(value)) for key, value in json.loads(row.properties)), since)
        if state.fingerprint != row.fingerprint:
            raise ValueError("its properties are another's")
    except UNREADABLE as error:
        raise damaged(name, f"machine {row.fingerprint}", error) from error
    return state
