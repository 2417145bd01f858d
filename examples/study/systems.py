"""The systems of the study: a space of options with two settings each, and every configuration's value in a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from hati.core import Benchmark, FloatArray, InputError, Metric
from hati.design import levels
from hati.stats import Signs
from hati.wiring import TableRequest, Workplace, table_workplace

EXAMPLES = Path(__file__).resolve().parent.parent
LETTERS = "ABCDEFGHIJKLMN"
"""The seed's names for its options, in the order of its Table 2."""


@dataclass(frozen=True)
class Source:
    """Where a system's table and options are; ``metric`` is the column that is studied, in ``unit``.

    ``origin`` says where the table is from, unless a file beside it does.
    """

    name: str
    title: str
    table: Path
    space: Path
    metric: str
    unit: str
    origin: str = ""


TAO = Source(
    "tao",
    "TAO",
    EXAMPLES / "tao" / "measurements.csv.gz",
    EXAMPLES / "tao",
    "latency_us",
    "us",
    "The seed's own options on TAO 2.2.1, measured for this project (`examples/tao`)",
)
SQLITE = Source("sqlite", "SQLite", EXAMPLES / "study" / "sqlite.csv.gz", EXAMPLES / "sqlite", "latency", "s")


@dataclass(frozen=True, eq=False)
class System:
    """A system with its full data: ``logs`` are the logarithms of all configurations' values in standard order.

    In standard order bit i of a configuration's number is the setting of option i. What is looked up in ``place`` stays
    in its store, in memory.
    """

    source: Source
    place: Workplace
    logs: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The options."""
        return self.place.project.space.names

    @property
    def benchmark(self) -> Benchmark:
        """What the table stands for."""
        return self.place.project.benchmarks[0]

    @property
    def metric(self) -> Metric:
        """What is studied."""
        return self.benchmark.metric(self.source.metric)

    @cached_property
    def values(self) -> FloatArray:
        """All values, in the metric's unit."""
        return np.exp(self.logs)

    def of(self, signs: Signs) -> FloatArray:
        """The logarithms of some configurations' values, given as signs of shape (configurations, options)."""
        return self.logs[numbers(signs > 0)]


def system(source: Source) -> System:
    """Read a system.

    Raises:
        InputError: where it has not fourteen options of two settings, or a configuration is missing.
    """
    place = table_workplace(TableRequest(source.table, source.space, (source.metric,), unit=source.unit))
    assert place.table is not None
    space = place.project.space
    if len(space.options) != len(LETTERS) or any(len(option.settings) != 2 for option in space.options):
        raise InputError(f"{source.space} has not {len(LETTERS)} options with two settings each")
    logs = np.full(2 ** len(LETTERS), np.nan)
    logs[numbers(levels(place.table.configurations, space) > 0)] = np.log(place.table.means(source.metric))
    missing = int(np.isnan(logs).sum())
    if missing:
        raise InputError(f"{source.table} lacks {missing:,} of {len(logs):,} configurations", fix="measure them")
    return System(source, place, logs)


def numbers(second: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The numbers of configurations in standard order; ``second`` says where an option has its second setting."""
    return np.asarray(second @ (1 << np.arange(second.shape[1])), dtype=np.intp)
