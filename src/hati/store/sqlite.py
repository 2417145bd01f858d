"""A store in a file, by SQLite."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, Insert, Table, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError

from hati.core import HatiError, InputError, MeasurementError
from hati.store.database import Database, Insertion, damaged

_BUSY_SECONDS = 30
_BETWEEN_TRIES = 0.01
"""Seconds."""


class Sqlite(Database):
    """A file, or memory where the URL names none."""

    def __init__(self, url: URL, name: str) -> None:
        self._url = url
        self.file = Path(url.database) if url.database else None
        self.name = name
        self._opened: tuple[int, int] | None = None

    @classmethod
    def at(cls, file: Path, name: str | None = None) -> Sqlite:
        """The file at a path, by another name where one is given."""
        return cls(URL.create("sqlite", database=str(file)), name or str(file))

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own, and those that SQLite has beside it meanwhile."""
        if self.file is None:
            return ()
        return tuple(self.file.with_name(f"{self.file.name}{end}") for end in ("", "-wal", "-shm", "-journal"))

    def missing(self) -> bool:
        """Whether there is no file."""
        return self.file is not None and not self.file.exists()

    def engine(self) -> Engine:
        """What makes connections."""
        engine = create_engine(self._url, connect_args={"timeout": _BUSY_SECONDS})
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "connect", self._note)
        return engine

    def prepare(self, connection: Connection) -> None:
        """Begin to write: others wait, or have written already.

        A table's constraints are changed by making it anew, during which others refer to none.
        """
        _write_ahead(connection)
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")  # nor can this
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def settle(self, connection: Connection) -> None:
        """What refers to nothing is refused again."""
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")

    def insert_missing(self, table: Table) -> Insert:
        """An insertion that leaves alone what is there already."""
        from sqlalchemy.dialects.sqlite import insert

        return insert(table).on_conflict_do_nothing()

    def insert_run(self, connection: Connection, insertion: Insertion, row: Mapping[str, object]) -> int | None:
        """Insert a run unless there is one of its task; RETURNING needs a newer SQLite than some systems have."""
        done = connection.exec_driver_sql(insertion.statement, insertion.values(row))
        return int(done.lastrowid) if done.rowcount else None

    def rescued(self, engine: Engine) -> HatiError | None:
        """Write what the open file holds into a new one beside it, where it was deleted or replaced."""
        if self.file is None or self._opened is None or _identity(self.file) == self._opened:
            return None
        with engine.connect() as connection:
            return self._copied(self.file, connection.connection.driver_connection)

    def _copied(self, file: Path, source: object) -> HatiError:
        assert isinstance(source, sqlite3.Connection)
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
        """Which file was opened first."""
        if self.file is not None and self._opened is None:
            self._opened = _identity(self.file)

    def told(self, error: DBAPIError) -> HatiError:
        """What the user can mend."""
        return self.refused(str(error.orig))

    def refused(self, reason: str) -> HatiError:
        """What the user can mend, by what SQLite says."""
        if "full" in reason or "disk I/O error" in reason:
            return MeasurementError(
                f"the store {self.name} cannot be written: {reason}",
                fix="free some space there and start again: what was recorded is kept",
            )
        if "malformed" in reason or "Could not decode" in reason:
            return damaged(self.name, "a row or a table", reason)
        if "locked" in reason:
            return MeasurementError(
                f"the store {self.name} stays locked by another program",
                fix="end that program, or give another --store",
            )
        if self.file is not None and not self.file.parent.is_dir():
            return InputError(
                f"the store {self.name} cannot be made: there is no folder {self.file.parent}",
                fix="make it, or name another place by --store",
            )
        if "readonly" in reason or "unable to open" in reason:
            return InputError(
                f"the store {self.name} cannot be written: {reason}",
                fix="give yourself the right to write there, or name another place by --store",
            )
        return InputError(
            f"the store {self.name} cannot be used: {reason}",
            fix="is it a store of Hati's? another can be named by --store",
        )


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _free(lost: Path) -> Path:
    """A file that is not there yet, beside one that is lost; not its own name, beside which SQLite's files may be left.

    Raises:
        OSError: where none can be made.
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
    """Set the journal's mode, which is kept in the file, and cannot be set in a transaction.

    Where others do so at the same time SQLite tells at once that the file is locked, whatever the timeout.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() >= until:
                raise
            time.sleep(_BETWEEN_TRIES)  # nothing tells when the other one is done
        else:
            return


def _set_pragmas(connection: object, _record: object) -> None:
    # With WAL, synchronous=NORMAL keeps commits through the death of any process, and costs no fsync between two runs.
    cursor = connection.cursor()  # type: ignore[attr-defined]  # a DBAPI connection
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
