"""Requests of several threads in common transactions: taking a turn and committing cost as much as a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

from hati.core import MeasurementError
from hati.store import Ledger, Volunteers

MOST_TOGETHER = 32
"""The number of requests in a transaction, during which other processes wait."""

R = TypeVar("R")
Change = Callable[[Ledger, Volunteers], R]
Transaction = Callable[[Change[None]], None]
"""Calls a function in a transaction, and commits it."""


class GroupCommit:
    """Does what threads ask for while another one commits, all in the next transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction, self._turn = transaction, Lock()
        self._waiting = deque[tuple[Change[Any], Future[Any]]]()

    def do(self, change: Change[R]) -> R:
        """What a function returns; what it changed is committed then.

        It may be called again where a transaction failed. What it raises is raised here, and undone.
        """
        own = Future[R]()
        self._waiting.append((change, own))
        with self._turn:
            while not own.done():
                number = min(len(self._waiting), MOST_TOGETHER)
                self._commit([self._waiting.popleft() for _ in range(number)])
        return own.result()

    def _commit(self, group: Sequence[tuple[Change[Any], Future[Any]]]) -> None:
        """Do all of a group in a transaction, without those that fail."""
        done = list[Any]()

        def all_of(ledger: Ledger, volunteers: Volunteers) -> None:
            done.clear()
            for change, _ in group:
                done.append(change(ledger, volunteers))

        try:
            self._transaction(all_of)
        except Exception as error:  # noqa: BLE001 - it is raised by the thread that asked for what failed
            together = isinstance(error, MeasurementError) or len(done) == len(group)
            failed = group if together else [group[len(done)]]
            for _, outcome in failed:
                outcome.set_exception(error)
            if rest := [each for each in group if each not in failed]:
                self._commit(rest)
        else:
            for (_, outcome), found in zip(group, done, strict=True):
                outcome.set_result(found)
