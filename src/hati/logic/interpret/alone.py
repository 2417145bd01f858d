"""Runs beside an absolute limit, looked at after each: there is no second side in which skewness would cancel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.logic.interpret.judging import OneSided
from hati.stats import POWER, noncentrality_of_t, skewed_e_values

UNSEEN = 0.3
"""The share of runs that may be of a kind of their own, such as a second mode: so many that one of these is seen, but
with a probability of alpha, are made before the first look."""
_GRID = 128
_FARTHEST = 1e6
_REFINEMENTS = 2


@dataclass(frozen=True, eq=False)
class Alone:
    """Run means in their order, shape (runs,), and a limit; looks are taken from ``fewest`` runs on.

    What a run says of a bound is left - bound limit. With the truth on the bound the e-value of either side ever
    reaches 1 / alpha with a probability of at most alpha, where runs are normal or, at most, as skewed as exponential
    ones.
    """

    left: FloatArray
    limit: float
    fewest: int

    @property
    def size(self) -> int:
        """How many runs there are."""
        return len(self.left)

    def above(self, bound: float) -> float:
        """The p-value of left <= bound limit, of all looks together."""
        return self.at(self.size).above(bound)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound limit, of all looks together."""
        return self.at(self.size).below(bound)

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:  # noqa: ARG002  # of any bound it is the same
        """The ends of the confidence sequence after the last run."""
        return -self._half(-1, alpha), self._half(1, alpha)

    def detectable(self, bound: float, alpha: float) -> float:  # noqa: ARG002  # of any bound it is the same
        """At the last look alone, on the worse side."""
        half = max(self._half(direction, alpha) for direction in (1, -1))
        if not (math.isfinite(half) and self._error > 0.0):
            return half
        return noncentrality_of_t(half / self._error, self.size - 1.0, POWER) * self._error

    def at(self, size: int) -> OneSided:
        """The tests of all looks up to that many runs."""
        return _Look(self, size)

    def projected(self, size: int) -> OneSided:
        """What a look after so many runs would say, mean, deviation and farthest run being as they are."""
        return _Projected(self, size)

    def path(self, bound: float, direction: int) -> FloatArray:
        """The p-values up to each look: of a mean of at most the bound (1), or at least (-1)."""
        if (bound, direction) not in self._paths:
            values = direction * (self.left - bound * self.limit)
            e_values = skewed_e_values(*_summed(values))[self.fewest - 1 :]
            self._paths[bound, direction] = 1.0 / np.maximum.accumulate(np.maximum(e_values, 1.0))
        return self._paths[bound, direction]

    def e_value(self, bound: float, direction: int, size: int) -> float:
        """That of so many runs, if they were as these are."""
        values = direction * (self.left - bound * self.limit)
        sums, squares = size * values.mean(), size * np.mean(values**2)
        told = (np.array([each], dtype=np.float64) for each in (size, sums, squares, values.max()))
        return float(skewed_e_values(*told)[0])

    @cached_property
    def _paths(self) -> dict[tuple[float, int], FloatArray]:
        """By bound and direction, as far as they have been asked for."""
        return {}

    @cached_property
    def _error(self) -> float:
        return float(np.std(self.left, ddof=1)) / math.sqrt(self.size)

    def _half(self, direction: int, alpha: float) -> float:
        """How far from the mean the farthest mean is that is not refuted at alpha, below it (1) or above it (-1)."""
        deviations = direction * (self.left - self.left.mean())
        low, high = 0.0, _FARTHEST * (self._error or abs(float(self.left.mean())) or 1.0)
        places = np.geomspace(high / _FARTHEST**2, high, _GRID)
        for _ in range(1 + _REFINEMENTS):
            refuted = _refuted(deviations, places, alpha)
            if not refuted[-1]:
                return math.inf
            first = int(refuted.argmax())
            low, high = float(places[first - 1]) if first else low, float(places[first])
            places = np.linspace(low, high, _GRID)
        return high if self._error > 0.0 else 0.0


def _refuted(deviations: FloatArray, places: FloatArray, alpha: float) -> NDArray[np.bool_]:
    """Whether means so far below that of values with these deviations are refuted."""
    size = np.full(len(places), float(len(deviations)))
    square = float(np.mean(deviations**2))
    return skewed_e_values(size, size * places, size * (square + places**2), deviations.max() + places) >= 1.0 / alpha


def _summed(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sizes, sums, sums of squares and largest values after each value."""
    sizes = np.arange(1.0, len(values) + 1.0)
    return sizes, np.cumsum(values), np.cumsum(values**2), np.maximum.accumulate(values)


@dataclass(frozen=True)
class _Look:
    """After ``size`` runs."""

    runs: Alone
    size: int

    def above(self, bound: float) -> float:
        return self._p_value(bound, 1)

    def below(self, bound: float) -> float:
        return self._p_value(bound, -1)

    def _p_value(self, bound: float, direction: int) -> float:
        look = self.size - self.runs.fewest
        return float(self.runs.path(bound, direction)[look]) if look >= 0 else 1.0


@dataclass(frozen=True)
class _Projected:
    """What a look after ``size`` runs would say."""

    runs: Alone
    size: int

    def above(self, bound: float) -> float:
        return 1.0 / max(1.0, self.runs.e_value(bound, 1, self.size))

    def below(self, bound: float) -> float:
        return 1.0 / max(1.0, self.runs.e_value(bound, -1, self.size))
