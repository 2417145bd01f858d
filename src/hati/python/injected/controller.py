"""The controller that a measuring function is given: Listing 3 of the SPL paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, repeat, starmap
from operator import sub
from time import perf_counter_ns, process_time_ns
from types import TracebackType
from typing import NamedTuple, Optional

from .timing import Spent

Leave = Callable[[object, object, Optional[TracebackType]], None]
Turns = Callable[[Optional[Spent]], int]
"""The number of iterations to run next, given what the last ones took (None before the first); 0 ends the loop."""


class Timer:
    """A context manager that times its block; this base class does nothing."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, traceback: TracebackType | None) -> None: ...


class Once:
    """A controller that lets a measuring function loop once, without timing, to test the function."""

    def __init__(self) -> None:
        self._left = True

    def needs_more(self) -> bool:
        """True on the first call, then False."""
        left, self._left = self._left, False
        return left

    def measure(self) -> Timer:
        """A context manager that does nothing."""
        return Timer()

    def start(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class Controller:
    """Runs a loop for as many iterations as ``turns`` says.

    Its methods that run in each iteration are methods of iterators where possible: a Python function takes longer.
    """

    __slots__ = ("_clock", "_processor", "end", "measure", "needs_more", "start")

    def __init__(self, turns: Turns, with_cpu: bool) -> None:
        self._clock, self._processor = Stamps([], []), Stamps([], [])
        tick, tock = _stamping(perf_counter_ns, self._clock.began), _stamping(perf_counter_ns, self._clock.ended)
        self.start: Callable[[], object] = tick
        self.end: Callable[[], object] = tock
        leave = _stamping_as_it_leaves(self._clock.ended)
        if with_cpu:
            cpu_tick = _stamping(process_time_ns, self._processor.began)
            cpu_tock = _stamping(process_time_ns, self._processor.ended)
            self.start, self.end = _after(cpu_tick, tick), _after(tock, cpu_tock)
            leave = _leaving(self.end)
        self.measure: Callable[[], Timer] = repeat(_timer(self.start, leave)).__next__
        self.needs_more: Callable[[], bool] = chain.from_iterable(_rounds(turns)).__next__

    @property
    def timed(self) -> int:
        """The number of timed intervals."""
        return len(self._clock.ended)

    @property
    def unpaired(self) -> bool:
        """Whether a start has no end, or an end no start."""
        return len(self._clock.began) != len(self._clock.ended)

    def spent(self) -> tuple[list[int], list[int]]:
        """The nanoseconds of each interval by both clocks; no processor times unless they are asked for."""
        return self._clock.apart(), self._processor.apart()

    def forget(self) -> None:
        """Drop all timed intervals."""
        for stamps in (*self._clock, *self._processor):
            stamps.clear()


class Stamps(NamedTuple):
    """The start and end times of intervals, in nanoseconds."""

    began: list[int]
    ended: list[int]

    def apart(self) -> list[int]:
        """The duration of each interval, in nanoseconds."""
        return list(map(sub, self.ended, self.began))


def _rounds(turns: Turns) -> Iterator[Iterator[bool]]:
    number = turns(None)
    while number:
        cpu, wall = process_time_ns(), perf_counter_ns()
        yield repeat(True, number)
        spent = perf_counter_ns() - wall
        number = turns((spent, process_time_ns() - cpu))
    yield repeat(False)


def _stamping(clock: Callable[[], int], stamps: list[int]) -> Callable[[], object]:
    """A callable that appends the time to a list, without a Python function: half the cost."""
    return partial(next, map(stamps.append, starmap(clock, repeat(()))))


def _after(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


def _leaving(end: Callable[[], object]) -> Leave:
    def leave(_kind: object, _error: object, _traceback: TracebackType | None) -> None:
        end()

    return leave


def _stamping_as_it_leaves(stamps: list[int]) -> Leave:
    """An ``__exit__`` that appends the time; it must be a Python function, and this one calls as little as possible."""

    def leave(
        _kind: object,
        _error: object,
        _traceback: TracebackType | None,
        keep: Callable[[int], None] = stamps.append,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        keep(clock())

    return leave


def _timer(start: Callable[[], object], leave: Leave) -> Timer:
    timed: Timer = type("Timed", (Timer,), {"__enter__": staticmethod(start), "__exit__": staticmethod(leave)})()
    return timed
