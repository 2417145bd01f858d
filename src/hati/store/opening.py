"""Open a store at a file's path or a URL, and create or migrate its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from hati.core import InputError
from hati.store.databases import Database, Sqlite, explained
from hati.store.postgresql import Postgresql
from hati.store.schema import HEAD, complete_metadata
from hati.store.sql import SqlStore

_REVISION = re.compile(r"[0-9]{4}")
_URLS = "write a file's path, sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def open_store(place: str) -> SqlStore:
    """Open the store at a file's path or a URL, and create or upgrade its tables.

    Raises:
        InputError: where it is not a store, is of a newer Hati, or cannot be opened.
        MeasurementError: where it cannot be opened at present.
        NotInstalledError: for PostgreSQL, without psycopg.
    """
    where = database(place)
    with kept_if_usable(where) as engine:
        if revision_of(engine, where) != HEAD:
            migrate(engine, where)
    return SqlStore(engine, where)


def read_store(place: str) -> SqlStore:
    """Open a store that must exist.

    Raises:
        InputError: as ``open_store``, and where it does not exist.
    """
    found = find_store(place)
    if found is None:
        where = database(place)
        empty = isinstance(where, Sqlite) and not where.missing()
        problem = f"the file {where.name} is empty" if empty else f"there is no store {where.name}"
        raise InputError(problem, fix="measure something first, or name one by --store")
    return found


def find_store(place: str) -> SqlStore | None:
    """Open a store and upgrade its tables; None if it does not exist.

    Raises:
        InputError: as ``open_store``.
    """
    where = database(place)
    if where.missing():
        return None
    with kept_if_usable(where) as engine:
        found = revision_of(engine, where)
        if found is not None and found != HEAD:
            migrate(engine, where)
    if found is not None:
        return SqlStore(engine, where)
    engine.dispose()
    return None


def without_password(place: str) -> str:
    """The place of the same store, where its password, if any, comes from PGPASSWORD or ~/.pgpass."""
    if "://" not in place:
        return place
    url = make_url(place).difference_update_query(("password", "sslpassword"))
    shown = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return shown.render_as_string()


def database(place: str) -> Database:
    """The database at a place.

    Raises:
        InputError: where the place is not valid; the message does not repeat it, since it may have a password.
    """
    if "://" not in place:
        return Sqlite.at(Path(place))
    scheme, _, rest = place.partition("://")
    kind = {"postgres": "postgresql"}.get(scheme.partition("+")[0], scheme.partition("+")[0])
    try:
        url = make_url(f"{kind}://{rest}")
    except (ArgumentError, ValueError):
        raise InputError(f"what begins with {scheme}:// is not the URL of a store", fix=_URLS) from None
    if kind == "sqlite":
        return Sqlite(url, url.database or place)
    if kind != "postgresql":
        raise InputError(f"stores of kind {kind!r} are not supported", fix=_URLS)
    if "@" in f"{url.host}{url.database}":
        raise InputError(
            "the store's URL holds more than one @", fix="give a password in PGPASSWORD or ~/.pgpass, or write @ as %40"
        )
    return Postgresql(url)


@contextmanager
def kept_if_usable(where: Database) -> Iterator[Engine]:
    """The SQLAlchemy engine of a database, disposed of if anything fails."""
    engine = where.engine()
    try:
        with explained(where):
            yield engine
    except BaseException:
        engine.dispose()
        raise


def revision_of(engine: Engine, where: Database) -> str | None:
    """The migration of a database's tables, as ``revision``."""
    with engine.connect() as connection:
        return revision(connection, where.name)


def revision(connection: Connection, name: str) -> str | None:
    """The migration of a database's tables; None without tables.

    Raises:
        InputError: where the tables belong to another program, or to a newer Hati.
    """
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    known: str | None = None
    if "alembic_version" in tables:
        known = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if "study" not in tables or known is None or not _REVISION.fullmatch(known):
        raise InputError(f"{name} is a database, but no store of Hati's", fix="name another place by --store")
    if known > HEAD:
        raise InputError(f"the store {name} is of a newer Hati (revision {known})", fix="upgrade Hati")
    return known


def migrate(engine: Engine, where: Database) -> None:
    """Create a database's tables, or upgrade them to the newest revision, in one transaction."""
    with engine.connect() as connection:
        where.prepare(connection)
        known = revision(connection, where.name)
        if known is None:
            _make(connection)
        elif known != HEAD:  # another process may have upgraded them meanwhile
            upgrade(connection)
        connection.commit()
        where.settle(connection)


def _make(connection: Connection) -> None:
    """Create the current tables directly, which is faster than all migrations, and has the same result."""
    complete_metadata().create_all(connection)
    key = "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)"
    connection.execute(text(f"CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, {key})"))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def upgrade(connection: Connection) -> None:
    """Run the migrations that the tables lack."""
    from alembic import command  # imported only for a migration: it is slow to import
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
