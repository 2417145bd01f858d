"""``python -m benchmarks.history_example``: how often ``hati assert`` is right about a small repository's commits.

``examples/history`` has a commit after which building documents takes about 30 % more instructions, one that makes
checking names twice as fast, one that only renames, and one that makes checking a sixth longer. Each try builds a new
repository and decides all four formulas about them, once by counted instructions, once by processor time. A try is
right if all four verdicts are, and in time if it took less than two minutes. The goal is for the counted ones: timed
ones need a machine that does little else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from examples.history.make_repository import make_repository

from benchmarks.markdown import table

HATI = str(Path(sys.executable).with_name("hati"))
COUNTED, TIMED = "counted.spl", "timed.spl"
TRIES = {COUNTED: 20, TIMED: 5}
FEWEST_RIGHT, LONGEST, BUDGET = 19, 120.0, "110s"
RIGHT = {
    "filter lists are faster": "VIOLATED",
    "profiling helped": "HOLDS",
    "tidying costs nothing": "HOLDS",
    "the standard's price": "HOLDS",
}


@dataclass(frozen=True)
class Try:
    """The verdicts by the formulas' names, the number of runs, and the seconds of the whole command."""

    verdicts: dict[str, str]
    runs: int
    seconds: float

    @property
    def right(self) -> bool:
        """Whether all verdicts are right, and in time."""
        return self.verdicts == RIGHT and self.seconds < LONGEST


def tried(formulas: str, seed: int) -> Try:
    """One try, in a repository of its own."""
    with tempfile.TemporaryDirectory(prefix="hati-history-") as folder:
        repository = Path(folder, "repository")
        make_repository(repository)
        words = ["assert", formulas, "--seed", str(seed), "--budget", BUDGET, "--fail-on", "none", "--format", "json"]
        began = time.perf_counter()
        done = subprocess.run([HATI, *words], cwd=repository, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - began
    told = json.loads(done.stdout)
    return Try({each["name"]: each["verdict"] for each in told["formulas"]}, told["runs"], seconds)


def row(formulas: str, tries: list[Try]) -> list[object]:
    seconds = [one.seconds for one in tries]
    correct = [f"{sum(one.verdicts[name] == verdict for one in tries)}" for name, verdict in RIGHT.items()]
    right = f"**{sum(one.right for one in tries)} of {len(tries)}**"
    return [
        formulas,
        right,
        *correct,
        median(one.runs for one in tries),
        f"{median(seconds):.0f}",
        f"{max(seconds):.0f}",
    ]


def result() -> tuple[str, bool]:
    found = {formulas: [tried(formulas, seed) for seed in range(1, number + 1)] for formulas, number in TRIES.items()}
    held = sum(one.right for one in found[COUNTED]) >= FEWEST_RIGHT
    header = ["formulas", "right in time", *RIGHT, "runs, median", "seconds, median", "seconds, most"]
    met = "met" if held else "MISSED"
    goal = f"Goal of {COUNTED}: right in >= {FEWEST_RIGHT} of {TRIES[COUNTED]} tries, each < {LONGEST:g} s: {met}."
    rows = [row(formulas, tries) for formulas, tries in found.items()]
    return table("Verdicts on the commits of examples/history", header, rows, goal), held


if __name__ == "__main__":
    text, ok = result()
    print(text)
    sys.exit(0 if ok else 1)
