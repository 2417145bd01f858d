"""Counts of a command's events: who counts them, what is refused, and that children are part of them."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hati.core import Benchmark, InputError, Metric, Outcome, Place, Reader, ReaderKind, Run
from hati.core.benchmark import COUNT, COUNTERS, CounterSource
from hati.subject import describe_counting, with_counter_source
from hati.subject.running import counting
from hati.subject.running.counting import check_counters, counter_source

Measure = Callable[..., Run]
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="Valgrind is not installed")
needs_perf = pytest.mark.skipif(bool(counting.refused(("page_faults",))), reason="perf_event_open is not permitted")
FORK = """
#include <sys/wait.h>
#include <unistd.h>
static void work(long n) { for (volatile long i = 0; i < n; i++); }
int main(void) {
  work(1000000);
  if (!fork()) { work(500000); _exit(0); }
  wait(0);
  return 0;
}
"""


def counts(*names: str) -> tuple[Metric, ...]:
    return tuple(Metric(name, COUNT) for name in names)


def benchmark(*names: str, **about: Any) -> Benchmark:
    metrics = tuple(Metric(name, COUNT if name in COUNTERS else "s") for name in names)
    places = tuple((name, Place("hati.toml", line)) for line, name in enumerate(names, start=7))
    return Benchmark("b", ("true",), Reader(ReaderKind.PROCESS), metrics, metric_places=places, **about)


@pytest.fixture
def permitted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the kernel refuse hardware events by an error; 0: it permits them. Page faults are always permitted."""

    def let(error: int) -> None:
        monkeypatch.setattr(counting, "refused", lambda names: 0 if set(names) <= {"page_faults"} else error)

    return let


class TestSource:
    @pytest.mark.parametrize(
        ("names", "error", "source"),
        [
            (("wall_time",), 0, None),
            (("instructions", "wall_time"), 0, CounterSource.PERF),
            (("instructions",), errno.ENOENT, CounterSource.VALGRIND),
            (("simulated_cache_misses", "instructions"), 0, CounterSource.VALGRIND),
            (("cycles",), errno.EACCES, CounterSource.PERF),
            (("page_faults", "wall_time"), errno.ENOENT, CounterSource.PERF),
        ],
    )
    def test_it_is_what_the_machine_permits(
        self, permitted: Callable[[int], None], names: tuple[str, ...], error: int, source: CounterSource | None
    ) -> None:
        permitted(error)
        assert counter_source(benchmark(*names)) is source

    def test_page_faults_need_no_permission(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(counting, "refused", lambda _: errno.EPERM)
        assert counter_source(benchmark("page_faults")) is CounterSource.USAGE

    def test_it_is_part_of_the_definition(self, permitted: Callable[[int], None]) -> None:
        permitted(errno.ENOENT)
        plain, fixed = benchmark("wall_time"), with_counter_source(benchmark("instructions"))
        assert with_counter_source(plain) is plain
        assert '"counters":"valgrind"' in fixed.definition
        permitted(0)
        assert with_counter_source(fixed) is fixed

    def test_it_says_what_is_fixed(self, permitted: Callable[[int], None]) -> None:
        permitted(errno.ENOENT)
        said = describe_counting(benchmark("instructions", "simulated_cache_misses"))
        assert "counted by Valgrind, with a simulated cache" in said
        assert "randomisation is off, PYTHONHASHSEED=0" in said
        assert describe_counting(benchmark("wall_time")) == ""


class TestRefused:
    @pytest.mark.parametrize(
        ("names", "error", "line", "words", "fix"),
        [
            (("instructions", "wall_time"), errno.ENOENT, 8, "'wall_time' has no meaning", "[[benchmark]] of its own"),
            (("cycles",), errno.ENOENT, 7, "no hardware counters", 'measure "instructions"'),
            (("cache_misses",), errno.EOPNOTSUPP, 7, "no hardware counters", '"simulated_cache_misses"'),
            (("cycles",), errno.EACCES, 7, "does not permit perf_event_open", "sysctl kernel.perf_event_paranoid=2"),
            (("simulated_cache_misses", "cycles"), 0, 8, "counted by the processor", "another benchmark"),
            (("instructions", "page_faults"), errno.ENOENT, 8, "'page_faults' has no meaning", "of its own"),
        ],
    )
    def test_with_place_and_fix(
        self,
        permitted: Callable[[int], None],
        names: tuple[str, ...],
        error: int,
        line: int,
        words: str,
        fix: str,
    ) -> None:
        permitted(error)
        with pytest.raises(InputError) as raised:
            check_counters(benchmark(*names))
        assert words in raised.value.message
        assert fix in (raised.value.fix or "")
        assert raised.value.place == Place("hati.toml", line)

    def test_without_valgrind_the_command_that_installs_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(InputError) as raised:
            check_counters(benchmark("instructions", counters=CounterSource.VALGRIND))
        assert "no program 'valgrind' on PATH" in raised.value.message
        assert raised.value.fix == "sudo apt-get install valgrind"


@pytest.fixture
def forking(tmp_path: Path) -> str:
    """A program whose child does half of the parent's work."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    import subprocess

    source, program = tmp_path / "fork.c", tmp_path / "fork"
    source.write_text(FORK)
    subprocess.run([compiler, "-O1", "-o", str(program), str(source)], check=True)
    return str(program)


@needs_valgrind
def test_valgrind_counts_children_once(measure: Measure, forking: str) -> None:
    names = ("instructions", "simulated_cache_misses", "simulated_branch_misses")
    run = measure(forking, metrics=counts(*names), counters=CounterSource.VALGRIND)
    assert run.outcome is Outcome.DONE, run.detail
    found = {one.metric: one.values[0] for one in run.observations}
    # Six instructions a round, in 1.5 million rounds; what is counted twice would make 15 million.
    assert 9.0e6 < found["instructions"] < 9.4e6
    assert found["simulated_cache_misses"] > 0
    assert found["simulated_branch_misses"] > 0


@needs_valgrind
def test_valgrind_finds_the_program_first(measure: Measure) -> None:
    run = measure("no-such-program", metrics=counts("instructions"), counters=CounterSource.VALGRIND)
    assert run.outcome is Outcome.NOT_STARTED
    assert "there is no program 'no-such-program' on PATH" in run.detail


@pytest.mark.parametrize("source", [CounterSource.USAGE, pytest.param(CounterSource.PERF, marks=needs_perf)])
def test_page_faults_of_children_are_summed(measure: Measure, source: CounterSource) -> None:
    def faults(children: int) -> float:
        touch = "import mmap; m = mmap.mmap(-1, 4096 * 2000); [m.__setitem__(i * 4096, 1) for i in range(2000)]"
        start = f"subprocess.run([sys.executable, '-S', '-c', {touch!r}])"
        code = f"import subprocess, sys; [{start} for _ in range({children})]"
        run = measure("python3", "-S", "-c", code, metrics=counts("page_faults"), counters=source)
        assert run.outcome is Outcome.DONE, run.detail
        return float(run.observations[0].values[0])

    assert faults(2) - faults(1) > 2000


def test_layout_and_hash_seed_are_fixed(measure: Measure) -> None:
    shown = "cat /proc/self/personality; echo $PYTHONHASHSEED"
    run = measure("sh", "-c", shown, metrics=counts("page_faults"), counters=CounterSource.USAGE)
    layout, seed = run.output.split()
    assert seed == "0"
    assert layout == "00040000" or counting.UNFIXED in run.detail
    other = measure("sh", "-c", "cat /proc/self/personality")
    assert other.output.split() == ["00000000"]


def test_what_the_benchmark_says_of_the_hash_seed_holds(measure: Measure) -> None:
    about = {"metrics": counts("page_faults"), "counters": CounterSource.USAGE, "env": (("PYTHONHASHSEED", "7"),)}
    assert measure("sh", "-c", "echo $PYTHONHASHSEED", **about).output == "7\n"
