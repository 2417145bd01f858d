"""What a measuring function is given: Listing 3 of the SPL paper."""

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
    """The loop turns as often as ``turns`` says.

    What a turn needs is an iterator's own method wherever that will do: a function in Python takes longer.
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
        """How often something was timed."""
        return len(self._clock.ended)

    @property
    def unpaired(self) -> bool:
        """Whether something began to be timed that did not end, or ended without having begun."""
        return len(self._clock.began) != len(self._clock.ended)

    def spent(self) -> tuple[list[int], list[int]]:
        """Nanoseconds that each of them took, of both clocks; of processor time none where it is not asked for."""
        return self._clock.apart(), self._processor.apart()

    def forget(self) -> None:
        """Drop all that was timed."""
        for stamps in (*self._clock, *self._processor):
            stamps.clear()


class Stamps(NamedTuple):
    """Nanoseconds of when what is timed began, and of when it ended."""

    began: list[int]
    ended: list[int]

    def apart(self) -> list[int]:
        """How long each took."""
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
    """Appends the time to a list, without a function in Python: half the cost."""
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
    """A function in Python has to be here; the quickest is one that calls nothing but the clock and the list."""

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
