"""Times batches of calls: the loops, the cost and resolution of the clocks, and the size of a batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns, process_time_ns
from typing import Any, NamedTuple

from .trouble import Trouble

Spent = tuple[int, int]
"""Nanoseconds of real time and of processor time (0 unless it is asked for)."""
Timed = Callable[[Callable[..., Any], Iterable[Any]], Spent]

_CALLS = {"none": ("_", "call()"), "one": ("a", "call(a)"), "many": ("a", "call(*a)"), "each": ("f, a", "f(*a)")}
_LOOP = """
def timed(call, batch):
    {cpu_before}
    before = wall()
    for {item} in batch:
        {statement}
    after = wall()
    return after - before, {cpu_spent}
"""
LARGEST = 2**26
"""The most calls in a batch."""
_CONFIRMED = 3
_BEYOND_DOUBT = 10_000
_EMPTY = 301
_STEPS = 3
_READINGS = 2**21


class ClockCost(NamedTuple):
    """The cost of each clock in an observation, in nanoseconds: that of a reading, or the resolution if that is more.

    ``cpu`` is 0 unless processor time is asked for.
    """

    wall: int
    cpu: int


def loop(shape: str, with_cpu: bool, drained: bool, clock: Callable[[], int] | None = None) -> Timed:
    """A function that times a batch of calls: nanoseconds of real time and of processor time (0 unless asked for).

    ``clock`` is read in place of real time, if it is given. ``shape`` says what a batch has for each call: ``none`` (no
    argument), ``one`` argument, ``many`` in a tuple, or ``each``, a method and a tuple. Lazy results are ``drained`` in
    the timed loop. Each result is dropped at once, so that the cost of its destruction counts.
    """
    item, statement = _CALLS[shape]
    source = _LOOP.format(
        item=item,
        statement=f"drain({statement})" if drained else statement,
        cpu_before="cpu_before = cpu()" if with_cpu else "",
        cpu_spent="cpu() - cpu_before" if with_cpu else "0",
    )
    names: dict[str, Any] = {"wall": clock or perf_counter_ns, "cpu": process_time_ns, "drain": deque(maxlen=0).extend}
    exec(source, names)  # noqa: S102 - no text of users is in the source
    timed: Timed = names["timed"]
    return timed


def timer_cost(timed: Timed, with_cpu: bool) -> ClockCost:
    """The cost of the clocks in batches that ``timed`` times.

    Raises:
        Trouble: if a clock stands still.
    """
    wall, cpu = zip(*(timed(_nothing, ()) for _ in range(_EMPTY)))
    return cost_of(wall, cpu if with_cpu else ())


def cost_of(wall: Sequence[int], cpu: Sequence[int]) -> ClockCost:
    """The median duration of empty observations, or the resolution of the clock if that is more.

    ``cpu`` is empty unless processor time is asked for.

    Raises:
        Trouble: if a clock stands still.
    """
    return ClockCost(
        max(_median(wall), resolution(perf_counter_ns)),
        max(_median(cpu), resolution(process_time_ns)) if cpu else 0,
    )


def resolution(clock: Callable[[], int]) -> int:
    """The nanoseconds from one value of a clock to the next; 0 if a reading takes longer.

    Raises:
        Trouble: if the clock stands still.
    """
    steps, repeated, before = [], False, clock()
    for _ in range(_READINGS):
        now = clock()
        if now == before:
            repeated = True
            continue
        steps.append(now - before)
        if len(steps) == _STEPS:
            return min(steps) if repeated else 0
        before = now
    name = getattr(clock, "__name__", "a clock")
    raise Trouble(f"{name} stands still for {_READINGS} readings: nothing can be timed")


def batch_size(take: Callable[[int], int], cost: ClockCost, share: float) -> int:
    """The number of calls per batch that limits the cost of the clocks to this fraction of an observation.

    ``take`` times a batch of the given number of calls, in nanoseconds. The shortest of three has to be long enough;
    a single one suffices if it is too long to be the effect of a disturbance.
    """
    enough = max(cost) / share
    size = 1
    while size < LARGEST:
        shortest = confirmed(take, size, enough)
        if shortest >= enough:
            break
        wanted = size * enough / max(shortest, 1.0)
        size = max(2 * size, min(math.ceil(1.2 * wanted), 16 * size))
    return min(size, LARGEST)


def confirmed(take: Callable[[int], int], size: int, enough: float) -> float:
    """The shortest time of three batches, or of fewer if one is too short, or so long that one suffices."""
    shortest = math.inf
    for _ in range(_CONFIRMED):
        shortest = min(shortest, take(size))
        if shortest < enough or shortest > _BEYOND_DOUBT * enough:
            break
    return shortest


def _median(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]


def _nothing() -> None:
    pass
