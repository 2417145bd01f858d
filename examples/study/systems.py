"""The systems of the study: options with two settings each, and a table with the value of every configuration."""

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
"""The RES paper's names for its options, in the order of its Table 2."""


@dataclass(frozen=True)
class Source:
    """The files of a system's table and options; ``metric`` is the column that is studied, in ``unit``.

    ``origin`` is the origin of the table, unless a file next to it states it.
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

    In standard order bit i of a configuration's number is the setting of option i. Runs that are looked up in ``place``
    stay in its store, in memory.
    """

    source: Source
    place: Workplace
    logs: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the options."""
        return self.place.project.space.names

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark that the table represents."""
        return self.place.project.benchmarks[0]

    @property
    def metric(self) -> Metric:
        """The metric that is studied."""
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
        InputError: unless it has fourteen options of two settings, and values for all configurations.
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
