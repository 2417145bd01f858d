"""What a measuring function is given: Listing 3 of seed 004."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, repeat, starmap
from operator import sub
from time import perf_counter_ns, process_time_ns
from types import TracebackType
from typing import Optional

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
    """The loop turns as often as ``turns`` says; ``stamps`` are nanoseconds of when what is timed began and ended.

    What a turn needs is an iterator's own method wherever that will do: a function in Python takes longer.
    """

    def __init__(self, turns: Turns, with_cpu: bool) -> None:
        self.stamps: list[int] = []
        self.cpu_stamps: list[int] = []
        tick, tock = _stamping(perf_counter_ns, self.stamps), _stamping(process_time_ns, self.cpu_stamps)
        self.start, self.end = _both(tick, tock) if with_cpu else (tick, tick)
        self.measure: Callable[[], Timer] = repeat(_timer(self.start, self.end)).__next__
        self.needs_more: Callable[[], bool] = chain.from_iterable(_rounds(turns)).__next__

    @property
    def timed(self) -> int:
        """How often something was timed."""
        return len(self.stamps) // 2

    def spent(self) -> tuple[list[int], list[int]]:
        """Nanoseconds that each of them took, of both clocks; of processor time none where it is not asked for."""
        return _apart(self.stamps), _apart(self.cpu_stamps)

    def forget(self) -> None:
        """Drop all that was timed."""
        self.stamps.clear()
        self.cpu_stamps.clear()


def _rounds(turns: Turns) -> Iterator[Iterator[bool]]:
    number = turns(None)
    while number:
        cpu, wall = process_time_ns(), perf_counter_ns()
        yield repeat(True, number)
        spent = perf_counter_ns() - wall
        number = turns((spent, process_time_ns() - cpu))
    yield repeat(False)


def _apart(stamps: list[int]) -> list[int]:
    return list(map(sub, stamps[1::2], stamps[::2]))


def _stamping(clock: Callable[[], int], stamps: list[int]) -> Callable[[], object]:
    """Appends the time to a list, without a function in Python: half the cost."""
    return partial(next, map(stamps.append, starmap(clock, repeat(()))))


def _both(wall: Callable[[], object], cpu: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    def start() -> None:
        cpu()
        wall()

    def end() -> None:
        wall()
        cpu()

    return start, end


def _timer(start: Callable[[], object], end: Callable[[], object]) -> Timer:
    def leave(_kind: object, _error: object, _traceback: TracebackType | None, end: Callable[[], object] = end) -> None:
        end()

    timed: Timer = type("Timed", (Timer,), {"__enter__": staticmethod(start), "__exit__": staticmethod(leave)})()
    return timed
