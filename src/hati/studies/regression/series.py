"""A history of measured values, one for each position."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import Assignment, FloatArray, InputError, Metric
from hati.stats import FEWEST_VALUES, Dependence
from hati.studies.comparison import StatisticChoice

FEWEST_POSITIONS = 2
"""Of several runs each."""


class Series(Struct, frozen=True, eq=False):
    """The values of a metric in the order of their positions (revisions, builds, days).

    ``name`` is the benchmark's, empty where there is only one; ``positions`` and ``values`` have length n, as have
    ``machines`` (from which machine, or set of machines, each value is; counted from 0) and ``runs`` (of how many).
    ``errors`` are the standard errors of the values by their runs, in the metric's unit, from ``freedom`` degrees of
    freedom; both are empty and 0 where no position has several runs. ``dependence`` is how the noise is correlated:
    estimated, unless the order of measuring says. Where it is independent and there are errors, the runs of different
    positions were interleaved, and positions vary by nothing else. ``stratum`` has the options' settings that the
    values are of, empty where they are of all; ``benchmark`` is the benchmark's name where it is one of several.
    ``choice`` is of the statistic that stands for a run, None where runs have a single value; ``tails`` are there where
    it is not the mean and was not asked for.

    Raises:
        InputError: where there are too few positions to find a change.
    """

    name: str
    metric: Metric
    positions: tuple[str, ...]
    values: FloatArray
    machines: NDArray[np.intp]
    runs: NDArray[np.intp]
    dependence: Dependence = Dependence.ESTIMATED
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    freedom: float = 0.0
    stratum: Assignment = field(default_factory=Assignment)
    benchmark: str = ""
    choice: StatisticChoice | None = None
    tails: Tails | None = None

    def __post_init__(self) -> None:
        if not len(self.positions) == len(self.values) == len(self.machines) == len(self.runs):
            raise ValueError("positions, values, machines and runs differ in length")
        if len(self.errors) != (len(self) if self.freedom > 0 else 0):
            raise ValueError("errors are not one for each position")
        fewest = FEWEST_POSITIONS if self.freedom else FEWEST_VALUES
        if len(self) < fewest:
            series = f"the series {self.name!r}" if self.name else "the series"
            has = f"{len(self)} value{'s' if len(self) != 1 else ''}"
            fix = (
                "a change can be found from two positions on"
                if self.freedom
                else f"a change can be found from {FEWEST_VALUES} values on, one for each position, or from two "
                "positions of several runs each"
            )
            raise InputError(f"{series} has {has}", fix=fix)

    def __len__(self) -> int:
        return len(self.positions)


class Tails(Struct, frozen=True, eq=False):
    """The same runs by their mean, and by the mean relative to the statistic that stands for them."""

    mean: Series
    relative: Series
