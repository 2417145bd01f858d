"""Databases of stores: what they differ in, and SQLite files; their errors as errors with a fix."""

from __future__ import annotations

import itertools
import os
import sqlite3
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Engine, Insert, PoolProxiedConnection, Table, create_engine, event
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, OperationalError

from hati.core import HatiError, InputError, MeasurementError
from hati.file_errors import free_text, is_nearly_full, write_error


class Insertion(Struct, frozen=True):
    """An insertion that is compiled once: compiling it for every row would double the time of the insertion."""

    statement: str
    values: Callable[[Mapping[str, object]], tuple[object, ...]]
    """A row's values in the order of the statement."""

    @classmethod
    def of(cls, engine: Engine, statement: Insert, table: Table, *given: str) -> Insertion:
        """The insertion of a table's rows, without the ``given`` columns, which the database fills in."""
        keys = [column.name for column in table.columns if column.name not in given]
        compiled = statement.compile(engine, column_keys=keys)
        return cls(str(compiled), itemgetter(*(compiled.positiontup or ())))


class Database(ABC):
    """The database of a store; ``name`` is its name in messages, without a password."""

    name: str

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it writes on this machine."""
        return ()

    @abstractmethod
    def missing(self) -> bool:
        """Whether there is nothing to connect to."""

    @abstractmethod
    def engine(self) -> Engine:
        """The SQLAlchemy engine."""

    @abstractmethod
    def prepare(self, connection: Connection) -> None:
        """Keep other processes from changing tables until this connection's transaction ends."""

    @abstractmethod
    def settle(self, connection: Connection) -> None:
        """Undo the changes of ``prepare`` to the connection, after the transaction."""

    def transaction(self, engine: Engine) -> AbstractContextManager[Connection | PoolProxiedConnection]:
        """A transaction for ``insert_run`` and ``insert_all``, committed at its end unless an error ends it."""
        return engine.begin()

    @abstractmethod
    def insert_missing(self, table: Table) -> Insert:
        """An insertion that does not change existing rows."""

    @abstractmethod
    def insert_run(
        self, connection: Connection | PoolProxiedConnection, insertion: Insertion, row: Mapping[str, object]
    ) -> int | None:
        """Insert a run unless its task has one; return its number, or None if the task has one."""

    def insert_all(
        self, connection: Connection | PoolProxiedConnection, insertion: Insertion, rows: Sequence[Mapping[str, object]]
    ) -> None:
        """Insert rows."""
        assert isinstance(connection, Connection)
        connection.exec_driver_sql(insertion.statement, list(map(insertion.values, rows)))

    @abstractmethod
    def take_turn(self, connection: Connection) -> float:
        """Keep other processes from changing the ledger until this connection's transaction ends; return the time."""

    @abstractmethod
    def now(self, connection: Connection) -> float:
        """The database's time, in seconds since 1970."""

    def rescued(self, engine: Engine) -> HatiError | None:  # noqa: ARG002 - only files can be lost
        """Save the open database elsewhere if its file was deleted or replaced, and return an error; else None."""
        return None

    @abstractmethod
    def as_error(self, error: DBAPIError | sqlite3.Error) -> HatiError:
        """A database's error as an error with a fix."""


@contextmanager
def explained(database: Database) -> Iterator[None]:
    """Turn a database's errors into errors with a fix.

    Raises:
        MeasurementError: where nothing can be stored for now: a full disk, a locked database, an unreachable server.
        InputError: where the store cannot be opened, read or written.
    """
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise database.as_error(error) from error
    except UnicodeDecodeError as error:  # sqlite3 cannot decode SQLite's message if the schema is not text
        raise damaged(database.name, "its schema", error) from error


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, HatiError)
"""The errors of reading a row that is damaged or in another format."""


def damaged(name: str, row: str, reason: object, remedy: str = "") -> MeasurementError:
    """The error for a damaged row of a store."""
    fix = f"restore the store from a copy{remedy and f', or {remedy}'}"
    return MeasurementError(f"the store {name} is damaged: {row} is not as it was written ({reason})", fix=fix)


_BUSY_SECONDS = 30
_BETWEEN_TRIES = 0.01
"""Seconds."""


class Sqlite(Database):
    """An SQLite file, or a database in memory if the URL names no file."""

    def __init__(self, url: URL, name: str) -> None:
        self._url = url
        self.file = Path(url.database) if url.database else None
        self.name = name
        self._opened: tuple[int, int] | None = None

    @classmethod
    def at(cls, file: Path, name: str | None = None) -> Sqlite:
        """The database in a file, with another ``name`` for messages if given."""
        return cls(URL.create("sqlite", database=str(file)), name or str(file))

    @property
    def files(self) -> tuple[Path, ...]:
        """The file itself, and SQLite's temporary files next to it."""
        if self.file is None:
            return ()
        return tuple(self.file.with_name(f"{self.file.name}{end}") for end in ("", "-wal", "-shm", "-journal"))

    def missing(self) -> bool:
        """Whether there is no file."""
        return self.file is not None and not self.file.exists()

    def engine(self) -> Engine:
        """The SQLAlchemy engine."""
        lifo = {"pool_use_lifo": True} if self.file is not None else {}  # what a connection has read stays in memory
        engine = create_engine(self._url, connect_args={"timeout": _BUSY_SECONDS}, **lifo)
        event.listen(engine, "do_connect", _connect)
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "connect", self._note)
        return engine

    def prepare(self, connection: Connection) -> None:
        """Begin a write transaction: other processes wait.

        A table's constraints are changed by creating it again, so foreign keys are off meanwhile.
        """
        _write_ahead(connection)
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")  # not possible in a transaction either
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def settle(self, connection: Connection) -> None:
        """Enforce foreign keys again."""
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")

    @contextmanager
    def transaction(self, engine: Engine) -> Iterator[PoolProxiedConnection]:
        """A transaction of the driver: that of SQLAlchemy takes as long as the insertion."""
        with closing(engine.raw_connection()) as connection:
            yield connection
            connection.commit()

    def insert_missing(self, table: Table) -> Insert:
        """An insertion that does not change existing rows."""
        from sqlalchemy.dialects.sqlite import insert

        return insert(table).on_conflict_do_nothing()

    def insert_run(
        self, connection: Connection | PoolProxiedConnection, insertion: Insertion, row: Mapping[str, object]
    ) -> int | None:
        """Insert a run unless its task has one; RETURNING needs a newer SQLite than some systems have."""
        done = driver_of(connection).execute(insertion.statement, insertion.values(row))
        return done.lastrowid if done.rowcount else None

    def insert_all(
        self, connection: Connection | PoolProxiedConnection, insertion: Insertion, rows: Sequence[Mapping[str, object]]
    ) -> None:
        """Insert rows."""
        driver_of(connection).executemany(insertion.statement, map(insertion.values, rows))

    def take_turn(self, connection: Connection) -> float:
        """Begin a write transaction: other processes wait."""
        if not connection.in_transaction():
            connection.begin()
        driver_of(connection).execute("BEGIN IMMEDIATE")
        return time.time()

    def now(self, _: Connection) -> float:
        """This machine's time, which is SQLite's."""
        return time.time()

    def rescued(self, engine: Engine) -> HatiError | None:
        """Write the content of the open file into a new file next to it if it was deleted or replaced."""
        if self.file is None or self._opened is None or _identity(self.file) == self._opened:
            return None
        with engine.connect() as connection:
            return self._copied(self.file, driver_of(connection))

    def _copied(self, file: Path, source: sqlite3.Connection) -> HatiError:
        lost = f"the store {self.name} was deleted or replaced while it was measured into"
        place = None
        try:
            place = _free(file)
            with closing(sqlite3.connect(place)) as target:
                source.backup(target)
        except (OSError, sqlite3.Error) as error:
            if place is not None:
                place.unlink(missing_ok=True)
            return MeasurementError(f"{lost}, and what it held cannot be kept: {error}", fix="start again")
        return MeasurementError(
            f"{lost}; what it held is in {place}", fix=f"put it into a store by `hati import {place}`"
        )

    def _note(self, _connection: object, _record: object) -> None:
        """Record the identity of the file at the first connection."""
        if self.file is not None and self._opened is None:
            self._opened = _identity(self.file)

    def as_error(self, error: DBAPIError | sqlite3.Error) -> HatiError:
        """A database's error as an error with a fix."""
        return self.refused(str(error.orig if isinstance(error, DBAPIError) else error))

    def refused(self, reason: str) -> HatiError:
        """The error with a fix for a message of SQLite."""
        if _is_full(reason):
            return self._unwritten(reason)
        if "malformed" in reason or "Could not decode" in reason:
            return damaged(self.name, "a row or a table", reason)
        if "locked" in reason:
            return MeasurementError(
                f"the store {self.name} stays locked by another program",
                fix="end that program, or give another --store",
            )
        if self.file is not None and not self.file.parent.is_dir():
            return self._without_folder(self.file.parent)
        if "readonly" in reason or "unable to open" in reason:
            return self._unopened(reason)
        return InputError(
            f"the store {self.name} cannot be used: {reason}",
            fix="is it a store of Hati's? another can be named by --store",
        )

    def _without_folder(self, parent: Path) -> InputError:
        why, how = ("{} is not a folder", "rename it") if parent.exists() else ("there is no folder {}", "make it")
        return InputError(
            f"the store {self.name} cannot be made: {why.format(parent)}",
            fix=f"{how}, or name another place by --store",
        )

    def _unopened(self, reason: str) -> HatiError:
        """The error for a file, or a temporary one, that cannot be opened for writing."""
        if "unable to open" in reason and (trouble := self._temporary_error()):
            return trouble
        folder = self.file is not None and self.file.is_dir()
        return InputError(
            f"the store {self.name} {'is a folder' if folder else f'cannot be written: {reason}'}",
            fix="name a file by --store"
            if folder
            else "give yourself the right to write there, or name another place by --store",
        )

    def _unwritten(self, reason: str) -> HatiError:
        """The error for a disk that is full, or that cannot be written for another reason, such as a quota.

        SQLite has temporary files in another folder.
        """
        here = _temporary_folder() if self.file is None else self.file.parent
        full = here is not None and is_nearly_full(here)
        if not full and (trouble := self._temporary_error()):
            return trouble
        fix = "see that no quota is used up, and what the kernel reports (`dmesg`)"
        if full or "full" in reason:
            fix = "free some space there"
        free = "" if here is None else free_text(here)
        return MeasurementError(
            f"the store {self.name} cannot be written: {f'its disk is full{free}' if full else f'{reason}{free}'}",
            fix=f"{fix} and start again: what was recorded is kept",
        )

    def _temporary_error(self) -> HatiError | None:
        """The error where SQLite's temporary files are what cannot be written; None where the store itself may be."""
        if self.file is not None and not os.access(self.file if self.file.exists() else self.file.parent, os.W_OK):
            return None
        folder, fix = _temporary_folder(), "set TMPDIR to another folder"
        if folder is None:
            return InputError("there is no folder for temporary files of the store", fix=fix)
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(_TEMPORARY_BYTES))
        except OSError as error:
            return write_error(folder, error, fix, "used for temporary files of the store")
        return None


_TEMPORARY_BYTES = 2**20


def _temporary_folder() -> Path | None:
    """The folder of SQLite's temporary files, by its own choice; None if it finds none."""
    named = [os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR")]
    places = [Path(each) for each in (*named, "/var/tmp", "/usr/tmp", "/tmp", ".") if each]  # noqa: S108 - SQLite's
    return next((each for each in places if each.is_dir() and os.access(each, os.W_OK | os.X_OK)), None)


def driver_of(connection: Connection | PoolProxiedConnection) -> sqlite3.Connection:
    """SQLite's own connection, for what is done after every run: SQLAlchemy's layers took as long as the insertion."""
    pooled = connection.connection if isinstance(connection, Connection) else connection
    driver = pooled.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _free(lost: Path) -> Path:
    """A new file next to a lost one; under another name, since SQLite's temporary files may be left at the old one.

    Raises:
        OSError: where none can be created.
    """
    folder = lost.parent
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="hati-"))
    for number in itertools.count(1):
        place = folder / f"{lost.stem}-rescued{f'-{number}' if number > 1 else ''}{lost.suffix}"
        with suppress(FileExistsError):
            place.touch(exist_ok=False)
            return place
    raise AssertionError


def _write_ahead(connection: Connection) -> None:
    """Set the journal mode, which is stored in the file, and cannot be set in a transaction.

    If another process sets it at the same time, SQLite reports at once that the file is locked, whatever the timeout.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() >= until:
                raise
            time.sleep(_BETWEEN_TRIES)  # there is no event when the other process is done
        else:
            return


def _connect(dialect: Dialect, _: object, words: Sequence[Any], named: Mapping[str, Any]) -> DBAPIConnection:
    """Connect, also to a file on a full disk, to read it.

    Connections share an index of the WAL in a file, which needs room; a connection that is alone has it in memory.
    """
    made = dialect.connect(*words, **named)
    try:
        made.cursor().execute("PRAGMA schema_version")
    except sqlite3.Error as error:  # others are reported by what is asked next
        if _is_full(str(error)):
            made.close()
            made = dialect.connect(*words, **named)
            made.cursor().execute("PRAGMA locking_mode=EXCLUSIVE")
    return made


def _set_pragmas(connection: object, _record: object) -> None:
    # With WAL, synchronous=NORMAL keeps commits if any process dies, and needs no fsync between two runs.
    cursor = connection.cursor()  # type: ignore[attr-defined]  # a DBAPI connection
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _is_full(reason: str) -> bool:
    return "full" in reason or "disk I/O error" in reason
