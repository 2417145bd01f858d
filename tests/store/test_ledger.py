"""The ledger in SQLite and in PostgreSQL: one suite, and one model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from hati.store import Ledger, SqlStore, open_store
from hati.testing.ledgers import LedgerConformance, LedgerMachine
from postgres import PostgresServer

TABLES = ("result", "lease", "attempt", "batch", "worker", "ledger")


class TestLedgerInSqlite(LedgerConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.file = tmp_path / "store.sqlite"

    def open(self) -> SqlStore:
        return open_store(str(self.file))


@pytest.mark.xdist_group("postgres")
class TestLedgerInPostgres(LedgerConformance):
    @pytest.fixture(autouse=True)
    def place(self, postgres: PostgresServer) -> Iterator[None]:
        self.url, self.opened = postgres.database(), list[SqlStore]()
        yield
        for store in self.opened:
            store.close()

    def open(self) -> SqlStore:
        self.opened.append(open_store(self.url))
        return self.opened[-1]


def drive(ledger_of: Callable[[Callable[[], float]], Ledger], examples: int) -> None:
    """Run the model beside a ledger."""

    class Driven(LedgerMachine):
        pass

    Driven.ledger_of = staticmethod(ledger_of)
    run_state_machine_as_test(Driven, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None))


def test_the_ledger_in_sqlite_agrees_with_a_model(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with closing(open_store(str(file))) as store:

        def empty(clock: Callable[[], float]) -> Ledger:
            with closing(sqlite3.connect(file)) as connection:
                for table in TABLES:
                    connection.execute(f"DELETE FROM {table}")
                connection.commit()
            return store.ledger.at(clock)

        drive(empty, 10)


@pytest.mark.xdist_group("postgres")
def test_the_ledger_in_postgres_agrees_with_a_model(postgres: PostgresServer) -> None:
    url = postgres.database()
    with closing(open_store(url)) as store:

        def empty(clock: Callable[[], float]) -> Ledger:
            postgres.execute(f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY", url)
            return store.ledger.at(clock)

        drive(empty, 3)
