"""The choice of a batch for a machine whose owner allows some settings only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hati.core import Batch, Configuration, replace
from hati.gateway import Gateway, Setup
from hati.gateway.messages import ClientTemplate
from hati.steering import choose
from hati.store import Ledger, SqlStore, open_store
from hati.testing.conformance import a_run, a_study
from ledgers import ANY, a_batch, a_client, a_job

ONES = ClientTemplate(settings={"o": ["1"]})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(open_store(str(tmp_path / "store.sqlite"))) as found:
        yield found


def not_allowed(repetition: int) -> Batch:
    """A batch whose option has a setting that the owner does not allow."""
    job = a_job(repetition)
    return Batch((replace(job, task=replace(job.task, configuration=Configuration({"o": 2}))),))


def claimed(store: SqlStore) -> int | None:
    choice = Gateway(store, Setup())._choice(ONES, store.ledger)
    lease = store.ledger.claim("two", a_client("two"), choice)
    return None if lease is None else lease.number


def deliver(ledger: Ledger) -> None:
    lease = ledger.claim("one", a_client("one"), choose)
    assert lease is not None
    for job in lease.batch.members:
        ledger.accept(lease, replace(a_run(a_study()), task=job.task))


def test_the_first_batch_that_is_allowed_is_found_behind_many_others(store: SqlStore) -> None:
    for number in range(3):
        store.ledger.release(not_allowed(number), ANY)
    wanted = store.ledger.release(a_batch(7), ANY)
    assert list(store.ledger.waiting(1, 1, most=2)) == [2, 3]
    assert claimed(store) == wanted


def test_a_batch_that_others_have_done_meanwhile_is_passed_over(store: SqlStore) -> None:
    for repetition in (0, 1):
        store.ledger.release(a_batch(repetition), ANY)
    store.ledger.release(not_allowed(9), ANY)
    store.ledger.release(a_batch(0, 1), ANY)  # both results come from the first two
    for _ in range(2):
        deliver(store.ledger)
    assert claimed(store) is None
    wanted = store.ledger.release(a_batch(5), ANY)
    assert claimed(store) == wanted
