"""The left mean minus a multiple of the right one: Student's t with Welch's degrees of freedom.

It supports the verdict on a relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.formula import Comparator
from hati.logic.interpret.relation import AskedRelation, Bounds, EstimateScale, FormulaVerdict, mean_of
from hati.stats import (
    POWER,
    BoundTest,
    PlannedTest,
    fewest_of_a_share,
    noncentrality_of_t,
    runs_to_decide,
    skewed_t_above,
    skewed_t_critical,
    t_cdf,
    t_quantile,
    two_kinds_t_above,
    two_kinds_t_critical,
)

UNSEEN = 0.3
"""The fraction of runs that may be of a separate kind, such as a second mode."""


def unseen(runs: int) -> float:
    """The probability that ``runs`` runs include none of a kind with a frequency of three in ten.

    >>> round(unseen(5), 3), round(unseen(13), 4)
    (0.168, 0.0097)
    """
    return float((1.0 - UNSEEN) ** runs)


def fewest_alone(alpha: float) -> int:
    """Runs needed to decide against a limit, 13 at 1 %: with fewer, ``unseen`` is above alpha."""
    return fewest_of_a_share(alpha, 1.0 - UNSEEN)


_ROUNDING = 1e-14
"""As a fraction of the larger number: no measurement is so precise."""


def difference(left: float, right: float) -> float:
    """Left minus right; 0 if they differ by rounding alone."""
    return left - right if abs(left - right) > _ROUNDING * max(abs(left), abs(right)) else 0.0


def differences(left: FloatArray, right: FloatArray | float) -> FloatArray:
    """The elementwise ``difference``, in the shape of the left."""
    found = left - right
    return np.where(np.abs(found) > _ROUNDING * np.maximum(np.abs(left), np.abs(right)), found, 0.0)


class SideMean(Struct, frozen=True):
    """A side's mean, with the variance of its values, their number, and the variance's degrees of freedom.

    A limit is a mean of no values.
    """

    mean: float
    variance: float
    size: int
    df: float

    @property
    def square(self) -> float:
        """The square of the mean's standard error."""
        return self.variance / self.size if self.size else 0.0

    def of(self, size: int) -> SideMean:
        """The same mean and variance with another number of values."""
        return replace(self, size=size, df=max(self.df, size - 1.0)) if self.size else self


def side_mean(values: FloatArray) -> SideMean:
    """The mean of independent values, shape (n,), n >= 2."""
    mean = mean_of(values)
    return SideMean(mean, float(((values - mean) ** 2).sum()) / (len(values) - 1), len(values), len(values) - 1.0)


def limit_mean(value: float) -> SideMean:
    """The mean of a limit, which is known exactly."""
    return SideMean(value, 0.0, 0, math.inf)


@dataclass(frozen=True)
class Contrast:
    """Two means; a ``bound`` is a factor of the right one.

    A left mean beyond the bound is a linear hypothesis on left - bound right. It is exact even though the right mean is
    estimated (Fieller 1954, Journal of the Royal Statistical Society B 16, 175-185).
    """

    left: SideMean
    right: SideMean

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right."""
        return self._beyond(self._difference(bound), bound)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right."""
        return self._beyond(-self._difference(bound), bound)

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha of the difference about the true one."""
        error = self.standard_error(bound)
        half = self._critical(bound, alpha) * error if error > 0.0 else 0.0
        return -half, half

    def detectable(self, bound: float, alpha: float) -> float:
        """How far beyond the bound the difference must be to be detected at alpha in 80 % of cases."""
        error = self.standard_error(bound)
        if not error > 0.0:
            return 0.0
        return _noncentrality(round(self.df(bound), 2), round(self._critical(bound, alpha), 9)) * error

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        """The test, at alpha, that the left is beyond the bound."""
        error = self.standard_error(bound)
        if error > 0.0:
            critical = self._critical(bound, alpha)
        else:
            critical = 0.0 if self._beyond(1.0, bound) <= alpha else math.inf
        return BoundTest.of(self._difference(bound), error, critical)

    def standard_error(self, bound: float) -> float:
        """The standard error of the difference."""
        return math.sqrt(self.left.square + bound**2 * self.right.square)

    def df(self, bound: float) -> float:
        """Welch's degrees of freedom (1947, Biometrika 34, 28-35; SPL paper, section 4.1)."""
        parts = (self.left.square, self.left.df), (bound**2 * self.right.square, self.right.df)
        total = sum(square for square, _ in parts)
        known = sum(square**2 / df for square, df in parts)
        return total**2 / known if known > 0.0 else math.inf

    def of(self, size: int) -> Contrast:
        """The contrast with ``size`` values on each side."""
        return replace(self, left=self.left.of(size), right=self.right.of(size))

    def _difference(self, bound: float) -> float:
        return difference(self.left.mean, bound * self.right.mean)

    def _beyond(self, size: float, bound: float) -> float:
        """The p-value; without variance, the fraction of orders with all values of a side beyond, or ``unseen``."""
        error = self.standard_error(bound)
        if error > 0.0:
            return self._above(size / error, bound)
        if size <= 0.0:
            return 1.0
        left, right = self.left.size, self.right.size
        orders = math.lgamma(left + right + 1) - math.lgamma(left + 1) - math.lgamma(right + 1)
        return math.exp(-orders) if right else unseen(left)

    def _above(self, statistic: float, bound: float) -> float:
        """The probability of a larger statistic with the truth on the bound."""
        return t_cdf(-statistic, self.df(bound))

    def _critical(self, bound: float, alpha: float) -> float:
        """The statistic that is exceeded with probability alpha."""
        return t_quantile(1.0 - alpha, self.df(bound))


class BesideLimit(Contrast):
    """One mean against a limit: skewness does not cancel, and p-values allow for runs as skewed as exponential ones.

    A p-value is the largest of three: for normal runs, for exponential runs with the tail toward the bound, and for
    runs of two kinds with the rarer one beyond the bound. Thus none is less than ``unseen``.
    """

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha; infinite if the runs are too few to show anything at alpha."""
        return (-math.inf, math.inf) if unseen(self.left.size) > alpha else super().reach(bound, alpha)

    def detectable(self, bound: float, alpha: float) -> float:
        """How far beyond the bound the mean must be; infinite if the runs are too few to show anything at alpha."""
        return math.inf if unseen(self.left.size) > alpha else super().detectable(bound, alpha)

    def _beyond(self, size: float, bound: float) -> float:
        return max(super()._beyond(size, bound), unseen(self.left.size))

    def _above(self, statistic: float, bound: float) -> float:  # noqa: ARG002  # of any bound it is the same
        size = self.left.size
        return max(skewed_t_above(statistic, size), two_kinds_t_above(statistic, size, UNSEEN))

    def _critical(self, bound: float, alpha: float) -> float:  # noqa: ARG002  # of any bound it is the same
        size = self.left.size
        if unseen(size) > alpha:
            return math.inf
        return max(skewed_t_critical(size, alpha), two_kinds_t_critical(size, alpha, UNSEEN))


@lru_cache(maxsize=1024)
def _noncentrality(df: float, critical: float) -> float:
    return noncentrality_of_t(critical, df, POWER)


_ROUNDS = 40
_PRECISE = 1e-9
_FARTHEST = 100.0


class OneSided(Protocol):
    """Tests of left and right mean; a bound is a factor of the right one."""

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right."""
        ...

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right."""
        ...


class Test(OneSided, Protocol):
    """One-sided tests with their quantiles and detectable differences."""

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha of left - bound right about the true one."""
        ...

    def detectable(self, bound: float, alpha: float) -> float:
        """How far beyond the bound the difference must be to be detected at alpha in 80 % of cases."""
        ...


class Planned(Protocol):
    """A test of a planned number of runs."""

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        """The test, at alpha, that the left is beyond the bound."""
        ...

    def df(self, bound: float) -> float:
        """The degrees of freedom of the standard error."""
        ...


def p_values(test: OneSided, bounds: Bounds) -> tuple[float, float]:
    """The p-values of a violated relation (small: it holds) and of one that holds (small: it is violated).

    For one bound both are one-sided. Two one-sided tests show that the left is between two bounds (Schuirmann 1987,
    Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680); either test, at half the level, that it is outside.
    """
    low, high = bounds.low, bounds.high
    holds = [test.above(low)] if low is not None else []
    violated = [test.below(low)] if low is not None else []
    if high is not None:
        holds.append(test.below(high))
        violated.append(test.above(high))
    return max(holds), min(1.0, len(violated) * min(violated))


def verdict_of(p_holds: float, p_violated: float, alpha: float) -> FormulaVerdict:
    """HOLDS or VIOLATED if it is shown at alpha, else INCONCLUSIVE."""
    if p_holds <= alpha:
        return FormulaVerdict.HOLDS
    return FormulaVerdict.VIOLATED if p_violated <= alpha else FormulaVerdict.INCONCLUSIVE


def scale_of(left: float, right: float, sizes: tuple[int, int]) -> EstimateScale:
    """The scale on which the two means are reported."""
    if not sizes[1]:
        return EstimateScale.MEAN
    return EstimateScale.RATIO if left > 0.0 and right > 0.0 else EstimateScale.DIFFERENCE


def estimate_of(left: float, right: float, scale: EstimateScale) -> float:
    """The estimate of two means on a scale."""
    return {
        EstimateScale.RATIO: left / right if right else math.inf,
        EstimateScale.DIFFERENCE: left - right,
        EstimateScale.MEAN: left,
    }[scale]


def interval_of(
    test: Test, left: float, right: float, scale: EstimateScale, alpha: float
) -> tuple[float, float] | None:
    """The interval on the scale, at alpha on either side; None if it is unbounded."""
    if scale is EstimateScale.RATIO:
        ends = [_ratio_end(test, left, right, alpha, end) for end in (1, 0)]
        return (ends[0], ends[1]) if math.isfinite(sum(ends)) else None
    at = left - right if scale is EstimateScale.DIFFERENCE else left
    low, high = test.reach(1.0, alpha)
    return (at - high, at - low) if math.isfinite(high - low) else None


def detectable_of(test: Test, relation: AskedRelation, right: float, scale: EstimateScale) -> float | None:
    """How far beyond its bounds the truth must be to be detected, on the scale; None if not finite."""
    bounds = relation.bounds(right)
    alpha = relation.alpha / 2.0 if relation.sign is Comparator.EQUAL else relation.alpha
    size = max(test.detectable(bound, alpha) for bound in (bounds.low, bounds.high) if bound is not None)
    size = size / right if scale is EstimateScale.RATIO else size
    return size if math.isfinite(size) else None


def runs_needed(contrast: Contrast, relation: AskedRelation, fewest: int) -> int | None:
    """Runs of each side that decide with 80 % power, if means and variances hold; None if 10,000 do not."""
    bounds = relation.bounds(contrast.right.mean)
    return runs_to_decide(lambda runs: planned(contrast.of(runs), bounds, relation.alpha), fewest)


def planned(test: Planned, bounds: Bounds, alpha: float) -> PlannedTest:
    """The planned test that decides HOLDS or VIOLATED, as in ``p_values``."""
    ends = [bound for bound in (bounds.low, bounds.high) if bound is not None]
    shown = [test.bound_test(bound, alpha / len(ends)) for bound in ends]
    between = (test.bound_test(ends[0], alpha), test.bound_test(ends[1], alpha)) if len(ends) > 1 else None
    return PlannedTest(shown[0], shown[-1], test.df(ends[0]), between)


def _ratio_end(test: Test, left: float, right: float, alpha: float, end: int) -> float:
    """The ratio at which a one-sided test ends; infinite if there is none, for example if the right may be zero."""
    ratio = left / right
    most = _FARTHEST * ratio
    for _ in range(_ROUNDS):
        found = (left - test.reach(ratio, alpha)[end]) / right
        if not abs(found) <= most:
            return math.inf
        change, ratio = abs(found - ratio), found
        if change <= _PRECISE * most:
            return ratio
    return math.inf
