"""What is measured in these tests, and how much."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import clocks as simulated
from clocks import Clocks

from hati.core import Run
from hati.python import Recording, recorder

LISTS = """
import gc
import sys
import hati


class Bag:
    def __init__(self, values):
        self.values = list(values)

    def contains(self, value):
        assert self.values
        return value in self.values

    def take(self):
        return self.values.pop()


@hati.spl("SELF[rand](100) <= 2 ms")
def sort(values):
    assert values != sorted(values), "sorted before"
    values.sort()


def nothing():
    pass


def squares(n):
    yield from (i * i for i in range(n))
    sys.stderr.write("used up\\n")


def large(n):
    return len(bytearray(n))


def collected():
    sys.stderr.write(f"collector {gc.isenabled()}\\n")


def get(n):
    print({"metric": "wall_time", "value": 1})
    return n
"""

WORK = """
import hati
from lists import Bag


@hati.workload
def rand(n, rng):
    return [rng.random() for _ in range(n)]


@hati.workload
def search(n, rng):
    while True:
        yield rng.randrange(n)


@hati.workload
def none():
    return ()


@hati.instance
def bag(size):
    return Bag(range(size))


@hati.instance(fresh="call")
def new_bag(n):
    return Bag([n])


@hati.measured
def building(spl, n):
    while spl.needs_more():
        values = list(range(n))
        with spl.measure():
            values.sort()


@hati.measured
def ended(spl):
    for _ in range(3):
        spl.needs_more()


def plain(n):
    return n
"""

QUICK = Recording(observations=5, seconds=0.05, warmup=2, overhead=0.05)

Measure = Callable[..., list[Run]]

BASE = getattr(sys, "_base_executable", sys.executable)
"""The interpreter below the tests' environment: it has no Hati."""

_QUICK = (
    *("roots=src:.", "observations=2", "seconds=0.02", "warmup=1"),
    *("overhead=0.1", "collector=on", "seed=1", "cpu=true"),
)


_SIMULATED = """
import time
import clocks
clocks.Simulation(clocks.{clocks}).install(time)
"""


def recorded(
    working: Path, tree: Path, *words: str, python: str = BASE, path: str = "", clocks: Clocks | None = None
) -> subprocess.CompletedProcess[str]:
    """What the recorder says when it runs in a tree, with workloads of a working tree.

    With simulated ``clocks`` time passes by what is slept, and by nothing else that is measured.
    """
    place = working / ".hati" / "work" / "task"
    place.mkdir(parents=True, exist_ok=True)
    (place / "recorder.py").write_text((_SIMULATED.format(clocks=clocks) if clocks else "") + recorder())
    (place / "clocks.py").write_text(Path(simulated.__file__).read_text())
    command = [python, "-S", "-E", str(place / "recorder.py"), f"working={place}/../../..", *_QUICK, *words]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHASHSEED"}}
    if path:
        environment["PYTHONPATH"] = path
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def values(done: subprocess.CompletedProcess[str], metric: str) -> list[float]:
    """The steady values of a metric that the recorder printed, or its only one."""
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    [line] = [line for line in lines if line["metric"] == metric and not line.get("warmup")]
    return list(line.get("values", [line.get("value")]))
