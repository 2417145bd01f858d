"""The time of a campaign that two workers share, compared with one worker; and what a worker without work takes.

The processes are real, and the subject sleeps.

Run it as: .venv/bin/python -m benchmarks.sharing_work [URL of an empty PostgreSQL database]
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from benchmarks.markdown import table

RUNS, SLEEP_SECONDS, TRIALS, GOAL = 40, 0.5, 3, 0.55
IDLE_SECONDS, IDLE_GOAL = 30.0, 0.005
"""How long an idle worker is watched, and the most of a CPU that it may take."""
HATI = str(Path(sys.executable).with_name("hati"))
PROJECT = f"""[[benchmark]]
name = "sleep"
command = ["sleep", "{SLEEP_SECONDS}"]
reader = "process"

[[benchmark.metric]]
name = "wall_time"
unit = "s"
"""


def project(folder: Path) -> Path:
    """Write the project into a folder, as workers have copies; return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "hati.toml").write_text(PROJECT, encoding="utf-8")
    return folder


def environment(folder: Path, name: str) -> dict[str, str]:
    """The environment of a machine of this name, with its own lock."""
    return {**os.environ, "HATI_MACHINE": name, "HATI_LOCK": str(folder / f"lock-{name}"), "HATI_STORE": ""}


@contextmanager
def worker(folder: Path, name: str, store: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker on a machine of this name."""
    process = subprocess.Popen(
        [HATI, "worker", str(project(folder / name)), "--store", store], env=environment(folder, name)
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def present(folder: Path, store: str) -> int:
    """The number of workers that have joined."""
    words = [HATI, "grid", "status", str(project(folder / "campaign")), "--store", store, "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return len(json.loads(done.stdout)["machines"]) if done.returncode == 0 else 0


def wait_for(workers: int, folder: Path, store: str) -> None:
    """Wait until the workers have joined."""
    deadline = time.monotonic() + 60
    while present(folder, store) < workers and time.monotonic() < deadline:
        time.sleep(0.1)  # there is no signal that a worker has joined
    if present(folder, store) < workers:
        raise RuntimeError(f"of {workers} workers not all have joined within 60 s")


def idle(folder: Path, store: str) -> float:
    """The fraction of a CPU that a worker without work takes."""
    with worker(folder, "machine", store) as process:
        wait_for(1, folder, store)
        before = psutil.Process(process.pid).cpu_times()
        time.sleep(IDLE_SECONDS)  # what is measured is that nothing happens
        after = psutil.Process(process.pid).cpu_times()
    return (after.user + after.system - before.user - before.system) / IDLE_SECONDS


def campaign(folder: Path, workers: int, store: str) -> float:
    """The seconds that a campaign's command takes, with workers that have joined before."""
    words = [
        HATI,
        "run",
        str(project(folder / "campaign")),
        "--budget",
        str(RUNS),
        "--engine",
        "workers",
        "--fresh",
        "--store",
        store,
    ]
    with ExitStack() as stack:
        for number in range(workers):
            stack.enter_context(worker(folder, f"machine-{number}", store))
        wait_for(workers, folder, store)
        began = time.perf_counter()
        done = subprocess.run(words, env=environment(folder, "campaign"), capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    return seconds


def trials(store: str | None) -> tuple[list[float], list[float]]:
    """The seconds with one worker and with two, interleaved."""
    one, two = list[float](), list[float]()
    for _ in range(TRIALS):
        for workers, found in ((1, one), (2, two)):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                found.append(campaign(folder, workers, store or str(folder / "store.sqlite")))
    return one, two


def result(*places: str) -> tuple[str, bool]:
    """A table of medians and ratios, with SQLite and with databases of PostgreSQL; whether the goal is reached."""
    rows, held = [], True
    for name, store in (("SQLite", None), *(("PostgreSQL", place) for place in places)):
        one, two = trials(store)
        ratios = [second / first for first, second in zip(one, two, strict=True)]
        each = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        medians = (statistics.median(one), statistics.median(two))
        with tempfile.TemporaryDirectory() as folder:
            taken = idle(Path(folder), store or f"{folder}/store.sqlite")
        rows.append(
            (name, *(f"{each:.1f}" for each in medians), f"{statistics.median(ratios):.2f}", each, f"{taken:.2%}")
        )
        held &= statistics.median(ratios) <= GOAL and taken <= IDLE_GOAL
    header = (
        "database",
        "one worker (s)",
        "two workers (s)",
        "ratio, median",
        "of each trial",
        "idle worker, of a CPU",
    )
    note = (
        f"{RUNS} runs of `sleep {SLEEP_SECONDS}` each, wall time of `hati run`; goal: {GOAL} of one worker's. "
        f"Idle: over {IDLE_SECONDS:.0f} s; goal: {IDLE_GOAL:.1%}."
    )
    return table("Sharing work", header, rows, note), held


if __name__ == "__main__":
    text, reached = result(*sys.argv[1:])
    print(text)
    sys.exit(not reached)
