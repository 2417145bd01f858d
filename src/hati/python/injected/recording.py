"""Takes observations: first some to choose the batch size, then warm-up, then those that count."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any, NamedTuple

from . import timing
from .calls import Calls, is_lazy
from .controller import Controller
from .counting import Counter
from .memory import peak, restart_peak
from .timing import Spent
from .trouble import Full, Trouble


def _nothing() -> None:
    pass


_EMPTY = 5
"""The number of empty batches, of which the median is what the counter itself costs."""


class Order(NamedTuple):
    """How much to measure: ``observations`` or ``seconds``, whichever is reached first, and at least one observation.

    ``warmup`` observations come first, or as many as ``seconds`` allow; ``overhead`` is the largest fraction of an
    observation that the clocks may cost; ``collector`` is ``on``, ``off`` or ``between`` (off while timing, and run
    before each observation). ``calls`` are ``batched`` as the clocks need, or ``single``: one call per observation,
    if it is long enough.
    """

    observations: int
    seconds: float
    warmup: int
    overhead: float
    collector: str
    with_cpu: bool
    calls: str = "batched"


class Recorded(NamedTuple):
    """The nanoseconds of each observation by both clocks (no processor times unless they were asked for).

    The first ``warmup`` are warm-up; each is of ``batch`` calls; ``overhead`` is the clock's fraction of an
    observation. ``single`` says whether each is of one call that is long enough for the clocks. ``memory`` is the peak
    in bytes: during one call outside the batches, or since warm-up for a measuring function.
    """

    wall: list[int]
    cpu: list[int]
    warmup: int
    batch: int
    overhead: float
    single: bool
    memory: int

    def warnings(self, order: Order) -> list[str]:
        """What the readings lack of the order."""
        return _warnings(self, order, "clock's cost or resolution", "timed")

    def write(self, put: Callable[[str], object]) -> None:
        """Write the JSON lines of reader ``hati``, with the seconds of a call by each clock."""
        scale = 1e-9 / self.batch
        for name, values in (("wall_time", self.wall), ("cpu_time", self.cpu)):
            _write_series(name, "s", [value * scale for value in values], self.warmup, put)
        single = {
            "peak_memory": (self.memory, "B"),
            "batch": (self.batch, "count"),
            "single_calls": (int(self.single), "1"),
            "timer_share": (self.overhead, "1"),
            "hash_seed": (int(os.environ.get("PYTHONHASHSEED", "0")), "1"),
        }
        _write_single(single, put)


class Counted(NamedTuple):
    """The counts of each observation by the ``names`` of the events, without the counter's own.

    The first ``warmup`` are warm-up; each is of ``batch`` calls; ``overhead`` is the counter's fraction of an
    observation. ``single`` says whether each is of one call that is long enough for the counter.
    """

    names: tuple[str, ...]
    values: list[tuple[int, ...]]
    warmup: int
    batch: int
    overhead: float
    single: bool

    def warnings(self, order: Order) -> list[str]:
        """What the counts lack of the order."""
        return _warnings(self, order, "counter's cost", "counted")

    def write(self, put: Callable[[str], object]) -> None:
        """Write the JSON lines of reader ``hati``, with the counts of a call."""
        for place, name in enumerate(self.names):
            counts = [each[place] / self.batch for each in self.values]
            _write_series(name, "count", counts, self.warmup, put)
        _write_single({"batch": (self.batch, "count"), "single_calls": (int(self.single), "1")}, put)


def _warnings(found: Recorded | Counted, order: Order, cost: str, verb: str) -> list[str]:
    warnings = []
    if found.overhead > order.overhead:
        warnings.append(f"the {cost} is {found.overhead:.1%} of an observation: time more work per observation")
    if order.calls == "single" and not found.single:
        warnings.append(f"calls are too short to be {verb} individually: their mean is known, their quantiles are not")
    return warnings


def _write_series(name: str, unit: str, values: list[float], warmup: int, put: Callable[[str], object]) -> None:
    for part, is_warmup in ((values[:warmup], "true"), (values[warmup:], "false")):
        if part:
            put(f'{{"metric": "{name}", "unit": "{unit}", "values": {part!r}, "warmup": {is_warmup}}}\n')


def _write_single(values: dict[str, tuple[Any, str]], put: Callable[[str], object]) -> None:
    for name, (value, unit) in values.items():
        put(f'{{"metric": "{name}", "unit": "{unit}", "value": {value!r}}}\n')


class Patience:
    """The stopping rule: after a number of observations or a time, but never before the first observation."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._since = perf_counter_ns()
        self.phase, self.taken, self.warmup = "warm-up" if order.warmup else "steady", 0, 0
        if not order.warmup:
            restart_peak()

    @property
    def over(self) -> bool:
        """Whether to stop."""
        return self.phase == "over"

    @property
    def left(self) -> int:
        """The most observations that are left in this phase."""
        return (self._order.warmup if self.phase == "warm-up" else self._order.observations) - self.taken

    def count(self, number: int) -> None:
        """Count this number of new observations."""
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


def record_calls(calls: Calls, order: Order, check: Callable[[], object] = _nothing) -> Recorded:
    """Time batches of calls; ``check`` is called after each.

    Raises:
        Trouble: if the largest possible batch is too short for the clocks.
    """
    ready = collector(order.collector)
    lazy = is_lazy(_first(calls))
    check()
    timed = timing.loop(calls.shape, order.with_cpu, lazy)

    def take(size: int) -> Spent:
        batch = calls.batch(size)
        ready()
        spent = timed(calls.call, batch)
        check()
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


def count_calls(
    calls: Calls, order: Order, names: tuple[str, ...], counter: Counter, check: Callable[[], object] = _nothing
) -> Counted:
    """Count the events of batches of calls, without what an empty batch counts; ``check`` is called after each.

    The first event decides how many calls a batch has.

    Raises:
        Trouble: if the largest possible batch is too short for the counter.
    """
    ready = collector(order.collector)
    lazy = is_lazy(_first(calls))
    check()
    timed = timing.loop(calls.shape, False, lazy, counter.mark)

    def of(batch: Iterable[Any]) -> tuple[int, ...]:
        counter.open()
        timed(calls.call, batch)
        return counter.counts()

    def take(size: int) -> tuple[int, ...]:
        batch = calls.batch(size)
        ready()
        counts = of(batch)
        check()
        return counts

    cost = tuple(sorted(column)[_EMPTY // 2] for column in zip(*(of(()) for _ in range(_EMPTY))))
    size = _size(calls, lambda number: take(number)[0], timing.ClockCost(cost[0], 0), order)
    calls.settle()
    values: list[tuple[int, ...]] = []
    patience = Patience(order)
    while not patience.over:
        values.append(tuple(max(0, count - own) for count, own in zip(take(size), cost)))
        patience.count(1)
    mean = sum(first for first, *_ in values[patience.warmup :]) / (len(values) - patience.warmup)
    overhead = cost[0] / max(mean, 1)
    return Counted(names, values, patience.warmup, size, overhead, size == 1 and overhead <= order.overhead)


def record_loop(loop: Callable[[Controller], Any], order: Order, check: Callable[[], object] = _nothing) -> Recorded:
    """Run a measuring function; ``check`` is called after each round.

    Raises:
        Trouble: if the function ends too early, or if a round has a start without an end or the reverse.
    """
    judge = _Judge(order, check)
    loop(judge.controller)
    if judge.around:
        raise Trouble(
            "the measuring function times its whole loop: write spl.start() and spl.end(), or "
            "`with spl.measure():`, inside `while spl.needs_more():`"
        )
    if judge.unpaired or judge.controller.unpaired:
        raise Trouble("the measuring function did not call spl.start() and spl.end() equally often: end every start")
    if not judge.over:
        raise Trouble("the measuring function ended while its controller needed more: loop `while spl.needs_more():`")
    return judge.recorded()


def _size(calls: Calls, take: Callable[[int], int], cost: timing.ClockCost, order: Order) -> int:
    """The number of calls per observation.

    Raises:
        Trouble: if the calls that fit into memory are too short for the clocks.
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
            f"{full}, and these calls are too short for the clocks: let the workload reuse arguments, as with "
            "itertools.repeat, or raise `memory` of [python.recording]"
        ) from None


def _peak(calls: Calls, timed: timing.Timed) -> int:
    """The peak in bytes during one call, with only its own arguments created before."""
    batch = calls.batch(1)
    restart_peak()
    timed(calls.call, batch)
    return peak()


class _Judge:
    """Decides how long a measuring function loops. Observations are the intervals that it times, else whole rounds."""

    def __init__(self, order: Order, check: Callable[[], object]) -> None:
        self.controller = Controller(self.turns, order.with_cpu)
        self._order, self._check = order, check
        self._ready = collector(order.collector)
        self._rounds: list[Spent] = []
        self._size, self._warmup = 1, 0
        self.around = self.unpaired = False
        self.cost = self._price()
        self._patience: Patience | None = None

    @property
    def over(self) -> bool:
        """Whether the function has looped often enough."""
        return self._patience is not None and self._patience.over

    def turns(self, spent: Spent | None) -> int:
        """The number of iterations in the next round."""
        self._check()
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
        """The observations and their peak memory."""
        assert self._patience is not None
        of_loop = not self.controller.timed
        wall, cpu = _columns(self._rounds, self._order.with_cpu) if of_loop else self.controller.spent()
        size = self._size if of_loop else 1
        return _recorded(self._order, wall, cpu, self._patience.warmup, size, self.cost.wall, peak())

    def _price(self) -> timing.ClockCost:
        """The cost of the clocks in empty intervals."""
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
    """Set up the garbage collector, and return the function to call before each observation."""
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
