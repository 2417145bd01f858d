"""One side of a relation, as it was measured."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError


class Measured(Struct, frozen=True, eq=False, dict=True):
    """A two-level sample: the transformed observations of each run, shape (observations,), runs in order.

    ``history`` are earlier runs of the same method, or of one that behaves like it from run to run, transformed alike;
    a run of which only the mean is known is one of one observation. They tell how runs vary, and nothing of the mean:
    between them all they are of one level. ``offset`` is added to what is compared: it is known, and changes nothing of
    how runs vary.

    Raises:
        InputError: without runs, for a run without observations, and for values that are not finite.
    """

    runs: tuple[FloatArray, ...]
    history: tuple[FloatArray, ...] = ()
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError("a side of a relation has no runs", fix="measure it, or give it a sample")
        for run in (*self.runs, *self.history):
            if run.ndim != 1 or not len(run):
                raise InputError(f"a run is a sequence of observations, not an array of shape {run.shape}")
            if not np.isfinite(run).all():
                raise InputError("an observation is not finite", fix="see what its transformation makes of it")

    @cached_property
    def means(self) -> FloatArray:
        """What is compared of the runs, shape (runs,)."""
        return self.own_means + self.offset

    @cached_property
    def own_means(self) -> FloatArray:
        """Of the runs as they were measured, shape (runs,)."""
        return _means(self.runs)

    @cached_property
    def history_means(self) -> FloatArray:
        """Of the earlier runs, shape (history,)."""
        return _means(self.history)


def mean_of(values: FloatArray) -> float:
    """The mean; rounding does not carry it beyond the values, so that the mean of equal ones is their value."""
    return float(min(max(values.mean(), values.min()), values.max()))


def _means(runs: tuple[FloatArray, ...]) -> FloatArray:
    return np.array([mean_of(run) for run in runs], dtype=np.float64)
