"""A history of measured values, one for each position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, InputError, Metric
from hati.stats import FEWEST_VALUES, Dependence


@dataclass(frozen=True, eq=False)
class Series:
    """The values of a metric in the order of their positions (revisions, builds, days).

    ``name`` is the benchmark's, empty where there is only one; ``positions`` and ``values`` have length n, as have
    ``machines`` (from which machine, or set of machines, each value is; counted from 0) and ``runs`` (of how many).
    ``dependence`` is how the noise is correlated: estimated, unless the order of measuring tells.

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

    def __post_init__(self) -> None:
        if not len(self.positions) == len(self.values) == len(self.machines) == len(self.runs):
            raise ValueError("positions, values, machines and runs differ in length")
        if len(self) < FEWEST_VALUES:
            told = f"the series {self.name!r}" if self.name else "the series"
            fix = f"a change can be found from {FEWEST_VALUES} values on, one for each position"
            raise InputError(f"{told} has {len(self)} values", fix=fix)

    def __len__(self) -> int:
        return len(self.positions)
