"""Reading another store without a change to it: a file by way of a copy."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Engine

from hati.core import InputError
from hati.store.database import Database
from hati.store.opening import database, kept_if_usable, migrate, revision_of
from hati.store.schema import HEAD
from hati.store.sql import SqlStore
from hati.store.sqlite import Sqlite

_BUSY_SECONDS = 10
_READ = "SELECT count(*) FROM sqlite_master"


@contextmanager
def source_store(place: str) -> Iterator[SqlStore]:
    """The store at a place, to be read: a file is copied, and the copy brought to the newest migration.

    Raises:
        InputError: where there is none, it is no store, of a newer Hati, or a server's of an older one.
        MeasurementError: where it stays locked, or the server is away.
    """
    where = database(place)
    if where.missing():
        raise InputError(f"there is no store {where.name}", fix="name a store's file, or its URL")
    if not isinstance(where, Sqlite) or where.file is None:
        with closing(_read(where)) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="hati-") as folder:
        copy = Sqlite.at(Path(folder) / "store.sqlite", where.name)
        _copy(where, where.file, Path(folder) / "store.sqlite")
        with closing(_upgraded(copy)) as store:
            yield store


def _read(where: Database) -> SqlStore:
    with kept_if_usable(where) as engine:
        if _revision(engine, where) != HEAD:
            raise InputError(f"the store {where.name} is of an older Hati", fix="upgrade it by `hati runs --store URL`")
    return SqlStore(engine, where)


def _upgraded(copy: Sqlite) -> SqlStore:
    with kept_if_usable(copy) as engine:
        if _revision(engine, copy) != HEAD:
            migrate(engine, copy)
    return SqlStore(engine, copy)


def _revision(engine: Engine, where: Database) -> str:
    found = revision_of(engine, where)
    if found is None:
        raise InputError(f"the store {where.name} is empty", fix="name a store that something was measured into")
    return found


def _copy(where: Sqlite, file: Path, copy: Path) -> None:
    """Copy what is committed, also while another process writes."""
    try:
        with closing(_opened(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.execute("BEGIN")
            source.execute(_READ)  # from here on nobody can lock it, for whose end a backup would wait for ever
            source.backup(target)
    except sqlite3.Error as error:
        raise where.refused(str(error)) from error


def _opened(file: Path) -> sqlite3.Connection:
    """Not read-only, which would leave SQLite's own files beside it."""
    place = file.resolve().as_uri()
    try:
        connection = sqlite3.connect(f"{place}?mode=rw", uri=True, timeout=_BUSY_SECONDS)
        connection.execute(_READ)
    except sqlite3.OperationalError as error:
        alone = not file.with_name(f"{file.name}-wal").exists()
        if "unable to open" not in str(error) or not alone:
            raise
        return sqlite3.connect(f"{place}?immutable=1", uri=True)  # in a folder that may not be written to
    return connection
