"""Statements that are compiled once, and that the database's driver executes as text.

SQLAlchemy's layers take several times as long as SQLite does for the short statements of the ledger.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import ClauseElement, ColumnElement, Connection, Executable, Select, bindparam
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
