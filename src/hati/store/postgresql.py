"""PostgreSQL, and its errors as errors with a fix."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Insert, PoolProxiedConnection, Table, create_engine, event, text
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError

from hati.core import HatiError, InputError, MeasurementError, NotInstalledError
from hati.store.databases import Database, Insertion

_PATIENCE_SECONDS = 10
_RESTART_SECONDS = 30
_PAUSE_SECONDS = 0.2
_MIGRATING = 0x68617469
"""The advisory lock for changing tables: "hati" in ASCII."""
_LEDGER = 0x6C656467
"""The advisory lock for changing the ledger: "ledg" in ASCII."""
_NOW = text("SELECT extract(epoch FROM clock_timestamp())")
_TURN = text("""
    WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(:key))
    SELECT extract(epoch FROM clock_timestamp()) FROM turn
""")
_ELSEWHERE = "or name another store by --store"
_GOES_ON = "what was recorded is kept, and the same command goes on from there"
_OUT_OF_ROOM = {"53100", "53200", "53300", "53400"}
"""disk_full, out_of_memory, too_many_connections, configuration_limit_exceeded: appendix A of PostgreSQL's manual."""
_LOCKED = {"55P03", "40P01", "57014"}
"""lock_not_available, deadlock_detected, query_canceled."""
_FORBIDDEN = {"42501", "25006"}
"""insufficient_privilege, read_only_sql_transaction."""
_SIGN_IN = "give the right password in PGPASSWORD or ~/.pgpass"
_FIXES = {
    "password": _SIGN_IN,
    "authentication": _SIGN_IN,
    "pg_hba.conf": f"let this user and machine in there, {_ELSEWHERE}",
    "does not exist": f"make it, as by createuser or createdb, {_ELSEWHERE}",
    "connection option": "what stands behind ? in a URL are options of libpq",
}
"""Fixes by a word of the message if a connection is refused permanently, which has no SQLSTATE."""
_NOISE = re.compile(r"^connection (failed|is bad): (.* FATAL: )?| Is the server running .*$")


class Postgresql(Database):
    """A database of a PostgreSQL server, or a schema in it if the URL's options name one."""

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
        self.name = shown.render_as_string()

    def missing(self) -> bool:
        """False: errors of the server are reported when connecting."""
        return False

    def engine(self) -> Engine:
        """The SQLAlchemy engine; a connection that was lost between two runs is opened again."""
        try:
            import psycopg  # noqa: F401  # checks that it is installed
        except ImportError as error:
            raise NotInstalledError(
                "a store in PostgreSQL needs psycopg, which is not installed",
                fix="install it: pip install 'hati[postgres]'",
            ) from error
        defaults: dict[str, object] = {"connect_timeout": _PATIENCE_SECONDS, "fallback_application_name": "hati"}
        arguments = {name: value for name, value in defaults.items() if name not in self._url.query}
        engine = create_engine(self._url, connect_args=arguments, pool_pre_ping=True, paramstyle="format")
        event.listen(engine, "do_connect", _Reconnection())
        return engine

    def prepare(self, connection: Connection) -> None:
        """Wait for other processes that create or upgrade tables."""
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})

    def settle(self, _: Connection) -> None:
        """The lock ended with the transaction."""

    def insert_missing(self, table: Table) -> Insert:
        """An insertion that does not change existing rows."""
        from sqlalchemy.dialects.postgresql import insert

        statement = insert(table).on_conflict_do_nothing()
        return statement.returning(table.c.number) if "number" in table.c else statement

    def insert_run(
        self, connection: Connection | PoolProxiedConnection, insertion: Insertion, row: Mapping[str, object]
    ) -> int | None:
        """Insert a run unless its task has one."""
        assert isinstance(connection, Connection)
        number: int | None = connection.exec_driver_sql(insertion.statement, insertion.values(row)).scalar()
        return number

    def take_turn(self, connection: Connection) -> float:
        """Wait for other processes that change the ledger."""
        return float(connection.execute(_TURN, {"key": _LEDGER}).scalar_one())

    def now(self, connection: Connection) -> float:
        """The server's time."""
        return float(connection.execute(_NOW).scalar_one())

    def as_error(self, error: DBAPIError | sqlite3.Error) -> HatiError:
        """A database's error as an error with a fix."""
        assert isinstance(error, DBAPIError)
        state = getattr(error.orig, "sqlstate", None) or ""
        if not state and not error.connection_invalidated:
            return self._unopened(_NOISE.sub("", " ".join(str(error.orig).split())))
        said = getattr(getattr(error.orig, "diag", None), "message_primary", None) or str(error.orig)
        reason = " ".join(said.split())
        if state in _OUT_OF_ROOM:
            return MeasurementError(
                f"the store {self.name} cannot be written: {reason}", fix=f"make room there: {_GOES_ON}"
            )
        if state in _LOCKED:
            return MeasurementError(f"the store {self.name} is held by another program: {reason}", fix=_GOES_ON)
        if error.connection_invalidated or state.startswith(("57P", "08")):
            return MeasurementError(
                f"the connection to the store {self.name} was lost: {reason}", fix=f"see to the server: {_GOES_ON}"
            )
        if state in _FORBIDDEN:
            fix = f"have that right granted, {_ELSEWHERE}"
            return InputError(f"the store {self.name} cannot be used: {reason}", fix=fix)
        return InputError(f"the store {self.name} cannot be used: {reason}", fix="name another store by --store")

    def _unopened(self, reason: str) -> HatiError:
        message = f"the store {self.name} cannot be opened: {reason}"
        for word, fix in _FIXES.items():
            if word in reason:
                return InputError(message, fix=fix)
        fix = f"see that the server runs and lets you in, {_ELSEWHERE}"
        return MeasurementError(message, fix=fix)


class _Reconnection:
    """Connects; a server that was connected before gets time to restart."""

    def __init__(self) -> None:
        self._connected = False

    def __call__(self, dialect: Dialect, _: object, words: Sequence[Any], named: Mapping[str, Any]) -> DBAPIConnection:
        from psycopg import OperationalError

        deadline = time.monotonic() + (_RESTART_SECONDS if self._connected else 0)
        while True:
            try:
                made = dialect.connect(*words, **named)
            except OperationalError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                self._connected = True
                return made
