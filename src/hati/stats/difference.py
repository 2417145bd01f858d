"""The difference of two samples' locations, and what it takes to decide it."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.stats.distributions import noncentrality_of_t, t_cdf, t_quantile
from hati.stats.moderated import VariancePrior
from hati.stats.runs_to_decide import BoundTest, PlannedTest, runs_to_decide


class Difference(Struct, frozen=True):
    """The second sample's location less the first's: of means, or by ranks.

    ``variance`` is what a run of each sample adds to the estimate's, that of a run about its sample's mean where these
    are compared; with ``own`` degrees of freedom by these runs and ``borrowed`` ones, infinite where it is known;
    ``runs`` are the sizes of the samples. No p-value of no difference is below ``least``.
    """

    estimate: float
    variance: float
    own: float
    runs: tuple[int, int]
    borrowed: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        if min(self.runs) < 1 or min(self.variance, self.own, self.borrowed) < 0.0:
            raise InputError(f"no difference of samples of {self.runs} runs with the variance {self.variance}")

    def borrowing(self, prior: VariancePrior, place: int) -> Difference:
        """The same with what other samples say of its variance: of the ``place``-th of them."""
        variance, df = prior.moderated(place, self.variance, self.df)
        return replace(self, variance=variance, borrowed=df - self.own)

    def remembering(self, variance: float, df: float) -> Difference:
        """The same with what earlier runs say of its variance, worth so many degrees of freedom."""
        if df <= 0.0:
            return self
        pooled = (self.df * self.variance + df * variance) / (self.df + df)
        return replace(self, variance=pooled, borrowed=self.borrowed + df)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.own + self.borrowed

    @property
    def told(self) -> bool:
        """Whether anything is known of the noise."""
        return self.df > 0.0

    @property
    def standard_error(self) -> float:
        """Of the estimate."""
        return math.sqrt(self.variance * (1.0 / self.runs[0] + 1.0 / self.runs[1]))

    @property
    def p_value(self) -> float:
        """Of Student's test for no difference, two-sided; 1 where nothing is known of the noise.

        Samples without any variance say no more than that all of the one lie on one side of all of the other.
        """
        if self.told and self.standard_error == 0.0 and self.estimate != 0.0:
            return max(self.least, self._of_orders)
        return min(1.0, max(self.least, 2.0 * self._above(abs(self.estimate))))

    def half_width(self, confidence: float) -> float:
        """Of the interval about the estimate; infinite where nothing is known of the noise."""
        return t_quantile(0.5 + confidence / 2.0, self.df) * self.standard_error if self.told else math.inf

    def within(self, low: float, high: float) -> float:
        """The p-value of lying between two bounds: the larger of two one-sided tests' (Schuirmann 1987)."""
        return max(self._above(self.estimate - low), self._above(high - self.estimate))

    def detectable(self, alpha: float, power: float) -> float:
        """The size of a difference that the two-sided test finds with that power; infinite where none is."""
        if not self.told:
            return math.inf
        if self.standard_error == 0.0:
            return self.significant(alpha)
        critical = t_quantile(1.0 - alpha / 2.0, self.df)
        return noncentrality_of_t(critical, self.df, power) * self.standard_error

    def significant(self, alpha: float) -> float:
        """The size of an estimate from which on it is significant; infinite where none is."""
        if self.told and self.standard_error == 0.0:
            return 0.0 if self._of_orders <= alpha else math.inf
        return self.half_width(1.0 - alpha)

    def runs_needed(self, alpha: float, low: float, high: float, level: float) -> int | None:
        """The runs of each sample that decide with 80 % power, if the estimate and the variance hold.

        Either the difference is significant at the ``level``, or shown at alpha to be between the bounds. More runs
        than there are where these do not decide; None where 10,000 do not suffice.
        """
        if not self.told:
            return None
        known = self.p_value <= level or self.within(low, high) <= alpha
        fewest = max(2, min(self.runs) + (0 if known else 1))
        return runs_to_decide(lambda runs: self._of(runs)._planned(alpha, low, high, level), fewest)

    @property
    def _of_orders(self) -> float:
        """The share of orders of all runs in which those of one sample precede those of the other."""
        return 2 / math.comb(sum(self.runs), self.runs[0])

    def _of(self, runs: int) -> Difference:
        return replace(self, runs=(runs, runs), own=2.0 * runs - 2.0, least=0.0)

    def _planned(self, alpha: float, low: float, high: float, level: float) -> PlannedTest:
        error = self.standard_error
        if error > 0.0:
            critical = t_quantile(1.0 - level / 2.0, self.df)
        else:
            critical = 0.0 if self._of_orders <= level else math.inf
        changed = BoundTest.of(self.estimate, error, critical)
        margin = t_quantile(1.0 - alpha, self.df)
        within = BoundTest.of(self.estimate - low, error, margin), BoundTest.of(self.estimate - high, error, margin)
        return PlannedTest(changed, changed, self.own, within, self.borrowed)

    def _above(self, size: float) -> float:
        """P of a difference at least that far above the true one."""
        if not self.told:
            return 1.0
        error = self.standard_error
        if error == 0.0:
            return 0.0 if size > 0.0 else 1.0
        return t_cdf(-size / error, self.df)


def difference(first: FloatArray, second: FloatArray) -> Difference:
    """That of two samples of run values, shapes (runs,) each; of equal sizes with the variances' mean.

    The degrees of freedom are Student's where the sizes are equal: the test hardly suffers then where the variances are
    not. Else they are Welch's (1947, Biometrika 34, 28-35).
    """
    sizes = len(first), len(second)
    parts = [float(np.var(values, ddof=1)) if len(values) > 1 else 0.0 for values in (first, second)]
    df = float(sizes[0] + sizes[1] - 2)
    squares = [part / size for part, size in zip(parts, sizes, strict=True)]
    variance = sum(squares) / (1.0 / sizes[0] + 1.0 / sizes[1])
    if min(sizes) == 1:
        variance = max(parts)
    elif sizes[0] != sizes[1] and variance > 0.0:
        df = sum(squares) ** 2 / sum(s**2 / (n - 1) for s, n in zip(squares, sizes, strict=True))
    return Difference(float(np.mean(second) - np.mean(first)), variance, df, sizes)
