"""Transactions, and the statements in them, which are compiled once and executed by the database's driver as text.

SQLAlchemy's layers take several times as long as SQLite does for the short statements of the ledger.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct
from sqlalchemy import ClauseElement, ColumnElement, Connection, Engine, Executable, Select, bindparam
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError

from hati.core import HatiError
from hati.store.databases import Database, driver_of, explained

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


AT_ONCE = 500
T = TypeVar("T")


class CompiledStatement(Struct, frozen=True):
    """The text of a statement, the names of its parameters in order, and the values of those that are constant."""

    text: str
    names: tuple[str, ...]
    constants: Mapping[str, Any]

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        """The parameters in the order of the text."""
        known = {**self.constants, **given}
        return [known[name] for name in self.names]


def rows_of(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Sequence[Any]:
    """The rows of a query, with its columns as attributes; their types need no conversion."""
    compiled = _compiled(statement, connection.dialect, ())
    if connection.dialect.name != "sqlite":
        return connection.exec_driver_sql(compiled.text, tuple(compiled.values(values))).all()
    cursor = driver_of(connection).execute(compiled.text, compiled.values(values))
    make = _ROW_TYPES.get(compiled.text) or _row_type(compiled.text, [column[0] for column in cursor.description])
    return list(map(make, cursor))


def row_of(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Any:
    """The only row of a query; None where it has none."""
    rows = rows_of(connection, statement, values)
    assert len(rows) <= 1
    return rows[0] if rows else None


def change(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> int:
    """Execute an insertion, update or deletion; the number of the row that an insertion added, where it has one."""
    compiled = _compiled(statement, connection.dialect, tuple(values))
    if connection.dialect.name != "sqlite":
        done = connection.exec_driver_sql(compiled.text, tuple(compiled.values(values)))
        key = done.scalar() if done.returns_rows else None
        return key if isinstance(key, int) else 0
    return driver_of(connection).execute(compiled.text, compiled.values(values)).lastrowid or 0


def rows_among(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], wanted: Sequence[object]
) -> Iterator[Any]:
    """The rows of a query in which a column has one of the values."""
    for some in in_pieces(wanted):
        number = 1 << (len(some) - 1).bit_length()  # few statements for all numbers of values
        padded = [*some, *[some[-1]] * (number - len(some))]
        yield from rows_of(connection, _among(query, column, number), dict(zip(_names(number), padded, strict=True)))


def in_pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split values into parts for single statements."""
    for first in range(0, len(values), AT_ONCE):
        yield values[first : first + AT_ONCE]


@cache
def _names(number: int) -> tuple[str, ...]:
    return tuple(f"value_{each}" for each in range(number))


@cache
def _among(query: Select[Any], column: ColumnElement[Any], number: int) -> Select[Any]:
    return query.where(column.in_([bindparam(name) for name in _names(number)]))


@lru_cache(maxsize=1024)
def _compiled(statement: Executable, dialect: Dialect, columns: tuple[str, ...]) -> CompiledStatement:
    assert isinstance(statement, ClauseElement)
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    return CompiledStatement(str(compiled), tuple(compiled.positiontup or ()), dict(compiled.params))


_ROW_TYPES = dict[str, Callable[[Iterable[Any]], Any]]()


def _row_type(statement: str, names: Sequence[str]) -> Callable[[Iterable[Any]], Any]:
    made = namedtuple("Row", names)  # type: ignore[misc]  # the columns are known at run time only
    return _ROW_TYPES.setdefault(statement, made._make)
