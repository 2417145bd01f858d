"""Requests of several threads that share a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hati.core import InputError, MeasurementError
from hati.gateway.group_commit import MOST_TOGETHER, GroupCommit
from hati.store import Ledger, SqlStore, Volunteers, open_store
from ledgers import ANY, a_batch

WAIT_SECONDS = 30.0
Change = Callable[[Ledger, Volunteers], Any]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(open_store(str(tmp_path / "store.sqlite"))) as found:
        yield found


class Commits:
    """A store that counts its transactions, and whose next ones may fail at their commit."""

    def __init__(self, store: SqlStore) -> None:
        self._store, self.number, self.failing = store, 0, 0

    def at_once(self, do: Callable[[Ledger, Volunteers], None]) -> None:
        def committed(ledger: Ledger, volunteers: Volunteers) -> None:
            do(ledger, volunteers)
            if self.failing:
                self.failing -= 1
                raise MeasurementError("no space")

        self._store.at_once(committed)
        self.number += 1


def released(number: int) -> Change:
    return lambda ledger, _: ledger.release(a_batch(number), ANY)


def refused(number: int) -> Change:
    def change(ledger: Ledger, _: Volunteers) -> None:
        ledger.release(a_batch(number), ANY)
        raise InputError(f"not {number}")

    return change


def unmeasured(number: int) -> Change:
    def change(ledger: Ledger, _: Volunteers) -> None:
        ledger.release(a_batch(number), ANY)
        raise MeasurementError(f"not {number}")

    return change


def together(group: GroupCommit, changes: Sequence[Change]) -> list[Future[Any]]:
    """The outcomes of changes that threads ask for while another one has its turn."""
    held, goes = Event(), Event()

    def hold(_: Ledger, __: Volunteers) -> None:
        held.set()
        assert goes.wait(WAIT_SECONDS)

    with ThreadPoolExecutor(len(changes) + 1) as pool:
        first = pool.submit(group.do, hold)
        assert held.wait(WAIT_SECONDS)
        found = [pool.submit(group.do, change) for change in changes]
        until = time.monotonic() + WAIT_SECONDS
        while len(group._waiting) < len(changes):
            assert time.monotonic() < until
            time.sleep(0.001)
        goes.set()
        first.result(WAIT_SECONDS)
        wait(found, WAIT_SECONDS)
    return found


def batches(store: SqlStore) -> list[int]:
    """The repetitions of the released batches."""
    known = {a_batch(number).members[0].task.id: number for number in range(100)}
    return sorted(known[entry.content["tasks"][0]] for entry in store.ledger.history())


def test_what_waits_is_committed_together(store: SqlStore) -> None:
    commits = Commits(store)
    found = together(GroupCommit(commits.at_once), [released(number) for number in range(8)])
    assert sorted(each.result() for each in found) == list(range(1, 9))
    assert commits.number == 2
    assert batches(store) == list(range(8))


def test_a_transaction_has_a_limit(store: SqlStore) -> None:
    commits = Commits(store)
    together(GroupCommit(commits.at_once), [released(number) for number in range(MOST_TOGETHER + 1)])
    assert commits.number == 3


@pytest.mark.parametrize("failing", [refused, unmeasured])
def test_one_that_fails_is_undone_alone(store: SqlStore, failing: Callable[[int], Change]) -> None:
    changes = [failing(0), released(1), failing(2), released(3), failing(4)]
    found = together(GroupCommit(store.at_once), changes)
    assert [str(each.exception()) for each in found if each.exception()] == ["not 0", "not 2", "not 4"]
    assert batches(store) == [1, 3]


def test_all_fail_where_the_transaction_cannot_begin(store: SqlStore) -> None:
    refusals = [False]

    def transaction(do: Change) -> None:
        if refusals.pop(0):
            raise MeasurementError("locked")
        refusals.append(True)
        store.at_once(do)

    group = GroupCommit(transaction)
    found = together(group, [released(0), released(1), released(2)])
    assert [str(each.exception()) for each in found] == ["locked"] * 3
    assert batches(store) == []
    refusals.append(False)
    assert group.do(released(0)) == 1


def test_an_answered_thread_returns_while_the_next_transaction_runs() -> None:
    threads, requests = 8, 4
    done, returned = list[None](), list[None]()

    def transaction(do: Callable[[Any, Any], None]) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while len(returned) < threads + len(done):
            assert time.monotonic() < until, "a thread that is answered waits for this transaction"
            time.sleep(0.001)
        do(None, None)

    def ask(_: int) -> None:
        for _ in range(requests):
            returned.append(None)
            group.do(lambda _, __: done.append(None))
        returned.append(None)

    group = GroupCommit(transaction)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, range(threads)))
    assert len(done) == threads * requests


def test_what_interrupts_a_thread_leaves_the_turn_to_others(store: SqlStore) -> None:
    def interrupted(_: Ledger, __: Volunteers) -> None:
        raise KeyboardInterrupt

    group = GroupCommit(store.at_once)
    with pytest.raises(KeyboardInterrupt):
        group.do(interrupted)
    assert group.do(released(0)) == 1


def test_nothing_is_answered_where_the_store_cannot_be_written(store: SqlStore) -> None:
    commits = Commits(store)
    group = GroupCommit(commits.at_once)

    def last(_: Ledger, __: Volunteers) -> None:
        commits.failing = 1

    found = together(group, [released(0), released(1), last])
    assert [str(each.exception()) for each in found] == ["no space"] * 3
    assert batches(store) == []
    assert group.do(released(0)) == 1
