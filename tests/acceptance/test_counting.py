"""Counts repeat where times scatter, and find what times cannot; one machine counts by Valgrind, another by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hati.core import Benchmark, Configuration, Job, Metric, Outcome, Reader, ReaderKind, Task
from hati.engine import LocalEngine
from hati.project import read_project
from hati.python import Interpreter, Recording, python_benchmark
from hati.subject import machine, with_counter_source

pytestmark = [pytest.mark.acceptance, pytest.mark.usefixtures("valgrind")]
ROOT = Path(__file__).resolve().parents[2]
HATI = str(Path(sys.executable).with_name("hati"))
BASE = getattr(sys, "_base_executable", sys.executable)
INSTRUCTIONS = Metric("instructions", "count")
LOOPS = """
import random
import time

PAUSE = random.SystemRandom().uniform(0.0, 1e-3)  # of this process: times differ between runs on any machine


def work(n):
    time.sleep(PAUSE)
    return sum(i * i for i in range(n))


def slower(n):
    return work(n + n // 100)
"""
PROGRAM = """
int main(void) { int sum = 0; for (int i = 0; i < 10; i++) sum += i * i; return sum; }
"""


def three_runs(root: Path, benchmark: Benchmark, metric: str, configuration: Configuration) -> list[list[float]]:
    """The steady observations of three runs."""
    tasks = (Task("s", "t", benchmark.name, configuration, "here", benchmark.workload, number) for number in (1, 2, 3))
    with LocalEngine(root, [benchmark], machine()) as engine:
        runs = list(engine.run([Job(task, benchmark, "here") for task in tasks]))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 3, runs[0].detail
    series = [next(each for each in run.observations if each.metric == metric) for run in runs]
    return [[float(value) for value in each.values[each.warmup :]] for each in series]


def repeat(runs: Sequence[Sequence[float]]) -> bool:
    """Whether all observations are within .1 % of the first."""
    first = runs[0][0]
    return all(abs(value - first) < 0.001 * first for run in runs for value in run)


def function(root: Path, name: str, metric: str) -> list[list[float]]:
    recording = Recording(metrics=(metric,), observations=2, warmup=1)
    benchmark = python_benchmark(
        f"loops:{name}", parameters=[500], root=root, recording=recording, interpreter=Interpreter(BASE)
    )
    return three_runs(root, with_counter_source(benchmark), metric, Configuration())


def verdict(
    folder: Path, metric: str, unit: str, before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]
) -> str:
    """What `hati compare` says of two samples of runs."""
    files: Mapping[str, Sequence[Sequence[float]]] = {"before.json": before, "after.json": after}
    for name, runs in files.items():
        sample = {
            "benchmark": "b",
            "metric": metric,
            "unit": unit,
            "runs": [{"observations": list(run)} for run in runs],
        }
        (folder / name).write_text(json.dumps({"format": "hati-samples-1", "samples": [sample]}))
    command = [HATI, "compare", *files, "--margin", "0.5%", "--fail-on", "none", "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    [found] = json.loads(done.stdout)["comparisons"]
    return str(found["verdict"])


def test_three_runs_a_side_find_a_loop_that_is_1_percent_slower_by_its_instructions_not_by_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "loops.py").write_text(LOOPS)
    before, after = (function(tmp_path, name, "instructions") for name in ("work", "slower"))
    assert repeat(before)
    assert repeat(after)
    assert verdict(tmp_path, "instructions", "count", before, after) == "slower"
    times = (function(tmp_path, name, "wall_time") for name in ("work", "slower"))
    assert verdict(tmp_path, "wall_time", "s", *times) == "inconclusive"


def test_instructions_of_sqlite_repeat(tmp_path: Path) -> None:
    project = read_project(ROOT / "examples" / "sqlite")
    [orders] = project.benchmarks
    benchmark = Benchmark(
        "orders", orders.command, Reader(ReaderKind.PROCESS), (INSTRUCTIONS,), files=orders.files, timeout=120.0
    )
    folder = tmp_path / "sqlite"
    shutil.copytree(project.root, folder, ignore=shutil.ignore_patterns(".hati"))
    assert repeat(three_runs(folder, with_counter_source(benchmark), "instructions", project.space.default))


def test_instructions_of_a_compiler_repeat(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    command = ("cc", "-O1", "-c", "program.c", "-o", "{work}/program.o")
    benchmark = Benchmark("compile", command, Reader(ReaderKind.PROCESS), (INSTRUCTIONS,), timeout=120.0)
    runs = three_runs(tmp_path, with_counter_source(benchmark), "instructions", Configuration())
    assert repeat(runs)
    assert runs[0][0] > 5e6  # cc1 and as, which cc starts, are counted too
