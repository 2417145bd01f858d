"""Opening a store: its place, its settings, its migrations."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from hati.core import InputError
from hati.store.failures import explained
from hati.store.schema import HEAD
from hati.store.sql import SqlStore

_BUSY_SECONDS = 30


def open_store(place: str) -> SqlStore:
    """Open the store at a URL (``sqlite:///FILE``) or a file's path, and make or upgrade its tables.

    Raises:
        InputError: where it is no store, of a newer Hati, or cannot be opened.
    """
    url = _url(place)
    name = url.database or place
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    event.listen(engine, "connect", _set_pragmas)
    with explained(name):
        _upgrade(engine, name)
    return SqlStore(engine, name)


def read_store(place: str) -> SqlStore:
    """Open a store that must be there already.

    Raises:
        InputError: also where there is none.
    """
    url = _url(place)
    if url.database and not Path(url.database).exists():
        raise InputError(f"there is no store {url.database}", fix="measure something first, or name one by --store")
    return open_store(place)


def _url(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
        if url.get_backend_name() != "sqlite":
            raise InputError(f"stores of kind {url.get_backend_name()!r} are not supported", fix="use sqlite:///FILE")
    except (ArgumentError, NoSuchModuleError) as error:
        raise InputError(f"{place!r} is no store's URL", fix="write sqlite:///FILE or a file's path") from error
    return url


def _set_pragmas(connection: object, _record: object) -> None:
    # With WAL, synchronous=NORMAL keeps commits through the death of any process, and costs no fsync between two runs.
    cursor = connection.cursor()  # type: ignore[attr-defined]  # a DBAPI connection
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _upgrade(engine: Engine, name: str) -> None:
    with engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        if "alembic_version" in tables:
            version = connection.scalar(text("SELECT version_num FROM alembic_version"))
            if version == HEAD:
                return
            if version is not None and version > HEAD:
                raise InputError(f"the store {name} is of a newer Hati (revision {version})", fix="upgrade Hati")
        elif tables:
            raise InputError(f"{name} is a database, but no store of Hati's", fix="name another file by --store")
    migrate(engine)


def migrate(engine: Engine) -> None:
    """Bring a database's tables to the newest revision."""
    from alembic import command  # loaded only where there is something to migrate: it is slow to import
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")  # is kept in the file, and cannot be set in a transaction
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
