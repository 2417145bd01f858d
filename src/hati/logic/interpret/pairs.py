"""Pairs of runs, looked at after each."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.logic.interpret.difference import differences
from hati.logic.interpret.judging import OneSided, planned
from hati.logic.interpret.look import Look
from hati.logic.interpret.relation import Bounds
from hati.stats import POWER, BoundTest, anytime_critical, anytime_e_values, looks_to_decide, noncentrality_of_t


class Pairs(Struct, frozen=True, eq=False, dict=True):
    """Run means in the order of their pairs, shape (pairs,) each; looks are taken from ``fewest`` pairs on.

    What a pair says of a bound is left - bound right. With the truth on the bound the e-value of its mean ever reaches
    1 / (2 alpha) with a probability of at most 2 alpha, and so of at most alpha with the mean on either side, where
    differences are as likely to lie as far above as below. No p-value is less than that of the signs alone: with few
    pairs, and two values that differences take, the e-value exceeds it.
    """

    left: FloatArray
    right: FloatArray
    fewest: int

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right, of all looks together."""
        return self.at(len(self.left)).above(bound)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right, of all looks together."""
        return self.at(len(self.left)).below(bound)

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The ends of the confidence sequence after the last pair."""
        critical = anytime_critical(len(self.left), 2.0 * alpha)
        half = critical * self.error(bound) if math.isfinite(critical) else math.inf
        return -half, half

    def detectable(self, bound: float, alpha: float) -> float:
        """At the last look alone."""
        critical = anytime_critical(len(self.left), 2.0 * alpha)
        if math.isinf(critical):
            return math.inf
        return noncentrality_of_t(critical, len(self.left) - 1.0, POWER) * self.error(bound)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.left)

    def error(self, bound: float) -> float:
        """The standard error of the mean difference."""
        return float(np.std(self._differences(bound), ddof=1)) / math.sqrt(len(self.left))

    def mean(self, bound: float) -> float:
        """Of the differences."""
        return float(self._differences(bound).mean())

    def at(self, size: int) -> OneSided:
        """The tests of all looks up to that many pairs."""
        return Look(self, size)

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """The number of pairs that decide with 80 % power, if means and deviations hold."""
        return looks_to_decide(lambda size: planned(_Planned(self, size), bounds, alpha), self.fewest)

    @cached_property
    def _paths(self) -> dict[tuple[float, int], FloatArray]:
        """The p-values up to each look, by bound and direction, as far as they have been asked for."""
        return {}

    def path(self, bound: float, direction: int) -> FloatArray:
        """Those of a mean difference of at most zero (1), or at least (-1): of the largest e-value beyond it so far."""
        if (bound, direction) not in self._paths:
            differences = direction * self._differences(bound)
            beyond = np.cumsum(differences)[self.fewest - 1 :] > 0.0
            e_values = np.where(beyond, anytime_e_values(differences)[self.fewest - 1 :], 0.5)
            p_values = np.maximum(0.5 / np.maximum(e_values, 0.5), 0.5 ** np.arange(self.fewest, self.size + 1.0))
            self._paths[bound, direction] = np.minimum.accumulate(p_values)
        return self._paths[bound, direction]

    def _differences(self, bound: float) -> FloatArray:
        return differences(self.left, bound * self.right)


class _Planned(Struct, frozen=True):
    """A look after ``size`` pairs, if means and deviations hold."""

    pairs: Pairs
    size: int

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        error = self.pairs.error(bound) * math.sqrt(len(self.pairs.left) / self.size)
        shown = 0.5**self.size <= alpha
        critical = anytime_critical(self.size, 2.0 * alpha) if shown else math.inf
        return BoundTest.of(self.pairs.mean(bound), error, critical)

    def df(self, bound: float) -> float:  # noqa: ARG002  # of any bound they are the same
        return self.size - 1.0
