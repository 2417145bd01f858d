"""The store in PostgreSQL: conformance, migrations, what can be wrong with a server, and one that goes away."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from store_conformance import StoreConformance

from hati.core import HatiError, InputError, MeasurementError, NotInstalledError
from hati.store import SqlStore, open_store, postgresql, read_store
from hati.store.opening import database, upgrade
from hati.store.schema import complete_metadata
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
from postgres import PostgresServer

pytestmark = pytest.mark.xdist_group("postgres")

SECRET = "s3cret"


@pytest.fixture(scope="module")
def fresh(postgres: PostgresServer) -> str:
    """A store that holds nothing yet and is only copied: to copy it takes less than to make it."""
    url = postgres.database()
    open_store(url).close()
    return url


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, postgres: PostgresServer, fresh: str) -> Iterator[None]:
        self.url, self.opened = postgres.database(fresh), list[SqlStore]()
        yield
        for store in self.opened:
            store.close()

    def open(self) -> SqlStore:
        self.opened.append(open_store(self.url))
        return self.opened[-1]


def test_migrations_make_the_schema(postgres: PostgresServer) -> None:
    where = database(postgres.database())
    engine = where.engine()
    with engine.connect() as connection:
        upgrade(connection)
        connection.commit()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), complete_metadata()) == []
    engine.dispose()


def test_reading_needs_a_store(postgres: PostgresServer) -> None:
    with pytest.raises(InputError, match="there is no store postgresql://hati@/hati_"):
        read_store(postgres.database())


def test_a_schema_of_ones_own_beside_other_tables(postgres: PostgresServer) -> None:
    url = postgres.database()
    postgres.execute("CREATE SCHEMA own; CREATE TABLE theirs (number INTEGER)", url)
    with pytest.raises(InputError, match="no store of Hati's"):
        open_store(url)
    open_store(f"{url}&options=-csearch_path=own").close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('0000abc')", "no store"),
        ("UPDATE alembic_version SET version_num = '9999'", "newer Hati"),
    ],
)
def test_databases_that_are_not_for_this_hati(postgres: PostgresServer, statement: str, words: str) -> None:
    url = postgres.database()
    if "UPDATE" in statement:
        open_store(url).close()
    postgres.execute(statement, url)
    with pytest.raises(InputError, match=words):
        open_store(url)


REFUSED: dict[str, tuple[Callable[[str], str], type[HatiError], str]] = {
    "database": (lambda url: url.replace("/hati_", "/none_"), InputError, "does not exist; make it"),
    "user": (lambda url: url.replace("hati@", f"nobody:{SECRET}@"), InputError, "does not exist; make it"),
    "password": (lambda url: url.replace("hati@", f"strict:{SECRET}@"), InputError, "password .*; give the right"),
    "no password": (lambda url: url.replace("hati@", "strict@"), InputError, "password .*; give the right"),
    "rights": (lambda url: url.replace("hati@", "reader@"), InputError, "permission denied .*; have that right"),
    "not let in": (lambda url: url.replace("hati@", "stranger@"), InputError, "let this user and machine in"),
    "option": (lambda url: f"{url}&nonsense={SECRET}", InputError, "options of libpq"),
    "socket": (lambda _: f"postgresql://me:{SECRET}@/hati?host=/none", MeasurementError, "see that the server runs"),
    "port": (lambda _: f"postgres://me:{SECRET}@127.0.0.1:1/hati", MeasurementError, "see that the server runs"),
    "host": (lambda _: f"postgresql+asyncpg://a:{SECRET}@h.invalid/b", MeasurementError, "see that the server runs"),
    "in query": (lambda _: f"postgresql:///hati?host=/none&password={SECRET}", MeasurementError, "see that the server"),
    "@": (lambda _: f"postgresql://me:@{SECRET}@127.0.0.1:1/hati", InputError, "write @ as %40"),
    "/": (lambda _: f"postgresql://me:1/{SECRET}@127.0.0.1:1/hati", MeasurementError, "see that the server runs"),
    "no port": (lambda _: f"postgresql://me:{SECRET}@host:p/hati", InputError, "is not the URL of a store"),
}


@pytest.fixture(scope="module")
def strict(postgres: PostgresServer) -> Iterator[str]:
    """A store to which some are not let in."""
    url = postgres.database()
    open_store(url).close()
    rules = postgres.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("local all hati,nobody,reader trust\nlocal all strict scram-sha-256\n")
    for role in ("strict", "reader", "stranger"):
        postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'another'")
    postgres.reload()
    yield url
    rules.write_text(before)
    postgres.reload()


@pytest.mark.parametrize("what", REFUSED)
def test_a_store_that_cannot_be_opened_is_told_in_a_line_without_a_password(strict: str, what: str) -> None:
    place, kind, words = REFUSED[what]
    with pytest.raises(kind, match=words) as caught:
        open_store(place(strict))
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_psycopg_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'hati\[postgres\]'"):
        open_store("postgresql:///hati")


@pytest.fixture
def mortal(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The server, which a test may end."""
    yield postgres
    if not postgres.running:
        postgres.start()


def test_a_connection_that_was_ended_is_made_anew(postgres: PostgresServer) -> None:
    store, study = open_store(postgres.database()), a_study()
    store.begin(study, METRICS, MACHINE)
    postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'hati%'")
    assert store.record(a_run(study))
    store.close()


def test_a_server_that_starts_again_is_awaited(mortal: PostgresServer) -> None:
    store, study = open_store(mortal.database()), a_study()
    store.begin(study, METRICS, MACHINE)
    store.record(a_run(study, 0))
    mortal.stop()
    with ThreadPoolExecutor(1) as pool:
        recorded = pool.submit(store.record, a_run(study, 1))
        time.sleep(0.3)
        mortal.start()
        assert recorded.result()
    assert store.evidence(study).runs == (a_run(study, 0), a_run(study, 1))
    store.close()


def test_a_server_that_stays_away_is_told_and_nothing_is_lost(
    mortal: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_RESTART_SECONDS", 0.1)
    url, study = mortal.database(), a_study()
    store = open_store(url)
    store.begin(study, METRICS, MACHINE)
    store.record(a_run(study, 0))
    mortal.stop()
    with pytest.raises(MeasurementError, match="see that the server runs"):
        store.record(a_run(study, 1))
    store.close()
    mortal.start()
    store = open_store(url)
    assert store.evidence(study).runs == (a_run(study, 0),)
    assert store.record(a_run(study, 1))
    store.close()


def test_a_connection_that_is_ended_while_it_is_used_is_told(postgres: PostgresServer) -> None:
    url, study = postgres.database(), a_study()
    store = open_store(url)
    store.begin(study, METRICS, MACHINE)
    postgres.execute(
        "CREATE FUNCTION leave() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$; "
        "CREATE TRIGGER leave BEFORE INSERT ON observations FOR EACH ROW EXECUTE FUNCTION leave()",
        url,
    )
    with pytest.raises(MeasurementError, match=r"was lost: .*; see to the server: what was recorded is kept"):
        store.record(a_run(study))
    assert store.evidence(study).runs == ()
    postgres.execute("DROP TRIGGER leave ON observations", url)
    assert store.record(a_run(study))
    store.close()
