"""``python -m benchmarks.steady``: the start of the steady state of runs, compared with the labels of another method.

The data are forks of JMH benchmarks (``jmh-forks`` in ``HATI_DATA``, else in ``../shared/data``), 3,000 iterations
each, with the labels of Traini et al. 2023 (start of the steady state, or never). The number of blocks, the one
constant that matters, was chosen on these data: so it is also chosen on a random half of the benchmarks and judged on
the other half, 20 times.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.harness import State, Steadiness, steadiness
from hati.stats.levels import BLOCKS

FOLDER = Path(os.environ.get("HATI_DATA", Path(__file__).parents[2] / "shared" / "data")) / "jmh-forks"
CANDIDATES = (40, 60, 80, 100, 120)
HALVES = 20
NEAR = 0.1
EQUAL = 0.01
GOAL = 0.9


@dataclass(frozen=True)
class Fork:
    """One fork's iterations, and the labelled start of its steady state; -1 for never."""

    values: FloatArray
    label: int


@dataclass(frozen=True)
class Rates:
    """Fractions: forks labelled steady with an agreeing start, and with the verdict steady; other forks with never."""

    agreed: float
    steady: float
    never: float


def read(number: int | None) -> list[list[Fork]]:
    """The forks of each benchmark, of the first ``number`` of them."""
    labels = json.loads((FOLDER / "labels.json").read_text())
    with np.load(FOLDER / "forks.npz") as data:
        return [
            [
                Fork(values, label)
                for values, label in zip(
                    data[name].astype(np.float64), labels[name]["steady_state_starts"], strict=True
                )
            ]
            for name in data.files[:number]
        ]


def agrees(fork: Fork, found: Steadiness) -> bool:
    """Whether the start is within a tenth of the run of the label's, or before it with the same mean within 1 %."""
    if found.start is None:
        return False
    if abs(found.start - fork.label) <= NEAR * len(fork.values):
        return True
    means = fork.values[found.start :].mean(), fork.values[fork.label :].mean()
    return found.start < fork.label and bool(abs(means[0] / means[1] - 1.0) <= EQUAL)


def rates(told: list[tuple[Fork, Steadiness]]) -> Rates:
    labelled = [(fork, found) for fork, found in told if fork.label >= 0]
    others = [found for fork, found in told if fork.label < 0]
    return Rates(
        _fraction([agrees(fork, found) for fork, found in labelled]),
        _fraction([found.state is State.STEADY for _, found in labelled]),
        _fraction([found.state is State.NEVER for found in others]),
    )


def _fraction(marks: list[bool]) -> float:
    """The fraction of marks that are set; nan without any."""
    return float(np.mean(marks)) if marks else math.nan


def by_halves(told: dict[int, list[list[tuple[Fork, Steadiness]]]]) -> list[float]:
    """The agreement on the half of the benchmarks on which the blocks were not chosen, for each of the splits."""
    rng = np.random.default_rng(2026)
    number = len(told[BLOCKS])
    found = []
    for _ in range(HALVES):
        order = rng.permutation(number)
        halves = order[: number // 2], order[number // 2 :]

        agreed = [
            [rates([each for place in half for each in told[blocks][place]]).agreed for half in halves]
            for blocks in CANDIDATES
        ]
        found.append(max(agreed, key=itemgetter(0))[1])
    return found


def seconds(size: int) -> float:
    values = np.exp(0.02 * np.random.default_rng(1).normal(size=size))
    start = time.perf_counter()
    steadiness(values)
    return time.perf_counter() - start


def result(number: int | None = None) -> tuple[str, bool]:
    """The table, and whether the goal is met; of all benchmarks, or the first ``number`` of them."""
    if not FOLDER.is_dir():
        return "## Steady state\n\nSkipped: set HATI_DATA to the folder with the measured data sets.\n", True
    benchmarks = read(number)
    told = {
        blocks: [[(fork, steadiness(fork.values, blocks=blocks)) for fork in forks] for forks in benchmarks]
        for blocks in CANDIDATES
    }
    measured = {blocks: rates([each for forks in told[blocks] for each in forks]) for blocks in CANDIDATES}
    rows = [
        [f"{blocks}{' (used)' if blocks == BLOCKS else ''}", *(f"{100 * share:.1f} %" for share in shares)]
        for blocks, one in measured.items()
        for shares in [(one.agreed, one.steady, one.never)]
    ]
    halves = by_halves(told)
    forks = [fork for each in benchmarks for fork in each]
    never = sum(fork.label < 0 for fork in forks)
    notes = [
        f"{len(benchmarks)} benchmarks, {len(forks)} forks, of which {never} are labelled never steady. Chosen on one "
        f"half of the benchmarks, the start agrees in {100 * float(np.mean(halves)):.1f} % of the other half "
        f"({100 * min(halves):.1f} to {100 * max(halves):.1f} % over {HALVES} splits, seed 2026).",
        f"One run of 3,000 observations takes {1000 * min(seconds(3_000) for _ in range(5)):.0f} ms, "
        f"one of 100,000 {seconds(100_000):.2f} s.",
        f"\n- {'met' if measured[BLOCKS].agreed >= GOAL else 'MISSED'}: the start agrees in 90 %",
    ]
    header = ["blocks", "labelled steady: start agrees", "labelled steady: steady", "labelled never: never"]
    return table("Steady state", header, rows, "\n".join(notes)), measured[BLOCKS].agreed >= GOAL


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
