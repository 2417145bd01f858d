"""``python -m benchmarks.sensitivity``: what interpretations tell apart on real forks of JMH benchmarks.

Forks of 60 benchmarks (``jmh-forks`` in ``HATI_DATA``, else in ``../shared/data``), of each fork the last 1,000
iterations. As seed 004, section 6.1: so many forks are drawn for either side, none for both, the iterations of the
left side are scaled, and both ``>=`` and ``<=`` are decided at alpha = 1 %. The forks that are left are the history of
Definition 4.10. And as section 4.1: Welch's test on iterations drawn from the halves of all iterations.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.logic.interpret import Evidence, Measured, Relation, Sign, decide, nonparametric, parametric, welch

FOLDER = Path(os.environ.get("HATI_DATA", Path(__file__).parents[2] / "shared" / "data")) / "jmh-forks"
LAST = 1_000
DRAWS = 5
CHANGES = (0.0, 0.01, 0.02, 0.05, 0.1)
ALPHA = 0.01
AT_MOST = Relation(Sign.AT_MOST, alpha=ALPHA)

Decide = Callable[[Measured, Measured, Relation, np.random.Generator], Evidence]

INTERPRETATIONS: dict[str, tuple[Decide, tuple[int, ...]]] = {
    "Welch": (lambda left, right, relation, _: welch(left, right, relation), (1, 2, 5)),
    "Definition 4.8": (lambda left, right, relation, _: parametric(left, right, relation), (2, 3, 5)),
    "Definition 4.10": (lambda left, right, relation, rng: nonparametric(left, right, relation, rng, 1_000), (1, 2)),
    "default": (decide, (5,)),
}


def load() -> list[FloatArray]:
    """Of each benchmark its forks, shape (10, 1000)."""
    with np.load(FOLDER / "forks.npz") as data:
        return [data[name][:, -LAST:].astype(np.float64) for name in data.files]


def rejected(forks: FloatArray, by: Decide, runs: int, change: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether it is that the left side is at least, and at most, as large as the right one."""
    order = rng.permutation(len(forks))
    history = tuple(forks[order[2 * runs :]])
    left = Measured(tuple(forks[order[:runs]] * (1.0 + change)), tuple((1.0 + change) * run for run in history))
    right = Measured(tuple(forks[order[runs : 2 * runs]]), history)
    found = by(left, right, AT_MOST, rng)
    return found.p_holds <= ALPHA, found.p_violated <= ALPHA


def matrix(benchmarks: list[FloatArray]) -> str:
    """Seed 004, Fig. 6: how often ``>=`` and ``<=`` are rejected."""
    rows = []
    for name, (by, sizes) in INTERPRETATIONS.items():
        for runs in sizes:
            cells = []
            for change in CHANGES:
                rng = np.random.default_rng(2026)
                found = [rejected(forks, by, runs, change, rng) for forks in benchmarks for _ in range(DRAWS)]
                cells.append(" / ".join(f"{share:.1%}" for share in np.mean(found, axis=0)))
            rows.append([name, runs, *cells])
    note = f"{len(benchmarks)} benchmarks, {DRAWS} draws each."
    head = ["interpretation", "forks of a side", *(f"{change:+.0%}" for change in CHANGES)]
    return table("left >= right / left <= right is rejected, by how much slower left is", head, rows, note)


def curves(benchmarks: list[FloatArray], change: float = 0.01) -> str:
    """Seed 004, Fig. 2: what Welch's test says of a change, by the number of iterations."""
    rows = []
    for size in (10, 100, 1_000, 10_000, 100_000):
        rng = np.random.default_rng(2026)
        rightly = wrongly = 0
        for forks in benchmarks:
            every = rng.permutation(forks.ravel())
            for _ in range(DRAWS):
                first, second = (rng.choice(half, size) for half in np.array_split(every, 2))
                right, left = Measured((first,)), Measured((second * (1.0 + change),))
                found = welch(left, right, AT_MOST)
                rightly += found.p_violated <= ALPHA
                wrongly += found.p_holds <= ALPHA
        trials = len(benchmarks) * DRAWS
        rows.append([f"{size:,}", f"{rightly / trials:.1%}", f"{wrongly / trials:.1%}"])
    head = ["iterations", "found", "the other way round"]
    return table(f"A change of {change:+.0%} by Welch's test, iterations of all forks mixed", head, rows)


def result() -> tuple[str, bool]:
    """Both tables; nothing is promised."""
    benchmarks = load()
    return matrix(benchmarks) + "\n" + curves(benchmarks), True


def main() -> int:
    print(result()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
