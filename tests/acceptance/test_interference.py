"""A competitor on the benchmark's own processor: the runs beside it are marked.

The others are not, as far as nothing else waited for a processor meanwhile, here or on the machine's host.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hati.core import Benchmark, Configuration, Job, Machine, Metric, Reader, ReaderKind, Run, Task, Workload, usage
from hati.engine import LocalEngine
from hati.harness import disturbances

pytestmark = [pytest.mark.acceptance, pytest.mark.alone]

QUIET, BESIDE = 9, 3
WORK = "s = 0\nfor i in range(4_000_000): s += i\n"


def test_runs_beside_a_competitor_are_marked(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    benchmark = Benchmark(
        "work", (sys.executable, "-S", "-c", WORK), Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),), cpus=(cpu,)
    )
    tasks = [Task("s", "m", "work", Configuration(), "r", Workload(), number) for number in range(QUIET + BESIDE)]
    jobs = [Job(task, benchmark, "") for task in tasks]
    with LocalEngine(tmp_path, [benchmark], Machine.of({"cpu": "any"}), lock=tmp_path / "lock") as engine:
        runs: list[Run] = list(engine.run(jobs[:QUIET]))
        burner = subprocess.Popen(
            [sys.executable, "-S", "-c", f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"]
        )
        try:
            runs += engine.run(jobs[QUIET:])
        finally:
            burner.kill()
            burner.wait()
    reasons = disturbances([usage(run) for run in runs])
    told = "\n".join(f"{run.resources} {reason}" for run, reason in zip(runs, reasons, strict=True))
    assert all(reasons[QUIET:]), told
    known = [(run.resources, reason) for run, reason in zip(runs[:QUIET], reasons, strict=False) if run.resources]
    calm = [reason for used, reason in known if (used.pressure or 0.0) + (used.steal or 0.0) < 0.05 * used.wall_time]
    assert sum(map(bool, calm)) <= 1, told
