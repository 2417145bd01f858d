"""Left mean less so many times the right one, by Student's t with Welch's degrees of freedom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from msgspec import Struct

from hati.core import FloatArray, replace
from hati.logic.interpret.difference import difference
from hati.logic.interpret.measured import mean_of
from hati.logic.interpret.unseen import UNSEEN, unseen
from hati.stats import (
    POWER,
    BoundTest,
    noncentrality_of_t,
    skewed_t_above,
    skewed_t_critical,
    t_cdf,
    t_quantile,
    two_kinds_t_above,
    two_kinds_t_critical,
)


class SideMean(Struct, frozen=True):
    """A side's mean, the variance of what it is the mean of, how many these are, and the variance's degrees of freedom.

    A limit is the mean of none.
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
        """The same of another size."""
        return replace(self, size=size, df=max(self.df, size - 1.0)) if self.size else self


def side_mean(values: FloatArray) -> SideMean:
    """Of independent values, shape (n,), n >= 2."""
    mean = mean_of(values)
    return SideMean(mean, float(((values - mean) ** 2).sum()) / (len(values) - 1), len(values), len(values) - 1.0)


def limit_mean(value: float) -> SideMean:
    """Of a limit, which is known."""
    return SideMean(value, 0.0, 0, math.inf)


@dataclass(frozen=True)
class Contrast:
    """Two means; a ``bound`` is a factor of the right one.

    That the left is beyond it is a linear hypothesis, left - bound right: exact where the right mean is not known, too
    (Fieller 1954, Journal of the Royal Statistical Society B 16, 175-185).
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
        """How far beyond the bound the difference must be to be told at alpha in 80 % of cases."""
        error = self.standard_error(bound)
        if not error > 0.0:
            return 0.0
        return _noncentrality(round(self.df(bound), 2), round(self._critical(bound, alpha), 9)) * error

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        """What it takes to show at alpha that the left is beyond the bound."""
        error = self.standard_error(bound)
        if error > 0.0:
            critical = self._critical(bound, alpha)
        else:
            critical = 0.0 if self._beyond(1.0, bound) <= alpha else math.inf
        return BoundTest.of(self._difference(bound), error, critical)

    def standard_error(self, bound: float) -> float:
        """Of the difference."""
        return math.sqrt(self.left.square + bound**2 * self.right.square)

    def df(self, bound: float) -> float:
        """Welch's (1947, Biometrika 34, 28-35): the SPL paper, section 4.1."""
        parts = (self.left.square, self.left.df), (bound**2 * self.right.square, self.right.df)
        total = sum(square for square, _ in parts)
        known = sum(square**2 / df for square, df in parts)
        return total**2 / known if known > 0.0 else math.inf

    def of(self, size: int) -> Contrast:
        """The same with so many values of each side."""
        return replace(self, left=self.left.of(size), right=self.right.of(size))

    def _difference(self, bound: float) -> float:
        return difference(self.left.mean, bound * self.right.mean)

    def _beyond(self, size: float, bound: float) -> float:
        """Where nothing varies, the share of orders in which all of a side are beyond; beside a limit ``unseen``."""
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
        """The statistic of which that is alpha."""
        return t_quantile(1.0 - alpha, self.df(bound))


class BesideLimit(Contrast):
    """One mean and a limit, so that skewness does not cancel: p-values are of runs that may be skewed as exponential.

    The largest of those of normal runs, of exponential ones, the tail toward the bound, and of runs of two kinds, the
    rarer one beyond it: so none is less than ``unseen``.
    """

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha; infinite where so few runs show nothing at alpha."""
        return (-math.inf, math.inf) if unseen(self.left.size) > alpha else super().reach(bound, alpha)

    def detectable(self, bound: float, alpha: float) -> float:
        """How far beyond the bound the mean must be; infinite where so few runs show nothing at alpha."""
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
