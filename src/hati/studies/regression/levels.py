"""The levels of a series, and what was assumed to find them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats import Alternation
from hati.stats.least_squares import Index

Interval = tuple[float, float]


class Step(Struct, frozen=True):
    """A change of level at the index of the first value on the new one; intervals are of 95 %.

    ``interval`` is of ``after`` less ``before``, in the metric's unit.
    """

    index: int
    indexes: tuple[int, int]
    before: float
    after: float
    interval: Interval
    p_value: float


class Levels(Struct, frozen=True, eq=False):
    """The steps around a line of that slope (0: levels only).

    ``straight`` are the values without the line, ``strata`` the machine and segment of each, counted from 0, ``phi``
    the noise's first autocorrelation, ``persistence`` that of the autoregression with the same long-run variance.
    ``detectable`` is the step in the middle that is found with 80 % power, in the metric's unit, None where none is.
    ``alternation`` is of levels that recur and are no change, ``assumptions`` what could not be estimated. ``errors``
    are the standard errors of the values about their levels, shape (n,), from ``freedom`` degrees of freedom, infinite
    where a value was not compared; they are empty where the noise was estimated over time.
    """

    steps: tuple[Step, ...]
    slope: float
    straight: FloatArray
    strata: Index
    phi: float
    persistence: float
    detectable: float | None
    alternation: Alternation | None = None
    assumptions: tuple[str, ...] = ()
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    freedom: float = 0.0

    @property
    def residuals(self) -> FloatArray:
        """What is left without levels and line."""
        return self.residuals_without(np.zeros(len(self.straight), dtype=np.bool_))

    def residuals_without(self, left_out: NDArray[np.bool_]) -> FloatArray:
        """The same, levels being means of other values than these; of these alone where a level has no others."""
        kept = ~left_out | ~np.isin(self.strata, self.strata[~left_out])
        counts = np.bincount(self.strata, kept)
        means = np.bincount(self.strata, self.straight * kept) / np.maximum(counts, 1.0)
        return np.asarray(self.straight - means[self.strata])

    @property
    def places(self) -> tuple[int, ...]:
        """The indexes of the steps."""
        return tuple(step.index for step in self.steps)


def segment_strata(machines: Index, places: tuple[int, ...]) -> Index:
    """The machine and segment of each value as one number from 0."""
    segments = np.searchsorted(np.array(places, dtype=np.intp), np.arange(len(machines)), side="right")
    codes = np.unique(segments * (int(machines.max()) + 1) + machines, return_inverse=True)[1]
    return np.asarray(codes, dtype=np.intp)
