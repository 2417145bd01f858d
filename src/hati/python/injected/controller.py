"""What a measuring function is given: Listing 3 of seed 004."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from time import perf_counter_ns, process_time_ns
from types import TracebackType
from typing import Any, Optional

from .timing import Spent

Turns = Callable[[Optional[Spent]], int]
"""How often the loop is to turn next, from what it took just now (None before the first turn); 0 ends it."""


class Timer:
    """What ``with`` times the block of; here nothing."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, traceback: TracebackType | None) -> None: ...


class Once:
    """A controller under which a measuring function turns once and nothing is timed: for tests of what it does."""

    def __init__(self) -> None:
        self._left = True

    def needs_more(self) -> bool:
        """True, and False from the second time on."""
        left, self._left = self._left, False
        return left

    def measure(self) -> Timer:
        """Something to write ``with`` before."""
        return Timer()

    def start(self) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class Controller:
    """The loop turns as often as ``turns`` says; what is timed in it goes to ``keep`` as nanoseconds of both clocks.

    ``needs_more`` and ``measure`` are iterators' own methods, since their cost is part of every turn.
    """

    def __init__(self, turns: Turns, keep: Callable[[Spent], Any], with_cpu: bool) -> None:
        self.start, self.end = _clocked(keep) if with_cpu else _walled(keep)
        self.measure: Callable[[], Timer] = repeat(_timer(self.start, self.end)).__next__
        self.needs_more: Callable[[], bool] = chain.from_iterable(_rounds(turns)).__next__


def _rounds(turns: Turns) -> Iterator[Iterator[bool]]:
    number = turns(None)
    while number:
        cpu, wall = process_time_ns(), perf_counter_ns()
        yield repeat(True, number)
        spent = perf_counter_ns() - wall
        number = turns((spent, process_time_ns() - cpu))
    yield repeat(False)


def _walled(keep: Callable[[Spent], Any]) -> tuple[Callable[[], None], Callable[[], None]]:
    before = 0

    def start() -> None:
        nonlocal before
        before = perf_counter_ns()

    def end() -> None:
        keep((perf_counter_ns() - before, 0))

    return start, end


def _clocked(keep: Callable[[Spent], Any]) -> tuple[Callable[[], None], Callable[[], None]]:
    wall = cpu = 0

    def start() -> None:
        nonlocal wall, cpu
        cpu = process_time_ns()
        wall = perf_counter_ns()

    def end() -> None:
        spent = perf_counter_ns() - wall
        keep((spent, process_time_ns() - cpu))

    return start, end


def _timer(start: Callable[[], None], end: Callable[[], None]) -> Timer:
    class Timed(Timer):
        __enter__ = staticmethod(start)

        @staticmethod
        def __exit__(kind: object, error: object, traceback: TracebackType | None) -> None:
            end()

    return Timed()
