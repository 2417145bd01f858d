"""Taking observations: first as many as the batch's size needs, then warm-up, then those that count."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

from . import timing
from .calls import Calls, is_lazy
from .controller import Controller
from .memory import peak, restart_peak
from .timing import Spent
from .trouble import Full, Trouble


def _nothing() -> None:
    pass


class Order(NamedTuple):
    """How much to take: ``observations`` or ``seconds``, whichever is reached first, and at least one.

    ``warmup`` observations come before, or as many as ``seconds`` allow; ``overhead`` is the largest share of the
    clocks' cost; ``collector`` is ``on``, ``off`` or ``between`` (off while timing, and run before each observation).
    ``calls`` are ``batched`` as the clocks need, or ``single``: each is an observation, where it is long enough.
    """

    observations: int
    seconds: float
    warmup: int
    overhead: float
    collector: str
    with_cpu: bool
    calls: str = "batched"


class Recorded(NamedTuple):
    """Nanoseconds of each observation, by both clocks (of processor time none where it was not asked for).

    The first ``warmup`` are warm-up; each is of ``batch`` calls; ``overhead`` is the share of the clock's cost.
    ``single`` says whether each is of one call that is long enough for them; ``memory`` is the peak in bytes: of one
    call, which is none of the batches', or since warm-up where a function measures itself.
    """

    wall: list[int]
    cpu: list[int]
    warmup: int
    batch: int
    overhead: float
    single: bool
    memory: int


class Patience:
    """Whether it is time to stop: after a number of observations, or a time; never before the first."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._since = perf_counter_ns()
        self.phase, self.taken, self.warmup = "warm-up" if order.warmup else "steady", 0, 0
        if not order.warmup:
            restart_peak()

    @property
    def over(self) -> bool:
        """Whether there is enough."""
        return self.phase == "over"

    @property
    def left(self) -> int:
        """Observations to come in this phase at most."""
        return (self._order.warmup if self.phase == "warm-up" else self._order.observations) - self.taken

    def count(self, number: int) -> None:
        """So many more were taken."""
        self.taken += number
        late = (perf_counter_ns() - self._since) * 1e-9 >= self._order.seconds
        if self.left > 0 and not late:
            return
        if self.phase == "steady":
            self.phase = "over"
            return
        self.warmup, self.taken, self.phase = self.taken, 0, "steady"
        self._since = perf_counter_ns()
        restart_peak()


def record_calls(calls: Calls, order: Order, see: Callable[[], object] = _nothing) -> Recorded:
    """Time batches of calls; after each comes ``see``.

    Raises:
        Trouble: where calls are too short for the clocks, as many as there may be at once.
    """
    ready = collector(order.collector)
    lazy = is_lazy(_first(calls))
    see()
    timed = timing.loop(calls.shape, order.with_cpu, lazy)

    def take(size: int) -> Spent:
        batch = calls.batch(size)
        ready()
        spent = timed(calls.call, batch)
        see()
        return spent

    cost = timing.timer_cost(timed, order.with_cpu)
    memory = _peak(calls, timed)
    size = _size(calls, lambda number: take(number)[0], cost, order)
    calls.settle()
    spent: list[Spent] = []
    patience = Patience(order)
    while not patience.over:
        spent.append(take(size))
        patience.count(1)
    wall, cpu = _columns(spent, order.with_cpu)
    return _recorded(order, wall, cpu, patience.warmup, size, cost.wall, memory)


def record_loop(loop: Callable[[Controller], Any], order: Order, see: Callable[[], object] = _nothing) -> Recorded:
    """Let a function measure by itself; after each round comes ``see``.

    Raises:
        Trouble: where it ends before it was told to, and where a round leaves open what it timed.
    """
    judge = _Judge(order, see)
    loop(judge.controller)
    if judge.around:
        raise Trouble(
            "the measuring function times its loop from around it: write spl.start() and spl.end(), or "
            "`with spl.measure():`, within `while spl.needs_more():`"
        )
    if judge.unpaired or judge.controller.unpaired:
        raise Trouble("the measuring function called spl.start() and spl.end() unequally often: end what is started")
    if not judge.over:
        raise Trouble("the measuring function ended while its controller needed more: loop `while spl.needs_more():`")
    return judge.recorded()


def _size(calls: Calls, take: Callable[[int], int], cost: timing.ClockCost, order: Order) -> int:
    """How many calls an observation is of.

    Raises:
        Trouble: where as many as fit into memory are too short.
    """
    enough = max(cost) / order.overhead
    if order.calls == "single" and timing.confirmed(take, 1, enough) >= enough:
        return 1
    try:
        return timing.batch_size(take, cost, order.overhead)
    except Full as full:
        calls.settle()
        size = max(1, full.fits // 2)
        if timing.confirmed(take, size, enough) >= enough:
            return size
        raise Trouble(
            f"{full}, and these calls are too short for the clocks: let the workload give the same to all, as by "
            "itertools.repeat, or raise `memory` of [python.recording]"
        ) from None


def _peak(calls: Calls, timed: timing.Timed) -> int:
    """Bytes, while a call runs for which nothing but its own arguments was made in advance."""
    batch = calls.batch(1)
    restart_peak()
    timed(calls.call, batch)
    return peak()


class _Judge:
    """Says how often a measuring function turns: observations are what it timed, else whole rounds."""

    def __init__(self, order: Order, see: Callable[[], object]) -> None:
        self.controller = Controller(self.turns, order.with_cpu)
        self._order, self._see = order, see
        self._ready = collector(order.collector)
        self._rounds: list[Spent] = []
        self._size, self._warmup = 1, 0
        self.around = self.unpaired = False
        self.cost = self._price()
        self._patience: Patience | None = None

    @property
    def over(self) -> bool:
        """Whether the function has turned often enough."""
        return self._patience is not None and self._patience.over

    def turns(self, spent: Spent | None) -> int:
        """How often to turn now."""
        self._see()
        if self.controller.unpaired:
            self.around, self.unpaired = spent is None, True
            return 0
        if spent is not None:
            self._take(spent)
        if self.over:
            return 0
        self._ready()
        return self._size

    def recorded(self) -> Recorded:
        """What came of it."""
        assert self._patience is not None
        of_loop = not self.controller.timed
        wall, cpu = _columns(self._rounds, self._order.with_cpu) if of_loop else self.controller.spent()
        size = self._size if of_loop else 1
        return _recorded(self._order, wall, cpu, self._patience.warmup, size, self.cost.wall, peak())

    def _price(self) -> timing.ClockCost:
        """The cost of the clocks where nothing is timed."""
        for _ in range(301):
            with self.controller.measure():
                pass
        cost = timing.cost_of(*self.controller.spent())
        self.controller.forget()
        return cost

    def _take(self, spent: Spent) -> None:
        if self.controller.timed:
            self._patience = self._patience or Patience(self._order)
            self._patience.count(self.controller.timed - self._patience.warmup - self._patience.taken)
            quick = spent[0] * 1e-9 < self._order.seconds / 50
            alone = self._order.collector == "between"
            grown = 1 if alone else 2 * self._size if quick else self._size
            self._size = max(1, min(grown, self._patience.left))
        elif self._patience is not None:
            self._rounds.append(spent)
            self._patience.count(1)
        elif spent[0] * self._order.overhead >= max(self.cost):
            self._patience = Patience(self._order)
        else:
            self._size *= 2


def collector(way: str) -> Callable[[], object]:
    """Set the garbage collector, and give what is to be done before each observation."""
    if way == "on":
        return _nothing
    gc.collect()
    gc.disable()
    return gc.collect if way == "between" else _nothing


def _first(calls: Calls) -> object:
    for item in calls.batch(1):
        if calls.shape == "none":
            return calls.call()
        if calls.shape == "each":
            return item[0](*item[1])
        return calls.call(item) if calls.shape == "one" else calls.call(*item)
    raise AssertionError


def _columns(spent: list[Spent], with_cpu: bool) -> tuple[list[int], list[int]]:
    return [wall for wall, _ in spent], [cpu for _, cpu in spent] if with_cpu else []


def _recorded(
    order: Order, wall: list[int], cpu: list[int], warmup: int, size: int, cost: int, memory: int
) -> Recorded:
    mean = sum(wall[warmup:]) / (len(wall) - warmup)
    overhead = cost / max(mean, 1)
    return Recorded(wall, cpu, warmup, size, overhead, size == 1 and overhead <= order.overhead, memory)
