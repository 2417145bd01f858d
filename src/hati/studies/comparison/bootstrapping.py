"""Intervals of comparisons by the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import generator, replace
from hati.stats import bootstrap_interval
from hati.studies.comparison.conclusion import Comparison, Comparisons, IntervalMethod
from hati.studies.comparison.deciding import Compared
from hati.studies.comparison.decisions import on_scale, ratio_of
from hati.studies.comparison.matching import Pair
from hati.studies.comparison.question import Question

_FEW_RUNS = 10


def with_bootstrap_intervals(told: Comparisons, found: Sequence[Pair], question: Question, seed: int) -> Comparisons:
    """The same comparisons of those pairs, the intervals of their ratios by the bootstrap.

    Verdicts, p-values and what is derived from them stay: with few runs the bootstrap's intervals are too narrow.
    """
    rows = tuple(_row(row, pair, question, seed) for row, pair in zip(told.rows, found, strict=True))
    few = sum(min(row.before.runs, row.after.runs) < _FEW_RUNS for row in rows)
    warnings = told.warnings
    if few:
        warnings += (
            f"{few} of {len(rows)} comparisons have fewer than {_FEW_RUNS} runs of a side, with which bootstrap"
            " intervals are too narrow (at 99 %, those of 5 runs hold the truth in 97.5 %): make 10 runs, or use"
            " --interval t",
        )
    return replace(told, rows=rows, intervals=IntervalMethod.BOOTSTRAP, seed=seed, warnings=warnings)


def _row(row: Comparison, pair: Pair, question: Question, seed: int) -> Comparison:
    if row.change.interval is None:
        return row
    assert row.choice is not None
    compared = Compared.of(pair, row.choice)
    tail = compared.rest.tail if compared.rest is not None and row.change.of_tail else compared.own
    before, after, scale = on_scale(tail)
    rng = generator(seed, "bootstrap", *pair.before.identity)
    found = bootstrap_interval(before, after, 1.0 - question.alpha, rng)
    interval = None if found is None else (ratio_of(found[0], scale), ratio_of(found[1], scale))
    return replace(row, change=replace(row.change, interval=interval))
