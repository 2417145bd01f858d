"""What a screening found for a metric, as plain values."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, Metric
from hati.stats import Index

Options = tuple[str, ...]


class ChangeScale(StrEnum):
    """The scale on which changes are told: ratios, or differences as parts of the mean size."""

    LOG = "log"
    RAW = "raw"


class Findings(Struct, frozen=True, eq=False):
    """A screening's runs and what was found in them.

    ``values`` holds one value for each of the ``configurations``, in the order of the runs, in the metric's unit.
    ``important`` are the effects that are, by their options; ``offered`` all that may predict; ``relevant`` is the
    fraction below which a change does not matter. ``machines`` are those of the runs, from 0, ``blocks`` the
    repetitions on each of them, and ``order`` the places in time, None where that is not known. ``dominating`` is the
    option that explains most of the variance, if one does.
    """

    metric: Metric
    scale: ChangeScale
    configurations: tuple[Configuration, ...]
    values: FloatArray
    important: tuple[Options, ...]
    offered: tuple[Options, ...]
    relevant: float
    blocks: Index | None = None
    machines: Index | None = None
    order: FloatArray | None = None
    dominating: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.configurations) or not len(self.values):
            raise InputError(f"a prediction of {self.metric.name} needs one value for each of its runs")
        known = [each for each in (self.blocks, self.machines, self.order) if each is not None]
        if any(len(each) != len(self.values) for each in known):
            raise InputError("runs have one block, one machine and one place in time each")
        if self.scale is ChangeScale.LOG and np.min(self.values) <= 0.0:
            raise InputError(f"{self.metric.name} has values without a logarithm")

    @property
    def decided(self) -> FloatArray:
        """The values on the scale."""
        return np.log(self.values) if self.scale is ChangeScale.LOG else self.values

    @property
    def typical(self) -> float:
        """The mean size of a value in its unit."""
        return float(np.mean(np.abs(self.values)))

    @property
    def repetitions(self) -> Index:
        """The block of each run; where it is not known how often its configuration came before."""
        if self.blocks is not None:
            return self.blocks
        seen = Counter[Configuration]()
        found = []
        for configuration in self.configurations:
            found.append(seen[configuration])
            seen[configuration] += 1
        return np.array(found, dtype=np.intp)
