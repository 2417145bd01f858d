"""The memory and time that an import of a large file takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.markdown import table

MEGABYTES = 200
MOST_MEMORY = 500
HATI = str(Path(sys.executable).with_name("hati"))


def numbers(rng: np.random.Generator, count: int) -> str:
    return json.dumps(rng.lognormal(-6, 0.1, count).tolist())


def own(rng: np.random.Generator) -> Iterator[str]:
    """Samples of ten runs of a thousand observations."""
    yield '{"format": "hati-samples-1", "samples": ['
    number = 0
    while True:
        runs = ", ".join(f'{{"observations": {numbers(rng, 1000)}}}' for _ in range(10))
        sample = f'{{"benchmark": "b{number}", "metric": "t", "unit": "s", "runs": [{runs}]}}'
        yield f"{', ' if number else ''}{sample}"
        number += 1


def one_run(rng: np.random.Generator) -> Iterator[str]:
    """A single run of millions of observations."""
    yield '{"format": "hati-samples-1", "samples": ['
    yield '{"benchmark": "b", "metric": "t", "unit": "s", "runs": [{"observations": [1.5'
    while True:
        yield f", {numbers(rng, 10_000)[1:-1]}"


def rounds(rng: np.random.Generator) -> Iterator[str]:
    """Tests of pytest-benchmark of a hundred thousand rounds."""
    yield '{"machine_info": {}, "benchmarks": ['
    number = 0
    while True:
        yield f'{", " if number else ""}{{"fullname": "t{number}", "stats": {{"data": {numbers(rng, 100_000)}}}}}'
        number += 1


def rows(rng: np.random.Generator) -> Iterator[str]:
    """A table of runs of a thousand rows."""
    yield "benchmark,run,value\n"
    number = 0
    while True:
        yield "".join(f"b{number // 100},{number},{value!r}\n" for value in rng.lognormal(-6, 0.1, 1000).tolist())
        number += 1


KINDS: dict[str, tuple[Callable[[np.random.Generator], Iterator[str]], str]] = {
    "hati-samples-1, 1,000 observations a run": (own, "]}"),
    "hati-samples-1, a single run": (one_run, "]}]}]}"),
    "pytest-benchmark, 100,000 rounds a test": (rounds, "]}"),
    "CSV, 1,000 rows a run": (rows, ""),
}


def peak_and_seconds(kind: str, folder: Path, megabytes: float) -> tuple[float, float]:
    pieces, end = KINDS[kind]
    path, size = folder / "large", 0
    with path.open("w") as file:
        for piece in pieces(np.random.default_rng(1)):
            size += file.write(piece)
            if size >= megabytes * 1e6:
                break
        file.write(end)
    process = subprocess.Popen([HATI, "import", str(path), "--output", str(folder / "out")], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, kind
    return used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime


def result(megabytes: float = MEGABYTES) -> tuple[str, bool]:
    measured = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            measured[kind] = peak_and_seconds(kind, Path(name), megabytes)
    held = max(memory for memory, _ in measured.values()) <= MOST_MEMORY
    lines = [[kind, f"{memory:.0f}", f"{seconds:.1f}"] for kind, (memory, seconds) in measured.items()]
    goal = f"Goal: <= {MOST_MEMORY} MB resident: {'met' if held else 'MISSED'}."
    return table(f"Importing a file of {megabytes:g} MB", ["file", "peak MB", "CPU s"], lines, goal), held


if __name__ == "__main__":
    print(result()[0])
