"""What the pairs of one metric say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.harness import StoppingRule
from hati.stats import noncentrality_of_t

_MOST_PAIRS = 10_000


@dataclass(frozen=True, eq=False)
class Judged:
    """The mean of differences of pairs, on a scale on which the margin is ``limit``, under a stopping rule.

    ``differences`` has shape (pairs,), with at least one, in the order in which they were measured.
    """

    differences: FloatArray
    rule: StoppingRule
    alpha: float
    limit: float

    @property
    def pairs(self) -> int:
        """How many."""
        return len(self.differences)

    @property
    def looks(self) -> int:
        """How often they have been looked at, when after every pair."""
        return max(0, self.pairs - self.rule.fewest(self.alpha) + 1)

    @property
    def estimate(self) -> float:
        """The mean."""
        return float(np.mean(self.differences))

    @property
    def deviation(self) -> float:
        """Of one difference; infinite where there is but one."""
        return float(np.std(self.differences, ddof=1)) if self.pairs > 1 else math.inf

    @property
    def p_value(self) -> float | None:
        """Of a mean of zero; None before the first look, and where both sides are the same in every pair."""
        if not self.looks or not np.any(self.differences):
            return None
        return self.rule.p_value(self.differences, self.alpha)

    @property
    def strongest(self) -> float:
        """The mean at the look that the p-value is of."""
        return float(np.mean(self.differences[: self.rule.strongest(self.differences, self.alpha)]))

    @property
    def half_width(self) -> float:
        """Of the interval; infinite where it has no end."""
        return self._width(self.rule.critical(self.pairs, self.alpha), self.pairs) if self.pairs > 1 else math.inf

    @property
    def same(self) -> bool:
        """Whether the mean is shown to be within the margin."""
        return self.looks > 0 and self._within(self.pairs)

    def detectable(self, power: float) -> float | None:
        """The size of a mean that so many pairs find with that power at their last look alone."""
        if not self.looks:
            return None
        critical = self.rule.critical(self.pairs, self.alpha)
        if math.isinf(critical):
            return None
        return noncentrality_of_t(critical, self.pairs - 1.0, power) * self.deviation / math.sqrt(self.pairs)

    def pairs_needed(self, alpha: float) -> int | None:
        """How many would decide, if estimate and deviation stay as they are; None where 10,000 would not.

        ``alpha`` is the level at which a change would be told: less than the own where there are other questions.
        """
        if self.pairs < 2:
            return None
        least, most = self.rule.fewest(self.alpha), _MOST_PAIRS
        if not self._decides(most, alpha):
            return None
        while least < most:
            middle = (least + most) // 2
            least, most = (least, middle) if self._decides(middle, alpha) else (middle + 1, most)
        return max(most, self.pairs)

    def _decides(self, pairs: int, alpha: float) -> bool:
        apart = abs(self.estimate) > self._width(self.rule.critical(pairs, alpha), pairs)
        return apart or self._within(pairs)

    def _within(self, pairs: int) -> bool:
        return abs(self.estimate) + self._width(self.rule.one_sided(pairs, self.alpha), pairs) <= self.limit

    def _width(self, critical: float, pairs: int) -> float:
        return math.inf if math.isinf(critical) else critical * self.deviation / math.sqrt(pairs)


@dataclass(frozen=True, eq=False)
class Values:
    """The run values of both sides of complete pairs, in one unit, shape (pairs,) each."""

    before: FloatArray
    after: FloatArray

    @property
    def scale(self) -> float | None:
        """None where ratios are compared; else, where a value is not above zero, the first mean's size."""
        if min(self.before.min(), self.after.min()) > 0.0:
            return None
        return abs(float(self.before.mean()))

    @property
    def sides(self) -> Sequence[FloatArray]:
        """Both on the scale on which they are compared: logarithms, or fractions of the first mean."""
        scale = self.scale
        if scale is None:
            return np.log(self.before), np.log(self.after)
        return self.before / (scale or 1.0), self.after / (scale or 1.0)

    @property
    def differences(self) -> FloatArray:
        """The second's less the first's on that scale."""
        before, after = self.sides
        return np.asarray(after - before, dtype=np.float64)
