"""What a gate measures: configurations of benchmarks, and the strata that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from hati.core import Assignment, Benchmark, Configuration, FloatArray, InputError, Metric, Task


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
