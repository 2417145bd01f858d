"""How long the runs of a benchmark warm up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.harness import State, steadiness

_ENOUGH = 8
"""Runs that are long enough to tell."""
_MOSTLY = 0.9
"""The part of these that are steady, and the part of the steady ones that are so from the number of observations on."""
_LONGEST = 0.5
"""A warm-up of a larger part of the shortest run is not known to be over."""


class KnownWarmUp(Struct, frozen=True):
    """The first ``observations`` of a run are its warm-up: ``steady`` of ``runs`` runs are steady after them.

    Raises:
        InputError: for no observation.
    """

    observations: int
    steady: int
    runs: int

    def __post_init__(self) -> None:
        if self.observations < 1:
            raise InputError(f"a warm-up has one observation or more, not {self.observations}")


def warm_up_of(runs: Sequence[FloatArray]) -> KnownWarmUp | None:
    """The warm-up of nine in ten of the runs that are steady; None where there is none, or it is not known.

    Args:
        runs: all observations of each run in order, shape (n,) each.
    """
    found = [(steadiness(values), len(values)) for values in runs]
    judged = [(one, size) for one, size in found if one.state is not State.SHORT]
    starts = [one.start for one, _ in judged if one.start is not None]
    if len(judged) < _ENOUGH or len(starts) < _MOSTLY * len(judged):
        return None
    observations = int(np.quantile(starts, _MOSTLY, method="higher"))
    if not 0 < observations <= _LONGEST * min(size for _, size in judged):
        return None
    return KnownWarmUp(observations, sum(start <= observations for start in starts), len(judged))
