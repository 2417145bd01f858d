"""``python -m benchmarks.parsing``: which document sizes interpretations distinguish by runs of an XML parser.

As in the SPL paper, section 6.1 and Fig. 6: a number of runs of one size and of the base, the largest size, are drawn,
and ``P(s) >= P(b)`` and ``P(s) <= P(b)`` are decided at alpha = 1 %. The runs are measured by Hati's Python binding:
each is a fresh interpreter that parses one document repeatedly with ``xml.etree``, whose parser is expat. They are in
``documents/runs.csv.gz`` (wall-clock and processor time in microseconds); ``--measure N`` measures N new rounds. A
round has a run of each size and more of the base, in random order.

Unlike in the paper, no run of the base is on both sides, or both on a side and in the history, so that a rejection at
the base is an error; a run has 50 observations after 10 of warm-up, or as many as 5 s allow, not 20,000 after 40,000;
and the sizes differ by up to half, not by a tenth, as runs vary more on a machine with other load.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import table
from benchmarks.sensitivity import Decide, by_default, by_nonparametric, by_parametric, by_welch, rejected, written
from hati.core import Configuration, FloatArray, Job, Outcome, Run, Task
from hati.engine import LocalEngine
from hati.logic.interpret import MeasuredSample, decide
from hati.python import Recording, python_benchmark
from hati.subject import machine

FOLDER = Path(__file__).with_name("documents")
FILE = FOLDER / "runs.csv.gz"
SIZES = (2_800, 3_400, 4_000, 4_600, 5_000, 5_300, 5_600)
BASE = SIZES[-1]
PAST = 13
"""Runs of the base in a round that serve as history."""
MOVED = 10
"""Runs of the base that were measured as history but are drawn like the others, so that the sides share no run."""
DRAWS = 100
INTERPRETATIONS: dict[str, tuple[Decide, tuple[int, ...]]] = {
    "Welch": (by_welch, (1, 2, 5)),
    "Definition 4.8": (by_parametric, (2, 5)),
    "Definition 4.10": (by_nonparametric, (1, 2, 5)),
    "default, no history": (by_default, (5,)),
    "default": (decide, (2, 5)),
}
"""Interpretations, each with the numbers of runs of a side."""
RECORDING = Recording(observations=50, seconds=5.0, warmup=10, metrics=("wall_time", "cpu_time"))


class Row(NamedTuple):
    """A run: its round, its number of elements, its kind, and its observations in microseconds."""

    round: int
    elements: int
    kind: str
    wall: tuple[int, ...]
    cpu: tuple[int, ...]


def measured(rounds: int) -> Iterator[Row]:
    """Rounds of runs, one after the other.

    Raises:
        RuntimeError: if a run fails.
    """
    benchmarks = {
        size: python_benchmark(
            "elements:parse",
            workload="elements:document",
            parameters=[size],
            root=FOLDER,
            recording=RECORDING,
            name=f"parse({size})",
        )
        for size in SIZES
    }
    rng = np.random.default_rng(2026)
    with LocalEngine(FOLDER, list(benchmarks.values()), machine()) as engine:
        for number in range(1, rounds + 1):
            made = [(size, "sample", 0) for size in SIZES] + [(BASE, "history", 1 + i) for i in range(PAST)]
            order = [made[place] for place in rng.permutation(len(made))]
            tasks = [
                Task(
                    "xml",
                    "sizes",
                    benchmarks[size].name,
                    Configuration(),
                    "here",
                    benchmarks[size].workload,
                    repetition,
                )
                for size, _, repetition in ((size, kind, number * (PAST + 1) + i) for size, kind, i in order)
            ]
            jobs = [Job(task, benchmarks[size], "here") for task, (size, _, _) in zip(tasks, order, strict=True)]
            for (size, kind, _), run in zip(order, engine.run(jobs), strict=True):
                yield _row(number, size, kind, run)


def _row(number: int, size: int, kind: str, run: Run) -> Row:
    if run.outcome is not Outcome.DONE:
        raise RuntimeError(f"a run failed: {run.detail}")
    read = {each.metric: tuple(round(1e6 * value) for value in each.steady) for each in run.observations}
    return Row(number, size, kind, read["wall_time"], read["cpu_time"])


def kept(file: Path = FILE) -> list[Row]:
    """The runs in a file."""
    with gzip.open(file, "rt", newline="") as lines:
        return [
            Row(int(row["round"]), int(row["elements"]), row["kind"], _numbers(row["wall"]), _numbers(row["cpu"]))
            for row in csv.DictReader(line for line in lines if not line.startswith("#"))
        ]


def keep(rows: list[Row], about: str, file: Path = FILE) -> None:
    """Write the runs, below a line about their origin; the same runs give the same file."""
    text = io.StringIO(newline="")
    text.write(f"# {about}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows((row.round, row.elements, row.kind, _text(row.wall), _text(row.cpu)) for row in rows)
    file.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def _text(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


def origin(file: Path = FILE) -> str:
    """The origin of the runs in a file."""
    with gzip.open(file, "rt") as lines:
        return lines.readline().removeprefix("# ").strip()


class Runs(NamedTuple):
    """The runs to draw from by size, and the history of the base; observations are in milliseconds."""

    drawn: dict[int, list[FloatArray]]
    history: tuple[FloatArray, ...]


def runs_of(rows: list[Row], clock: str) -> Runs:
    """The runs by the clock, ``wall`` or ``cpu``."""
    values = [(row.elements, row.kind, np.array(getattr(row, clock)) / 1e3) for row in rows]
    drawn = {size: [one for elements, kind, one in values if (elements, kind) == (size, "sample")] for size in SIZES}
    past = [one for _, kind, one in values if kind == "history"]
    drawn[BASE] += past[:MOVED]
    return Runs(drawn, tuple(past[MOVED:]))


def decided(runs: Runs, by: Decide, number: int, size: int, draws: int = DRAWS) -> list[tuple[bool, bool]]:
    """Whether ``>=`` and ``<=`` are rejected for a size against the base, in each draw of that number of runs."""
    rng = np.random.default_rng(2026)
    found = []
    for _ in range(draws):
        base = rng.permutation(len(runs.drawn[BASE]))
        own = base[number:] if size == BASE else rng.permutation(len(runs.drawn[size]))
        left, right = (
            MeasuredSample(tuple(runs.drawn[of][place] for place in places[:number]), runs.history)
            for of, places in ((size, own), (BASE, base))
        )
        found.append(rejected(by, left, right, rng))
    return found


def matrix(runs: Runs, draws: int) -> str:
    """The table of the SPL paper, Fig. 6."""
    rows = [
        [name, number, *(written(decided(runs, by, number, size, draws)) for size in SIZES)]
        for name, (by, numbers) in INTERPRETATIONS.items()
        for number in numbers
    ]
    note = f"{draws} draws each; the history is of {len(runs.history)} runs of {BASE:,} elements."
    head = ["interpretation", "runs", *(f"{size:,}" for size in SIZES)]
    return table("P(s) >= P(b) / P(s) <= P(b) is rejected, by elements; CPU time", head, rows, note)


def measurements(rows: list[Row]) -> str:
    """The means and deviations of the runs."""
    found = []
    for clock, title in (("cpu", "CPU time"), ("wall", "wall clock")):
        runs = runs_of(rows, clock)
        for size, sample in {**runs.drawn, 0: list(runs.history)}.items():
            means = np.array([one.mean() for one in sample])
            within = float(np.mean([one.std(ddof=1) / one.mean() for one in sample]))
            found.append(
                [
                    title,
                    f"{size:,}" if size else f"{BASE:,}, history",
                    len(sample),
                    f"{means.mean():.2f}",
                    f"{means.mean() / np.mean([one.mean() for one in runs.drawn[BASE]]) - 1.0:+.1%}",
                    f"{means.std(ddof=1) / means.mean():.1%}",
                    f"{within:.1%}",
                ]
            )
    head = ["clock", "elements", "runs", "mean, ms", "against the base", "deviation of run means", "within runs"]
    return table(f"Parsing documents with expat: {origin()}", head, found)


def result(draws: int = DRAWS) -> tuple[str, bool]:
    """The tables of the stored runs and of rejections; there are no goals."""
    rows = kept()
    return measurements(rows) + "\n" + matrix(runs_of(rows, "cpu"), draws), True


def main(words: list[str]) -> int:
    if words[:1] == ["--measure"]:
        rows: list[Row] = []
        for row in measured(int(words[1])):
            rows.append(row)
            keep(rows, f"Python {platform.python_version()}, {os.cpu_count()} cores, other work beside it")
        return 0
    print(result()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
