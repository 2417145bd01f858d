from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from clocks import CLOCKS, Clocks, Simulation
from hypothesis import given
from hypothesis import strategies as st

import hati
from hati.python import Formula, Performance
from hati.python.injected import controller, recording, timing
from hati.python.injected.calls import Calls, Receiver, is_lazy, supply
from hati.python.injected.controller import Controller
from hati.python.injected.parameters import Parameters
from hati.python.injected.recording import Order
from hati.python.injected.timing import LARGEST, ClockCost, batch_size, resolution
from hati.python.injected.trouble import Full, Trouble

ORDER = Order(observations=7, seconds=10.0, warmup=3, overhead=0.5, collector="on", with_cpu=True)


@given(call=st.floats(0.1, 1e9), cost=st.integers(20, 2000), share=st.floats(0.001, 0.5))
def test_a_batch_is_as_large_as_the_clocks_need_and_not_much_larger(call: float, cost: int, share: float) -> None:
    size = batch_size(lambda number: int(number * call + cost), ClockCost(cost // 2, cost), share)
    assert size * call + cost >= cost / share - 1 or size == LARGEST
    assert size == 1 or (size // 16) * call <= cost / share


def test_one_long_call_is_enough_to_know_that_it_is_long() -> None:
    asked: list[int] = []

    def take(size: int) -> int:
        asked.append(size)
        return 5 * 10**9

    assert batch_size(take, ClockCost(50, 500), 0.01) == 1
    assert asked == [1]


def test_a_disturbed_batch_is_no_reason_to_stop_looking() -> None:
    disturbed = iter([10**6])
    assert batch_size(lambda size: next(disturbed, 100 * size), ClockCost(50, 50), 0.01) >= 50


@pytest.fixture(params=CLOCKS.values(), ids=CLOCKS)
def time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Time:
    """Simulated time, on clocks that are quick, slow or coarse."""
    found = Time(request.param)
    for module in (timing, controller, recording):
        monkeypatch.setattr(module, "perf_counter_ns", found.perf_counter_ns)
        monkeypatch.setattr(module, "process_time_ns", found.process_time_ns, raising=False)
    return found


class Time(Simulation):
    """What calls cost on simulated clocks."""

    def __init__(self, clocks: Clocks) -> None:
        super().__init__(clocks)
        self.cost = clocks.cost

    def short(self) -> None:
        """A tenth of what the clocks cost."""
        self.spend(self.cost // 10)

    def long(self) -> None:
        """Ten times what the clocks cost."""
        self.spend(10 * self.cost)


@given(cost=st.integers(1, 10**4), ratio=st.floats(0.01, 1000))
def test_the_resolution_of_a_clock_is_its_step_where_a_reading_takes_less(cost: int, ratio: float) -> None:
    step = max(1, int(cost * ratio))
    found = resolution(Simulation(Clocks(cost, cost, step)).perf_counter_ns)
    assert found in {0, step}
    assert (found == step) if step >= 4 * cost else (found == 0) if step <= cost else True


def test_single_calls_are_timed_where_they_are_long_enough(time: Time) -> None:
    long = time.long

    def turns(spl: Controller) -> None:
        while spl.needs_more():
            with spl.measure():
                long()

    def rounds(spl: Controller) -> None:
        while spl.needs_more():
            long()

    single = ORDER._replace(calls="single")
    found = [recording.record_calls(Calls(long, None), single)]
    found += [recording.record_loop(loop, single) for loop in (turns, rounds)]
    assert [(each.batch, each.single) for each in found] == [(1, True)] * 3
    assert all(each.overhead < 0.5 for each in found)


def test_where_single_calls_are_too_short_the_mean_is_recorded_and_that_it_is_one(time: Time) -> None:
    def turns(spl: Controller) -> None:
        while spl.needs_more():
            with spl.measure():
                time.short()

    def rounds(spl: Controller) -> None:
        while spl.needs_more():
            time.short()

    hard = ORDER._replace(calls="single", overhead=1e-3)
    found = [recording.record_calls(Calls(time.short, None), hard)]
    found += [recording.record_loop(loop, hard) for loop in (turns, rounds)]
    assert [each.single for each in found] == [False] * 3
    assert [each.batch > 1 for each in found] == [True, False, True]  # a loop that times its turns has these
    assert [len(each.wall) for each in found] == [10] * 3
    batched = recording.record_calls(Calls(time.short, None), hard._replace(calls="batched"))
    assert (batched.single, batched.batch > 1) == (False, True)


def blocks(size: int) -> Callable[[], tuple[bytes]]:
    return lambda: (b"x" * size,)


def in_a_fresh_process(function: Callable[[], object]) -> None:
    """There is little memory there that was freed, and whose use again would not be seen."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(function).result()


def batches_of_large_arguments() -> None:
    block, most = 2**20, 2**23
    with pytest.raises(Full) as caught:
        Calls(len, blocks(block), most=most).batch(10_000)
    assert 8 <= caught.value.fits <= 2 * 16 + 8
    assert str(caught.value).endswith("calls fill the 8 MiB of memory that a batch may take")
    with pytest.raises(Full):
        Calls(len, None, Receiver(lambda: bytearray(b"x" * block), "call", bytearray, "clear"), most).batch(10_000)
    assert len(list(Calls(len, blocks(100), most=most).batch(1000))) == 1000


def test_a_batch_is_of_no_more_calls_than_its_arguments_leave_memory_for() -> None:
    in_a_fresh_process(batches_of_large_arguments)


def recordings_with_large_arguments(clocks: Clocks) -> None:
    time = Time(clocks)
    time.install(timing, recording)

    def work(block: bytes) -> None:
        time.long()

    def short(block: bytes) -> None:
        time.short()

    calls = Calls(work, blocks(2**20), most=2**24)
    found = recording.record_calls(calls, ORDER._replace(overhead=1 / 30))  # about three calls for an observation
    assert 2 <= found.batch <= 8
    with pytest.raises(
        Trouble, match=r"MiB of memory that a batch may take, and these calls are too short for the clocks: let"
    ):
        recording.record_calls(Calls(short, blocks(2**20), most=2**24), ORDER._replace(overhead=1e-2))


@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=CLOCKS)
def test_calls_with_large_arguments_are_recorded_within_bounds_or_refused(clocks: Clocks) -> None:
    in_a_fresh_process(partial(recordings_with_large_arguments, clocks))


def test_as_many_are_recorded_as_were_ordered_in_every_way(time: Time) -> None:
    def turns(spl: Controller) -> None:
        while spl.needs_more():
            with spl.measure():
                time.long()

    def marked(spl: Controller) -> None:
        while spl.needs_more():
            spl.start()
            time.long()
            spl.end()

    def rounds(spl: Controller) -> None:
        while spl.needs_more():
            time.short()

    loops = [recording.record_loop(loop, ORDER) for loop in (turns, marked, rounds)]
    for found in (recording.record_calls(Calls(time.short, None), ORDER), *loops):
        assert (len(found.wall), len(found.cpu), found.warmup) == (10, 10, 3)
        assert min(found.wall) > 0
    assert [found.batch for found in loops[:2]] == [1, 1]
    without = recording.record_calls(Calls(time.short, None), ORDER._replace(with_cpu=False, warmup=0))
    assert (len(without.wall), without.cpu, without.warmup) == (7, [], 0)


def test_the_mean_of_a_call_is_its_cost_whatever_the_clocks(time: Time) -> None:
    found = recording.record_calls(Calls(time.short, None), ORDER._replace(overhead=0.01))
    call = time.cost // 10
    for values in (found.wall, found.cpu):
        assert sum(values) / len(values) / found.batch == pytest.approx(call, rel=0.011)


def test_time_ends_a_recording_after_one_of_warm_up_and_one_that_counts(time: Time) -> None:
    hasty = ORDER._replace(seconds=1e-9)
    found = recording.record_calls(Calls(time.short, None), hasty)
    assert (len(found.wall), found.warmup) == (2, 1)


def test_a_loop_that_ends_early_is_trouble() -> None:
    with pytest.raises(Trouble, match="while its controller needed more"):
        recording.record_loop(lambda spl: spl.needs_more(), ORDER)


def test_the_collector_is_set() -> None:
    try:
        recording.collector("off")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_same_run_has_the_same_random_inputs_in_every_revision() -> None:
    def drawn(seed: str) -> list[float]:
        def rand(n: int, rng: object) -> list[float]:
            return [rng.random() for _ in range(n)]  # type: ignore[attr-defined]  # rng is untyped here, as in users' files

        made: list[float] = Parameters([("n", 3)], seed).bound(rand)()
        return made

    assert drawn("0-1") == drawn("0-1") != drawn("0-2")


def test_workloads_make_arguments_one_by_one_or_as_they_are_asked_for() -> None:
    counted = itertools.count()
    assert list(itertools.islice(supply(lambda: next(counted)), 3)) == [(0,), (1,), (2,)]
    assert list(itertools.islice(supply(lambda: iter([1, (2, 3)])), 4)) == [(1,), (2, 3), (1,), (2, 3)]
    with pytest.raises(Trouble, match="iterator is empty"):
        next(supply(lambda: iter(())))
    with pytest.raises(Trouble, match="different numbers"):
        Calls(print, lambda: iter([(1,), (2, 3)])).batch(2)


def test_what_is_computed_as_it_is_asked_for_is_known() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    assert all(map(is_lazy, (numbers(), map(abs, ()), itertools.count())))
    assert not any(map(is_lazy, ([1], range(3), None)))


@given(
    factor=st.floats(0.01, 100), n=st.integers(0, 10**9), revision=st.sampled_from(["", "v1.2", "HEAD~1", "odd name"])
)
def test_every_formula_has_one_text(factor: float, n: int, revision: str) -> None:
    formula = Performance("pkg:sort", n, revision=revision) <= factor * Performance(hati.SELF, n)
    assert isinstance(formula, Formula)
    at = {"": "", "odd name": "@'odd name'"}.get(revision, f"@{revision}")
    assert str(formula) == f"pkg:sort{at}({n}) <= {factor} * SELF({n})"
