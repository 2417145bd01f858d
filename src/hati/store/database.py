"""What differs from one kind of database to another, and what a database complains of, as what the user can mend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, Engine, Insert, Table
from sqlalchemy.exc import DBAPIError

from hati.core import HatiError, MeasurementError


class Insertion(Struct, frozen=True):
    """An insertion that is compiled once: for every row SQLAlchemy would take as long again as the database."""

    statement: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, engine: Engine, statement: Insert, table: Table, *given: str) -> Insertion:
        """That of a table's rows, whose ``given`` columns the database fills in."""
        keys = [column.name for column in table.columns if column.name not in given]
        compiled = statement.compile(engine, column_keys=keys)
        return cls(str(compiled), tuple(compiled.positiontup or ()))

    def values(self, row: Mapping[str, object]) -> tuple[object, ...]:
        """A row's values in the order of the statement."""
        return tuple(row[name] for name in self.columns)

    def all(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows."""
        connection.exec_driver_sql(self.statement, list(map(self.values, rows)))


class Database(ABC):
    """Where a store is, by the ``name`` that people are told: no name holds a password."""

    name: str

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that it writes on this machine."""
        return ()

    @abstractmethod
    def missing(self) -> bool:
        """Whether there is nothing to connect to."""

    @abstractmethod
    def engine(self) -> Engine:
        """What makes connections."""

    @abstractmethod
    def prepare(self, connection: Connection) -> None:
        """See that no other process changes tables until this connection's transaction ends."""

    @abstractmethod
    def settle(self, connection: Connection) -> None:
        """Undo what ``prepare`` changed of the connection, after the transaction."""

    @abstractmethod
    def insert_missing(self, table: Table) -> Insert:
        """An insertion that leaves alone what is there already."""

    @abstractmethod
    def insert_run(self, connection: Connection, insertion: Insertion, row: Mapping[str, object]) -> int | None:
        """Insert a run unless there is one of its task; its number, or None where there is."""

    def rescued(self, engine: Engine) -> HatiError | None:  # noqa: ARG002 - only files can be lost
        """Keep elsewhere what is open, where the name leads to something else by now, and say where; else None."""
        return None

    @abstractmethod
    def told(self, error: DBAPIError) -> HatiError:
        """What the user can mend, of what the database complains of."""


@contextmanager
def explained(database: Database) -> Iterator[None]:
    """Turn a database's errors into errors with a fix.

    Raises:
        MeasurementError: where nothing can be kept for now: the disk is full, the database locked, the server away.
        InputError: where the store cannot be opened, read or written.
    """
    try:
        yield
    except DBAPIError as error:
        raise database.told(error) from error


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, HatiError)
"""What reading a row raises that was written otherwise, or by nobody."""


def damaged(name: str, row: str, reason: object, remedy: str = "") -> MeasurementError:
    """That a row of a store cannot be what was written."""
    fix = f"restore the store from a copy{remedy and f', or {remedy}'}"
    return MeasurementError(f"the store {name} is damaged: {row} is not as it was written ({reason})", fix=fix)
