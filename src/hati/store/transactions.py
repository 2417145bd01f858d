"""Transactions of a store's ledger and of its volunteers: one for each call, or one for several calls together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from hati.core import HatiError
from hati.store.databases import Database, explained

P = ParamSpec("P")
R = TypeVar("R")


def repeated(method: Callable[P, R]) -> Callable[P, R]:
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


class Transactions:
    """Begins a transaction for each call; those that may change something wait for those of other processes."""

    def __init__(self, engine: Engine, database: Database) -> None:
        self.engine, self._database = engine, database

    @contextmanager
    def turn(self) -> Iterator[tuple[Connection, float]]:
        """A transaction that may change something and is committed at the end, and the database's time in it."""
        with explained(self._database), self.engine.connect() as connection:
            yield connection, self._database.take_turn(connection)
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that only reads."""
        with explained(self._database), self.engine.connect() as connection:
            yield connection

    def now(self, connection: Connection) -> float:
        """The database's time, in seconds since 1970."""
        return self._database.now(connection)


class OneTransaction(Transactions):
    """A transaction that another caller commits: all calls are parts of it, and see what those before them changed.

    A database's error in a call ends the whole transaction.
    """

    def __init__(self, engine: Engine, database: Database, connection: Connection, now: float) -> None:
        super().__init__(engine, database)
        self._connection, self._now = connection, now

    @contextmanager
    def turn(self) -> Iterator[tuple[Connection, float]]:
        """The transaction, and the database's time when it began."""
        yield self._connection, self._now

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """The connection of the transaction."""
        yield self._connection

    def now(self, _: Connection) -> float:
        """The database's time when the transaction began."""
        return self._now
