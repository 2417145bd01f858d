"""The ledger in SQLite and in PostgreSQL: one suite, and one model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from earlier import bring_back
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from ledger_model import LedgerMachine

from hati.steering import agreement
from hati.store import BatchState, Ledger, SqlStore, open_store
from hati.store import ledger_batches as batches_module
from ledgers import ANY, LedgerConformance, a_batch
from postgres import PostgresServer

TABLES = ("report", "result", "lease", "attempt", "batch", "worker", "ledger")


class TestLedgerInSqlite(LedgerConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.file = tmp_path / "store.sqlite"

    def open(self) -> SqlStore:
        return open_store(str(self.file))

    def queues(self) -> list[tuple[int, str]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute("SELECT number, queue FROM batch ORDER BY number").fetchall()

    def test_what_an_earlier_version_released_stays_in_its_order(self) -> None:
        with closing(self.open()) as store:
            numbers = [store.ledger.release(a_batch(*each), ANY) for each in ((0, 1), (2,), (3,))]
            lease = self.claimed(store.ledger)
        before = self.queues()
        bring_back(self.file, "0008")
        with closing(self.open()) as store:
            assert self.queues() == before
            assert store.ledger.standing(lease) is BatchState.LEASED
            assert [self.claimed(store.ledger, name).number for name in ("two", "three")] == numbers[1:]


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
    found = settings(max_examples=examples, stateful_step_count=30, deadline=None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batches_module, "VOLUNTEERS_ATTEMPTS", 2)  # so that volunteers' batches are quarantined too
        patched.setattr(agreement, "TRUSTED_AFTER", 2)  # and results of machines that agreed are sampled
        run_state_machine_as_test(Driven, settings=found)


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
