"""How often `hati probe --fit` names an injected disturbance first, and names none of them without one.

As root: `.venv/bin/python -m benchmarks.probe_fit [TRIALS]`. The measuring process is in a control group with the
largest weight, so that other load on the machine is not named; the injected process is in that group, too. Each trial
is a whole measurement of the fitness and takes about 12 s. The exit status is 1 if one of them is named first in
fewer than 18 of 20 trials, or any is named without one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hati.probing.kernel import entering, group_with

NEIGHBOUR = "while True: pass"
BURST = """
import time
at = time.monotonic()
while True:
    at += 0.1
    time.sleep(max(0.0, at - time.monotonic()))
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
"""
INJECTED = {
    "busy neighbour": (NEIGHBOUR, None),
    "timer burst": (BURST, None),
    "CPU quota": ("", 50.0),
    "none": ("", None),
}


NAMED = 18 / 20


def main() -> int:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    failed = False
    for name, (program, quota) in INJECTED.items():
        outcomes = Counter(first_named(program, quota) for _ in range(trials))
        print(f"{name}: {dict(outcomes)} of {trials}", flush=True)
        failed |= outcomes[name] < trials * (1.0 if name == "none" else NAMED)
    return int(failed)


def first_named(program: str, quota: float | None) -> str:
    """The disturbance that is named first; without an injected one, the first of the three, or ``none``."""
    with group_with(quota) as group, running(program, group), tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "hati",
            "probe",
            "fit",
            "--format",
            "json",
            "--store",
            f"{folder}/store.sqlite",
        ]
        done = subprocess.run([*entering(group), *command], capture_output=True, text=True, check=True)
        named = [each["kind"] for each in json.loads(done.stdout)["disturbances"]]
    if program or quota:
        return named[0] if named else "none"
    return next((kind for kind in named if kind in INJECTED), "none")


@contextmanager
def running(program: str, group: Path) -> Iterator[None]:
    """A program on the first CPU, in the group."""
    if not program:
        yield
        return
    cpu = min(os.sched_getaffinity(0))
    with subprocess.Popen([*entering(group), "taskset", "-c", str(cpu), sys.executable, "-c", program]) as process:
        try:
            yield
        finally:
            process.kill()


if __name__ == "__main__":
    sys.exit(main())
