"""Volunteers' machines with their tokens, signed releases, and artefacts, in a store's database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from hati.core import InputError
from hati.core.wording import nearest
from hati.store import schema
from hati.store.ledger_reports import void_reports
from hati.store.statements import Transactions, row_of

LARGEST_ARTEFACT = 256 * 2**20
"""The largest artefact, in bytes."""
_PART = 2**20


class Volunteer(Struct, frozen=True):
    """A registered machine: its permanent identity, the fingerprint of its last state, and what it said of itself.

    Times are in seconds since 1970; ``revoked`` is None where its token is valid.
    """

    name: str
    machine: str
    fingerprint: str
    client: Mapping[str, Any]
    registered: float
    revoked: float | None = None


class Release(Struct, frozen=True):
    """What volunteers may run: canonical JSON and its Ed25519 signature; ``public`` is the key, both in base64.

    ``key`` identifies the definition of a benchmark together with the files of a revision.
    """

    key: str
    benchmark: str
    revision: str
    statement: str
    signature: str
    public: str
    artefact: str
    signed: float


def token_hash(token: str) -> str:
    """What a store keeps of a token: its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()


_HOLDER = select(schema.volunteer).where(
    schema.volunteer.c.token == bindparam("hash"), schema.volunteer.c.revoked.is_(None)
)
_SIZE = select(schema.artefact.c.bytes).where(schema.artefact.c.sha256 == bindparam("name"))
_RELEASES = select(schema.release).order_by(schema.release.c.signed)
_RELEASES_OF = _RELEASES.where(schema.release.c.key.in_(bindparam("keys", expanding=True)))
_RELEASE_WITH_SIZE = (
    select(schema.release, schema.artefact.c.bytes)
    .join(schema.artefact, schema.artefact.c.sha256 == schema.release.c.artefact)
    .where(schema.release.c.key == bindparam("key"))
)


class Volunteers:
    """The volunteers of a store; each call is a separate transaction."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def register(self, name: str, machine: str, token: str, client: Mapping[str, Any]) -> bool:
        """Register a machine under a name; False where a machine with a valid token has that name.

        A machine whose token was revoked gets the new one. Only the token's hash is stored.
        """
        with self._transactions.turn() as (connection, now):
            known = self._row(connection, name)
            if known is not None and known.revoked is None:
                return False
            values = {
                "machine": machine,
                "fingerprint": machine,
                "token": token_hash(token),
                "client": json.dumps(client),
                "registered": now,
                "revoked": None,
            }
            if known is None:
                connection.execute(insert(schema.volunteer).values(name=name, **values))
            else:
                connection.execute(update(schema.volunteer).where(schema.volunteer.c.name == name).values(values))
            return True

    def holder(self, token: str) -> Volunteer | None:
        """The machine to which a valid token belongs; None for an unknown or revoked token."""
        with self._transactions.reading() as connection:
            row = row_of(connection, _HOLDER, {"hash": token_hash(token)})
        return None if row is None else _volunteer(row)

    def update(self, machine: str, fingerprint: str, client: Mapping[str, Any]) -> None:
        """Store the present state of a machine."""
        values = {"fingerprint": fingerprint, "client": json.dumps(client)}
        with self._transactions.turn() as (connection, _):
            connection.execute(update(schema.volunteer).where(schema.volunteer.c.machine == machine).values(values))

    def all(self) -> tuple[Volunteer, ...]:
        """All machines that ever registered, in the order of their names."""
        with self._transactions.reading() as connection:
            rows = connection.execute(select(schema.volunteer).order_by(schema.volunteer.c.name))
            return tuple(map(_volunteer, rows))

    def number(self) -> int:
        """The number of machines with a valid token."""
        query = select(func.count()).select_from(schema.volunteer).where(schema.volunteer.c.revoked.is_(None))
        with self._transactions.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def revoke(self, name: str) -> bool:
        """Revoke the token of a machine; False where that was done before.

        What it reported, and no other machine has confirmed, does not count.

        Raises:
            InputError: for an unknown name.
        """
        with self._transactions.turn() as (connection, now):
            known = self._row(connection, name)
            if known is None:
                names = list(connection.scalars(select(schema.volunteer.c.name)))
                near = nearest(name, names)
                fix = f"did you mean {near!r}?" if near else "`hati grid volunteers` lists them"
                raise InputError(f"no volunteer is named {name!r}", fix=fix)
            if known.revoked is not None:
                return False
            connection.execute(update(schema.volunteer).where(schema.volunteer.c.name == name).values(revoked=now))
            connection.execute(delete(schema.client).where(schema.client.c.machine == known.machine))
            void_reports(connection, now, known.machine)
            return True

    def keep_artefact(self, content: bytes) -> str:
        """Store an artefact, and return its SHA-256; an equal one is stored once.

        Raises:
            InputError: where it is larger than ``LARGEST_ARTEFACT``.
        """
        if len(content) > LARGEST_ARTEFACT:
            raise InputError(
                f"the artefact has {len(content) >> 20:,} MiB, more than {LARGEST_ARTEFACT >> 20} MiB",
                fix="exclude large files by [subject] sources",
            )
        name = hashlib.sha256(content).hexdigest()
        with self._transactions.turn() as (connection, _):
            known = select(schema.artefact.c.bytes).where(schema.artefact.c.sha256 == name)
            if connection.scalar(known) is None:
                connection.execute(insert(schema.artefact).values(sha256=name, bytes=len(content)))
                for number, first in enumerate(range(0, len(content), _PART)):
                    part = {"sha256": name, "number": number, "data": content[first : first + _PART]}
                    connection.execute(insert(schema.artefact_part).values(part))
        return name

    def artefact_size(self, name: str) -> int | None:
        """The size of an artefact in bytes; None where there is none."""
        with self._transactions.reading() as connection:
            size: int | None = connection.scalar(_SIZE, {"name": name})
        return size

    def artefact(self, name: str, first: int, end: int) -> Iterator[bytes]:
        """The bytes of an artefact from ``first`` to before ``end``, in pieces of at most 1 MiB."""
        table = schema.artefact_part.c
        for number in range(first // _PART, (end + _PART - 1) // _PART):
            same = (table.sha256 == name) & (table.number == number)
            with self._transactions.reading() as connection:
                data: bytes = connection.execute(select(table.data).where(same)).scalar_one()
            start = number * _PART
            yield data[max(0, first - start) : end - start]

    def keep_release(self, release: Release) -> None:
        """Store a signed release; it replaces an earlier one with the same key."""
        with self._transactions.turn() as (connection, _):
            connection.execute(delete(schema.release).where(schema.release.c.key == release.key))
            connection.execute(
                insert(schema.release).values({name: getattr(release, name) for name in release.__struct_fields__})
            )

    def releases(self, keys: Collection[str] | None = None) -> dict[str, Release]:
        """The releases with these keys, all where None, by their keys, oldest first."""
        query, about = (_RELEASES, {}) if keys is None else (_RELEASES_OF, {"keys": list(keys)})
        with self._transactions.reading() as connection:
            return {row.key: Release(**row._mapping) for row in connection.execute(query, about)}

    def release(self, key: str) -> tuple[Release, int] | None:
        """The release with a key, and the size of its artefact in bytes; None where there is none."""
        with self._transactions.reading() as connection:
            row = row_of(connection, _RELEASE_WITH_SIZE, {"key": key})
        if row is None:
            return None
        values = row._asdict()
        size: int = values.pop("bytes")
        return Release(**values), size

    @staticmethod
    def _row(connection: Connection, name: str) -> Row[Any] | None:
        return connection.execute(select(schema.volunteer).where(schema.volunteer.c.name == name)).one_or_none()


def _volunteer(row: Row[Any]) -> Volunteer:
    return Volunteer(row.name, row.machine, row.fingerprint, json.loads(row.client), row.registered, row.revoked)
