"""Statements that are compiled once, and that SQLite's own driver executes.

SQLAlchemy's layers take several times as long as SQLite does for the short statements of the ledger.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import ClauseElement, Connection, Executable
from sqlalchemy.engine import Dialect

from hati.store.databases import driver_of

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
    if connection.dialect.name != "sqlite":
        return connection.execute(statement, values).all()
    compiled = _compiled(statement, connection.dialect, ())
    cursor = driver_of(connection).execute(compiled.text, compiled.values(values))
    make = _row_type(tuple(column[0] for column in cursor.description))
    return [make(row) for row in cursor]


def row_of(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Any:
    """The only row of a query; None where it has none."""
    rows = rows_of(connection, statement, values)
    assert len(rows) <= 1
    return rows[0] if rows else None


def change(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> int:
    """Execute an insertion, update or deletion; the number of the row that an insertion added, where it has one."""
    if connection.dialect.name != "sqlite":
        done = connection.execute(statement, values)
        key = done.inserted_primary_key if done.is_insert else None
        return key[0] if key and isinstance(key[0], int) else 0
    compiled = _compiled(statement, connection.dialect, tuple(values))
    return driver_of(connection).execute(compiled.text, compiled.values(values)).lastrowid or 0


def in_pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split values into parts for single statements."""
    for first in range(0, len(values), AT_ONCE):
        yield values[first : first + AT_ONCE]


@lru_cache(maxsize=1024)
def _compiled(statement: Executable, dialect: Dialect, columns: tuple[str, ...]) -> CompiledStatement:
    assert isinstance(statement, ClauseElement)
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    return CompiledStatement(str(compiled), tuple(compiled.positiontup or ()), dict(compiled.params))


@cache
def _row_type(names: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    made = namedtuple("Row", names)  # type: ignore[misc]  # the columns are known at run time only
    return made._make
