"""``python -m benchmarks.sensitivity``: which changes interpretations distinguish on real forks of JMH benchmarks.

The data are forks of 60 benchmarks (``jmh-forks`` in ``HATI_DATA``, else in ``../shared/data``), the last 1,000
iterations of each. The curves are those of the SPL paper, section 4.1 and Fig. 2: Welch's test on iterations drawn with
replacement from the halves of all iterations of a benchmark, one half slowed down. The matrix is that of section 6.1
and Fig. 6, with slowed forks in place of larger inputs: disjoint sets of forks are drawn for the two sides, and ``>=``
and ``<=`` are decided at alpha = 1 %. The remaining forks are the history of Definition 4.10. ``--quick`` makes fewer
draws.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.formula import Comparator
from hati.logic.interpret import (
    AskedRelation,
    MeasuredSample,
    RelationEvidence,
    decide,
    nonparametric,
    parametric,
    welch,
)

FOLDER = Path(os.environ.get("HATI_DATA", Path(__file__).parents[2] / "shared" / "data")) / "jmh-forks"
LAST = 1_000
DRAWS, DRAWS_OF_ALL, OF_FORKS = 200, 5, 3
CHANGES = (0.0, 0.01, 0.02, 0.05, 0.1)
SIZES = (10, 100, 1_000, 10_000, 100_000)
EXAMPLES = (1 / 8, 3 / 8, 5 / 8, 7 / 8)
ALPHA = 0.01
AT_MOST = AskedRelation(Comparator.AT_MOST, alpha=ALPHA)

Decide = Callable[[MeasuredSample, MeasuredSample, AskedRelation, np.random.Generator], RelationEvidence]


def by_welch(
    left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, _: np.random.Generator
) -> RelationEvidence:
    return welch(left, right, relation)


def by_parametric(
    left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, _: np.random.Generator
) -> RelationEvidence:
    return parametric(left, right, relation)


def by_nonparametric(
    left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, rng: np.random.Generator
) -> RelationEvidence:
    return nonparametric(left, right, relation, rng, 1_000)


def by_default(
    left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, rng: np.random.Generator
) -> RelationEvidence:
    return decide(MeasuredSample(left.runs), MeasuredSample(right.runs), relation, rng)


INTERPRETATIONS: dict[str, tuple[Decide, tuple[int, ...]]] = {
    "Welch": (by_welch, (1, 2, 5)),
    "Definition 4.8": (by_parametric, (2, 3, 5)),
    "Definition 4.10, the other forks": (by_nonparametric, (1, 2)),
    "default": (by_default, (5,)),
}
"""Interpretations, each with the numbers of forks of a side."""


def load() -> dict[str, FloatArray]:
    """The forks of each benchmark, shape (10, 1000)."""
    with np.load(FOLDER / "forks.npz") as data:
        return {name: data[name][:, -LAST:].astype(np.float64) for name in data.files}


def rejected(
    by: Decide, left: MeasuredSample, right: MeasuredSample, rng: np.random.Generator, alpha: float = ALPHA
) -> tuple[bool, bool]:
    """Whether ``left >= right`` is rejected, and ``left <= right``."""
    found = by(left, right, AT_MOST, rng)
    return found.p_holds <= alpha, found.p_violated <= alpha


def written(found: Sequence[tuple[bool, bool]]) -> str:
    """The percentages of rejections of each, as text."""
    return " / ".join(f"{share:.0%}" for share in np.mean(found, axis=0))


def of_forks(forks: FloatArray, by: Decide, runs: int, change: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """The rejections for disjoint sets of forks, the left ones slowed down."""
    order = rng.permutation(len(forks))
    history = tuple(forks[order[2 * runs :]])
    left = MeasuredSample(tuple(forks[order[:runs]] * (1.0 + change)), tuple((1.0 + change) * run for run in history))
    return rejected(by, left, MeasuredSample(tuple(forks[order[runs : 2 * runs]]), history), rng)


def matrix(benchmarks: list[FloatArray], draws: int = OF_FORKS) -> str:
    """The SPL paper, Fig. 6: how often ``>=`` and ``<=`` are rejected."""
    rows = []
    for name, (by, sizes) in INTERPRETATIONS.items():
        for runs in sizes:
            cells = []
            for change in CHANGES:
                rng = np.random.default_rng(2026)
                cells.append(
                    written([of_forks(forks, by, runs, change, rng) for forks in benchmarks for _ in range(draws)])
                )
            rows.append([name, runs, *cells])
    note = f"{len(benchmarks)} benchmarks, {draws} draws each."
    head = ["interpretation", "forks of a side", *(f"{change:+.0%}" for change in CHANGES)]
    return table("left >= right / left <= right is rejected, by how much slower left is", head, rows, note)


def variation(forks: FloatArray) -> float:
    """The coefficient of variation of all iterations."""
    return float(forks.std() / forks.mean())


def examples(benchmarks: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Four benchmarks: those in the middle of the quarters by how much their iterations vary."""
    ordered = sorted(benchmarks, key=lambda name: variation(benchmarks[name]))
    return {name: benchmarks[name] for name in (ordered[int(place * len(ordered))] for place in EXAMPLES)}


def slowed(
    forks: FloatArray, size: int, change: float, draws: int, rng: np.random.Generator
) -> list[tuple[bool, bool]]:
    """The SPL paper, section 4.1, steps 1 to 4: whether the slower half is called slower, and whether faster."""
    found = []
    for _ in range(draws):
        first, second = (rng.choice(half, size) for half in np.array_split(rng.permutation(forks.ravel()), 2))
        faster, slower = rejected(by_welch, MeasuredSample((second * (1.0 + change),)), MeasuredSample((first,)), rng)
        found.append((slower, faster))
    return found


def curves(benchmarks: dict[str, FloatArray], draws: int = DRAWS, of_all: int = DRAWS_OF_ALL) -> str:
    """The SPL paper, Fig. 2, with its changes beside that of 1 %, of which it gives no curves."""
    four = examples(benchmarks)
    rows = []
    for change in (0.001, 0.01, 0.1):
        for size in SIZES:
            cells = [written(slowed(one, size, change, draws, np.random.default_rng(2026))) for one in four.values()]
            rng = np.random.default_rng(2026)
            every = [each for one in benchmarks.values() for each in slowed(one, size, change, of_all, rng)]
            rows.append([f"{change:+.1%}", f"{size:,}", *cells, written(every)])
    heads = [f"{place} ({100.0 * variation(one):.1f} %)" for place, one in zip("ABCD", four.values(), strict=True)]
    names = "; ".join(f"{place} is {name}" for place, name in zip("ABCD", four, strict=True))
    note = (
        f"{draws} draws of each of four benchmarks, {of_all} of all {len(benchmarks)}; in brackets the coefficient of "
        f"variation of the iterations. {names}."
    )
    head = ["change", "iterations of a side", *heads, "all"]
    return table(
        "The slower side is called slower / faster by Welch's test, iterations of all forks mixed", head, rows, note
    )


def result(
    draws: int = DRAWS, of_all: int = DRAWS_OF_ALL, of_forks: int = OF_FORKS, number: int | None = None
) -> tuple[str, bool]:
    """Both tables, of all benchmarks or the first ``number`` of them; there are no goals."""
    if not FOLDER.is_dir():
        return "## Sensitivity\n\nSkipped: set HATI_DATA to the folder with the measured data sets.\n", True
    benchmarks = dict(islice(load().items(), number))
    return curves(benchmarks, draws, of_all) + "\n" + matrix(list(benchmarks.values()), of_forks), True


def main() -> int:
    print(result(*((20, 1, 1) if "--quick" in sys.argv[1:] else ()))[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
