"""What a screening found for a metric, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hati.core import Configuration, FloatArray, InputError, Metric

Options = tuple[str, ...]


class ChangeScale(StrEnum):
    """The scale on which changes are told: ratios, or differences as parts of the mean size."""

    LOG = "log"
    RAW = "raw"


@dataclass(frozen=True, eq=False)
class Findings:
    """A screening's runs and what was found in them.

    ``values`` holds one value for each of the ``configurations``, in the order of the runs, in the metric's unit.
    ``important`` are the effects that are, by their options; ``offered`` all that may predict; ``relevant`` is the
    fraction below which a change does not matter.
    """

    metric: Metric
    scale: ChangeScale
    configurations: tuple[Configuration, ...]
    values: FloatArray
    important: tuple[Options, ...]
    offered: tuple[Options, ...]
    relevant: float

    def __post_init__(self) -> None:
        if len(self.values) != len(self.configurations) or not len(self.values):
            raise InputError(f"a prediction of {self.metric.name} needs one value for each of its runs")
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
