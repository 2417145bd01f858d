"""Requests of several threads in common transactions: taking a turn and committing cost as much as a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition
from typing import Any, TypeVar

from hati.store import Ledger, Volunteers

MOST_TOGETHER = 32
"""The number of requests in a transaction, during which other processes wait."""

R = TypeVar("R")
Change = Callable[[Ledger, Volunteers], R]
Request = tuple[Change[Any], Future[Any]]
"""What a thread asks for, and its outcome."""
Transaction = Callable[[Change[None]], None]
"""Calls a function in a transaction, and commits it."""


class GroupCommit:
    """Does what threads ask for while another one commits, all in the next transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction, self._committed, self._busy = transaction, Condition(), False
        self._waiting = deque[Request]()

    def do(self, change: Change[R]) -> R:
        """What a function returns; what it changed is committed then.

        It may be called again where a transaction failed. What it raises is raised here, and undone.
        """
        own = Future[R]()
        self._waiting.append((change, own))
        while self._has_turn(own):
            try:
                number = min(len(self._waiting), MOST_TOGETHER)
                self._commit([self._waiting.popleft() for _ in range(number)])
            finally:
                with self._committed:
                    self._busy = False
                    self._committed.notify_all()
        return own.result()

    def _has_turn(self, own: Future[Any]) -> bool:
        """Wait for the outcome (False), or until no other thread commits (True: this one does)."""
        with self._committed:
            self._committed.wait_for(lambda: own.done() or not self._busy)
            if own.done():
                return False
            self._busy = True
            return True

    def _commit(self, group: Sequence[Request]) -> None:
        """Do all of a group in a transaction, without those that fail; all fail where it cannot begin or commit."""
        done, current = list[Any](), list[Request]()

        def all_of(ledger: Ledger, volunteers: Volunteers) -> None:
            done.clear()
            for each in group:
                current[:] = [each]
                done.append(each[0](ledger, volunteers))
            current.clear()

        try:
            self._transaction(all_of)
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that asked for what failed
            failed = current or group
            for _, outcome in failed:
                outcome.set_exception(error)
            if rest := [each for each in group if each not in failed]:
                self._commit(rest)
        else:
            for (_, outcome), found in zip(group, done, strict=True):
                outcome.set_result(found)
