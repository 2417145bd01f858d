"""The SPL paper's Fig. 2 and Fig. 6, as ``python -m benchmarks.sensitivity`` and ``benchmarks.parsing`` draw them.

Thresholds: of Welch's test by the normal approximation, within the 99 % binomial bounds of the draws.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.documents.elements import parse, written
from benchmarks.parsing import BASE, DRAWS, SIZES, Row, Runs, decided, keep, kept, runs_of
from benchmarks.sensitivity import ALPHA, slowed
from benchmarks.sensitivity import DRAWS as CURVE_DRAWS
from scipy import stats

from hati.core import FloatArray
from hati.logic.interpret import AskedRelation, MeasuredSample, RelationEvidence, welch

pytestmark = pytest.mark.statistical

VARIATION = 0.1


@pytest.mark.parametrize(("size", "change"), [(1_000, 0.01), (10_000, 0.001), (10_000, 0.01), (100, 0.1)])
def test_a_slower_half_is_called_slower_as_often_as_its_iterations_tell(size: int, change: float) -> None:
    rng = np.random.default_rng(3)
    forks = np.exp(VARIATION * rng.standard_normal((10, 10_000)))
    slower, faster = np.sum(slowed(forks, size, change, CURVE_DRAWS, rng), axis=0)
    away = change / (VARIATION * math.sqrt(2.0 / size))
    low, high = stats.binom.ppf([0.005, 0.995], CURVE_DRAWS, stats.norm.sf(stats.norm.isf(ALPHA) - away))
    assert low <= slower <= high
    assert faster <= stats.binom.ppf(0.99, CURVE_DRAWS, ALPHA)


def test_no_run_is_on_both_sides_or_in_the_history() -> None:
    number = iter(range(1, 1_000))

    def runs(count: int) -> list[FloatArray]:
        return [np.array([float(next(number)), 0.0]) for _ in range(count)]

    made = Runs({size: runs(10 if size == BASE else 5) for size in SIZES}, tuple(runs(5)))

    def by(
        left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, _: np.random.Generator
    ) -> RelationEvidence:
        marks = [run[0] for run in (*left.runs, *right.runs, *right.history)]
        assert len(marks) == len(set(marks)) == 15
        return welch(left, right, relation)

    for size in SIZES:
        assert len(decided(made, by, 5, size)) == DRAWS


def test_runs_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = [Row(1, size, "sample", (1_500, 2_500), (1_000, 2_000)) for size in SIZES]
    rows += [Row(1, BASE, "history", (1, 2), (3, 4))] * 11
    file = tmp_path / "runs.csv.gz"
    keep(rows, "a test", file)
    before = file.read_bytes()
    assert kept(file) == rows
    keep(rows, "a test", file)
    assert file.read_bytes() == before
    runs = runs_of(rows, "cpu")
    assert [len(one) for one in runs.drawn.values()] == [1] * (len(SIZES) - 1) + [11]
    assert runs.drawn[SIZES[0]][0].tolist() == [1.0, 2.0]
    assert [one.tolist() for one in runs.history] == [[0.003, 0.004]]


def test_a_document_has_so_many_elements() -> None:
    for size in (1, 2, 3, 7, 8, 9, 10, *SIZES):
        assert sum(1 for _ in parse(written(size)).iter()) == size
    assert all(len(written(fewer)) < len(written(more)) for fewer, more in pairwise(SIZES))
