"""What a gate measures, and the differences of each round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hati.core import (
    Assignment,
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Outcome,
    Run,
    Task,
    conversion,
)
from hati.studies.comparison import Statistic
from hati.studies.paired.judging import PairValues


class Cell(Struct, frozen=True, dict=True):
    """A benchmark at a configuration: ``stratum`` has the important options' settings, ``weight`` is its share.

    Raises:
        InputError: for a weight that is not above zero.
    """

    benchmark: Benchmark
    configuration: Configuration
    stratum: Assignment = field(default_factory=Assignment)
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.weight > 0.0:
            raise InputError(f"a configuration stands for a share above 0, not {self.weight:g}")

    @cached_property
    def key(self) -> tuple[str, str]:
        """What its tasks have in common."""
        return self.benchmark.name, self.configuration.key

    def has(self, task: Task) -> bool:
        """Whether it is a task of this cell."""
        return self.key == (task.benchmark, task.configuration.key)


class Group(Struct, frozen=True):
    """What a question is about: a metric over some of the cells, by their positions.

    ``stratum`` is None where it is about all of a benchmark's.
    """

    benchmark: Benchmark
    metric: Metric
    stratum: Assignment | None
    cells: tuple[int, ...]

    def weights(self, cells: Sequence[Cell]) -> FloatArray:
        """The shares of its cells, shape (cells,), summing up to one."""
        raw = np.array([cells[position].weight for position in self.cells])
        return np.asarray(raw / raw.sum(), dtype=np.float64)


def groups(cells: Sequence[Cell]) -> tuple[Group, ...]:
    """Of every benchmark and metric the whole, and each stratum where there are several."""
    return tuple(_groups(cells))


def _groups(cells: Sequence[Cell]) -> Iterator[Group]:
    for benchmark in {cell.benchmark.name: cell.benchmark for cell in cells}.values():
        own = [position for position, cell in enumerate(cells) if cell.benchmark.name == benchmark.name]
        strata = dict.fromkeys(cells[position].stratum for position in own)
        for metric in benchmark.metrics:
            yield Group(benchmark, metric, None, tuple(own))
            if len(strata) > 1:
                for stratum in strata:
                    yield Group(benchmark, metric, stratum, tuple(p for p in own if cells[p].stratum == stratum))


HOPELESS = 3
"""The number of failed runs of a side, with none that worked, that ends the measuring of a cell."""


class Stage(StrEnum):
    """What a round is for; each stage counts its rounds from 0."""

    EXPLORING = "explore"
    CONFIRMING = "confirm"

    def side(self, side: int) -> str:
        """The stage of a task of the reference, 0, or of the revision, 1."""
        return f"{self.value} {('before', 'after')[side]}"


class RunPair(NamedTuple):
    """Both runs of a cell in a round; None where one is not there or failed."""

    before: Run | None
    after: Run | None


Pairs = dict[tuple[int, int], RunPair]
"""By round and position of the cell."""


def pairs_of(evidence: Evidence, cells: Sequence[Cell], stage: Stage) -> Pairs:
    """The pairs of a stage that have a run on any side.

    A pair is a block: one whose runs are of two machines, or of two states of one, is left out.
    """
    positions = {cell.key: position for position, cell in enumerate(cells)}
    sides = {stage.side(0): 0, stage.side(1): 1}
    found: dict[tuple[int, int], list[Run | None]] = defaultdict(lambda: [None, None])
    for run in evidence.done:
        task = run.task
        if task.stage in sides:
            place = task.repetition, positions[task.benchmark, task.configuration.key]
            found[place][sides[task.stage]] = run
    return {place: RunPair(*both) for place, both in found.items() if len({run.machine for run in both if run}) == 1}


def hopeless(evidence: Evidence, cells: Sequence[Cell]) -> frozenset[int]:
    """The positions of cells of which a side does not work, or cannot be built."""
    made: dict[tuple[tuple[str, str], str], list[Outcome]] = defaultdict(list)
    for run in evidence.runs:
        side = run.task.stage.rpartition(" ")[2]
        made[(run.task.benchmark, run.task.configuration.key), side].append(run.outcome)
    given_up = {
        key
        for (key, _), outcomes in made.items()
        if Outcome.DONE not in outcomes and (Outcome.NOT_BUILT in outcomes or len(outcomes) >= HOPELESS)
    }
    return frozenset(position for position, cell in enumerate(cells) if cell.key in given_up)


class Differences(Struct, frozen=True, eq=False):
    """Of a metric, what each round says: ``values`` has shape (rounds, cells), NaN where a cell has no pair.

    They are differences of logarithms, or where a value is not above zero fractions of the cell's first mean.
    ``before`` and ``after`` are the values themselves, in the metric's unit, in the same shape.
    """

    values: FloatArray
    before: FloatArray
    after: FloatArray
    raw: bool

    def series(self, group: Group, cells: Sequence[Cell]) -> FloatArray:
        """The weighted mean over a group's cells of each round that has them all, shape (rounds,).

        Cells without any pair are left out.
        """
        columns, weights = self._working(group, cells)
        if not columns:
            return np.empty(0)
        chosen = self.values[:, columns]
        whole = ~np.isnan(chosen).any(axis=1)
        return np.asarray(chosen[whole] @ weights, dtype=np.float64)

    def means(self, group: Group, cells: Sequence[Cell]) -> tuple[float, float]:
        """The weighted means of both sides."""
        columns, weights = self._working(group, cells)
        before, after = (float(np.nanmean(side[:, columns], axis=0) @ weights) for side in (self.before, self.after))
        return before, after

    def _working(self, group: Group, cells: Sequence[Cell]) -> tuple[list[int], FloatArray]:
        there = np.asarray(~np.isnan(self.values).all(axis=0), dtype=np.bool_)
        kept = [
            (place, weight) for place, weight in zip(group.cells, group.weights(cells), strict=True) if there[place]
        ]
        weights = np.array([weight for _, weight in kept])
        return [place for place, _ in kept], weights / weights.sum() if kept else weights


def differences(
    pairs: Pairs, cells: Sequence[Cell], metric: Metric, statistic: Statistic, warm_up: int = 0
) -> Differences:
    """The differences of each pair in which both runs have the metric.

    Of each run the first ``warm_up`` observations are left out, or more where more are marked, but for those no more
    than half of them.
    """
    rounds = 1 + max((number for number, _ in pairs), default=-1)
    sides = np.full((2, rounds, len(cells)), np.nan)
    for (number, position), pair in pairs.items():
        if pair.before is None or pair.after is None:
            continue
        both = [_value(run, metric, statistic, warm_up) for run in pair]
        if None not in both:
            sides[:, number, position] = both
    found = np.full((rounds, len(cells)), np.nan)
    raw = False
    for position in range(len(cells)):
        there = np.logical_not(np.isnan(sides[0, :, position]))
        if there.any():
            values = PairValues(sides[0, there, position], sides[1, there, position])
            found[there, position] = values.differences
            raw = raw or values.scale is not None
    return Differences(found, sides[0], sides[1], raw)


def _value(run: Run | None, metric: Metric, statistic: Statistic, warm_up: int) -> float | None:
    observed = run.of(metric.name) if run is not None else None
    if observed is None:
        return None
    start = max(observed.warmup, min(warm_up, len(observed.values) // 2))
    return statistic.of(observed.values[start:]) * conversion(observed.unit, metric.unit)
