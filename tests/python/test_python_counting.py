"""Counts of the events of a function's calls: what reads them, what is refused, and children that are part of them."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from measuring import BASE, Measure

from hati.core import Benchmark, InputError, Outcome, Run, replace
from hati.core.benchmark import CounterSource
from hati.python import Interpreter, Recording, python_benchmark
from hati.python.injected import counting
from hati.python.injected.calls import Calls
from hati.python.injected.recording import Order, count_calls
from hati.python.injected.trouble import Trouble
from hati.subject import describe_counting
from hati.subject.running.counting import check_counters
from hati.subject.running.supervisor.program import refused

LOOPS = """
import os
import hati


def work(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def touch(pages):
    import mmap
    memory = mmap.mmap(-1, 4096 * pages)
    for page in range(pages):
        memory[4096 * page] = 1


def forked(pages):
    if not os.fork():
        touch(pages)
        os._exit(0)
    os.wait()


@hati.measured
def looping(spl):
    while spl.needs_more():
        work(10)
"""
ORDER = Order(observations=4, seconds=10.0, warmup=2, overhead=0.01, collector="on", with_cpu=False)
needs_perf = pytest.mark.skipif(bool(refused(("page_faults",))), reason="perf_event_open is not permitted")


@pytest.fixture
def loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # the measured interpreter has no Hati
    (tmp_path / "loops.py").write_text(LOOPS)
    return tmp_path


def counted(root: Path, method: str, size: int, *metrics: str) -> Benchmark:
    recording = Recording(observations=2, warmup=1, metrics=metrics)
    parameters = [size] if size else []
    return python_benchmark(
        f"loops:{method}", parameters=parameters, root=root, recording=recording, interpreter=Interpreter(BASE)
    )


def of(run: Run, metric: str) -> list[float]:
    assert run.outcome is Outcome.DONE, run.detail
    [found] = [each for each in run.observations if each.metric == metric]
    return [float(value) for value in found.values[found.warmup :]]


class Machine:
    """A counter of instructions and misses; counting costs 50 and 1."""

    def __init__(self) -> None:
        self.instructions = self.misses = 0
        self.marks: list[tuple[int, int]] = []

    def open(self) -> None:
        self.marks.clear()

    def mark(self) -> int:
        self.instructions += 25
        self.misses += len(self.marks)
        self.marks.append((self.instructions, self.misses))
        self.instructions += 25
        return 0

    def counts(self) -> tuple[int, ...]:
        (first, second), (third, fourth) = self.marks
        return third - first, fourth - second

    def call(self) -> None:
        self.instructions += 7
        self.misses += 2


def test_the_counts_of_a_call_are_without_those_of_the_counter() -> None:
    machine = Machine()
    found = count_calls(Calls(machine.call, None), ORDER, ("instructions", "misses"), machine)
    per_call = {tuple(count / found.batch for count in each) for each in found.values}
    assert per_call == {(7.0, 2.0)}
    assert (len(found.values), found.warmup, found.single) == (6, 2, False)
    assert found.overhead <= 0.01
    assert found.batch > 700


def test_a_long_call_is_counted_alone() -> None:
    machine = Machine()

    def long() -> None:
        machine.instructions += 10**6

    found = count_calls(Calls(long, None), ORDER, ("instructions", "misses"), machine)
    assert found.batch == 1
    assert found.single
    assert found.values[-1] == (10**6, 0)


def test_parts_that_valgrind_writes_are_summed_with_those_of_children(tmp_path: Path) -> None:
    counter = counting.counter(
        ("instructions", "simulated_cache_misses"), f"valgrind:Ir,ILmr+DLmr+DLmw:{tmp_path}/counts"
    )
    (tmp_path / "counts.0").write_text("left from before")
    counter.open()
    assert not list(tmp_path.iterdir())
    own = f"counts.{os.getpid()}"
    for name, totals in (
        (f"{own}.9", "1000 1 1 1"),
        (f"{own}.10", "200 1 2 3"),
        (f"{own}.11", "30 0 0 4"),
        ("counts.1", "4 5"),
    ):
        (tmp_path / name).write_text(f"version: 1\nevents: Ir ILmr DLmr DLmw\nfn=(1)\n1 2\n\ntotals: {totals}\n")
    (tmp_path / "counts.2").write_text("version: 1\nevents: Ir\nkilled before its totals")
    assert counter.counts() == (234, 15)


def test_what_valgrind_does_not_mark_is_not_counted(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="does not see the function getppid"):
        counting.counter(("instructions",), f"valgrind:Ir:{tmp_path}/counts").counts()


def test_without_an_engine_nothing_counts() -> None:
    with pytest.raises(Trouble, match="nothing counts the events of this process"):
        counting.counter(("instructions",), "")


def test_a_run_records_either_times_or_counts() -> None:
    with pytest.raises(InputError, match="cannot record both instructions and wall_time"):
        Recording(metrics=("wall_time", "instructions"))


def test_instructions_size_the_batches_of_other_events() -> None:
    assert Recording(metrics=("cache_misses", "cycles")).counted == ("instructions", "cache_misses", "cycles")
    assert Recording(metrics=("page_faults",)).counted == ("page_faults",)
    assert Recording().counted == ()


def test_hash_seed_and_layout_are_fixed_and_said(loops: Path) -> None:
    benchmark = replace(counted(loops, "work", 10, "instructions"), counters=CounterSource.VALGRIND)
    said = describe_counting(benchmark)
    assert "counted by Valgrind, in the calls, with the processes that they start" in said
    assert said.endswith("address-space randomisation is off, PYTHONHASHSEED=0")
    assert "PYTHONHASHSEED" in benchmark.definition


def test_hardware_events_are_refused_where_there_are_none(loops: Path) -> None:
    there = not refused(("cycles",))
    said = r"no hardware counters|does not permit perf_event_open"
    with nullcontext() if there else pytest.raises(InputError, match=said):
        check_counters(counted(loops, "work", 10, "cycles"))


def test_a_measuring_function_is_refused(loops: Path, measure: Measure) -> None:
    [run] = measure(loops, counted(loops, "looping", 0, "page_faults"))
    assert run.outcome is Outcome.FAILED
    assert "is a measuring function, whose events are not counted" in run.detail


@pytest.mark.parametrize("source", [CounterSource.USAGE, pytest.param(CounterSource.PERF, marks=needs_perf)])
@pytest.mark.parametrize("method", ["touch", "forked"])
def test_page_faults_are_those_of_the_calls_and_their_children(
    loops: Path, measure: Measure, source: CounterSource, method: str
) -> None:
    few, many = (
        of(measure(loops, replace(counted(loops, method, pages, "page_faults"), counters=source))[0], "page_faults")
        for pages in (1000, 3000)
    )
    assert 1900 < min(many) - max(few) < 2100


@pytest.mark.acceptance
@pytest.mark.usefixtures("valgrind")
def test_valgrind_counts_the_calls_alone(loops: Path, measure: Measure) -> None:
    benchmark = replace(counted(loops, "work", 1000, "instructions"), counters=CounterSource.VALGRIND)
    [run] = measure(loops, benchmark)
    # Some 600 instructions a turn and below; the start of Python alone takes 20 million.
    assert 50_000 < of(run, "instructions")[-1] < 2_000_000
