"""Many looks at runs, and runs compared with an absolute limit: no second side cancels skewness."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.logic.interpret.contrast import OneSided, difference, differences, unseen
from hati.logic.interpret.relation import Bounds
from hati.stats import (
    POWER,
    fewest_runs,
    noncentrality_of_t,
    normal_quantile,
    normal_quantiles,
    skewed_e_value,
    skewed_e_values,
)


class Path(Protocol):
    """The p-values of looks from ``fewest`` runs on."""

    @property
    def fewest(self) -> int:
        """Runs of a side before the first look."""
        ...

    def path(self, bound: float, direction: int) -> FloatArray:
        """Up to each look, shape (looks,): of a left mean of at most bound right (1), or of at least (-1)."""
        ...


class Look(Struct, frozen=True):
    """After ``size`` runs of a side: the p-values of all looks up to it together, 1 before the first."""

    runs: Path
    size: int

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right."""
        return self._p_value(bound, 1)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right."""
        return self._p_value(bound, -1)

    def _p_value(self, bound: float, direction: int) -> float:
        look = self.size - self.runs.fewest
        return float(self.runs.path(bound, direction)[look]) if look >= 0 else 1.0


_HALVINGS = 24
_MOST_TYPICAL = 100
_POWER = 0.85
"""Of the mean and deviation alone: with what the largest run adds it makes 80 %, by simulation."""
_FARTHEST = 1e9


class Alone(Struct, frozen=True, eq=False, dict=True):
    """Run means in their order, shape (runs,), and a limit; looks are taken from ``fewest`` runs on.

    What a run says of a bound is left - bound limit. With the truth on the bound the e-value of either side ever
    reaches 1 / alpha with a probability of at most alpha, where runs are normal, as skewed as exponential ones, or half
    as skewed. No p-value is less than ``unseen``.
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
        """The ends of the confidence sequence after the last run; infinite before the first look that can decide."""
        return -self._half(-1, alpha), self._half(1, alpha)

    def detectable(self, bound: float, alpha: float) -> float:  # noqa: ARG002  # of any bound it is the same
        """At the last look alone, on the worse side."""
        half = max(self._half(direction, alpha) for direction in (1, -1))
        if not (math.isfinite(half) and self._error > 0.0):
            return half
        return noncentrality_of_t(half / self._error, self.size - 1.0, POWER) * self._error

    def at(self, size: int) -> OneSided:
        """The tests of all looks up to that many runs."""
        return Look(self, size)

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """The number of runs that decide with 80 % power, if they are normal with the mean and deviation of these.

        Their mean is then as near to the bound as it is in one case of five; between two bounds, in one of ten to each.
        """
        ends = [bound for bound in (bounds.low, bounds.high) if bound is not None]
        mean, deviation = float(self.left.mean()), self._error * math.sqrt(self.size)

        def shows(size: int, bound: float, direction: int, level: float, power: float) -> bool:
            if unseen(size) > level:
                return False
            beyond = direction * difference(mean, bound * self.limit)
            error = deviation / math.sqrt(size)
            spread = math.sqrt(1.0 + (beyond / error) ** 2 / (2.0 * size - 2.0)) if error > 0.0 else 0.0
            nearer = normal_quantile(power) * spread * error
            runs = beyond - nearer + deviation * _typical(min(size, _MOST_TYPICAL))
            return skewed_e_value(runs, size) >= 1.0 / level

        def decides(size: int) -> bool:
            part = alpha / len(ends)
            if shows(size, ends[0], -1, part, _POWER) or shows(size, ends[-1], 1, part, _POWER):
                return True
            both = (1.0 + _POWER) / 2.0
            return len(ends) > 1 and shows(size, ends[0], 1, alpha, both) and shows(size, ends[1], -1, alpha, both)

        return fewest_runs(decides, self.fewest)

    def path(self, bound: float, direction: int) -> FloatArray:
        """The p-values up to each look: of a mean of at most the bound (1), or at least (-1)."""
        if (bound, direction) not in self._paths:
            e_values = skewed_e_values(self.beyond(bound, direction))[self.fewest - 1 :]
            least = np.array([unseen(size) for size in range(self.fewest, self.size + 1)])
            p_values = np.maximum(1.0 / np.maximum(e_values, 1.0), least)
            self._paths[bound, direction] = np.minimum.accumulate(p_values)
        return self._paths[bound, direction]

    def beyond(self, bound: float, direction: int) -> FloatArray:
        """How far runs are above the bound (1), or below it (-1)."""
        return direction * differences(self.left, bound * self.limit)

    @cached_property
    def _paths(self) -> dict[tuple[float, int], FloatArray]:
        """Computed paths by bound and direction."""
        return {}

    @cached_property
    def _error(self) -> float:
        return float(np.std(self.left, ddof=1)) / math.sqrt(self.size)

    def _half(self, direction: int, alpha: float) -> float:
        """How far from the mean the farthest mean is that is not refuted at alpha, below it (1) or above it (-1)."""
        if unseen(self.size) > alpha:
            return math.inf
        if not self._error > 0.0:
            return 0.0
        deviations = direction * (self.left - self.left.mean())
        low, high = 0.0, self._error
        while skewed_e_value(deviations + high, self.size) < 1.0 / alpha:
            low, high = high, 2.0 * high
            if high > _FARTHEST * self._error:
                return math.inf
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            refuted = skewed_e_value(deviations + middle, self.size) >= 1.0 / alpha
            low, high = (low, middle) if refuted else (middle, high)
        return high


@lru_cache(maxsize=128)
def _typical(size: int) -> FloatArray:
    """Normal values as they are on average, with mean 0 and standard deviation 1."""
    scores = normal_quantiles((np.arange(size) + 0.5) / size)
    return np.asarray(scores / scores.std(ddof=1))
