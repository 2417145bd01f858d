"""The tests of one metric's pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Stopping, replace
from hati.harness import SignBets, StoppingRule
from hati.stats import (
    POWER,
    BoundTest,
    PlannedTest,
    detectable_by_sign_bets,
    least_ratio,
    looks_of_sign_bets,
    looks_to_decide,
    noncentrality_of_t,
    ratio_interval,
    runs_to_decide,
    sign_bet_interval,
    sign_bets,
    within_by_sign_bets,
)
from hati.studies.comparison import DIRECTION, TAIL_PART, ratio_of


class _Rule(Protocol):
    def fewest(self, alpha: float) -> int: ...

    def p_value(self, values: FloatArray, alpha: float) -> float: ...


Rule = TypeVar("Rule", bound=_Rule)


class _Judged(Struct, Generic[Rule], frozen=True, eq=False):
    """Differences of pairs, on a scale on which the margin is ``limit``, under a rule that says when they are tested.

    ``differences`` has shape (pairs,), with at least one, in the order in which they were measured.
    """

    differences: FloatArray
    rule: Rule
    alpha: float
    limit: float
    of_tail: ClassVar[bool] = False

    @property
    def leading(self) -> Self:
        """The test that the report describes."""
        return self

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.differences)

    @property
    def looks(self) -> int:
        """The number of looks at the pairs, if there is one after every pair."""
        return max(0, self.pairs - self.rule.fewest(self.alpha) + 1)

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return float(np.mean(self.differences))

    @property
    def deviation(self) -> float:
        """The standard deviation of a difference; infinite for a single one."""
        return float(np.std(self.differences, ddof=1)) if self.pairs > 1 else math.inf

    @property
    def p_value(self) -> float | None:
        """The p-value of no difference; None before the first look, and if both sides are equal in every pair."""
        if not self.looks or not np.any(self.differences):
            return None
        return self.rule.p_value(self.differences, self.alpha)


class JudgedPairs(_Judged[StoppingRule], frozen=True, eq=False):
    """The mean of differences of pairs, by a t-test under a stopping rule."""

    @property
    def strongest(self) -> float:
        """The mean at the look that gives the p-value."""
        return float(np.mean(self.differences[: self.rule.strongest(self.differences, self.alpha)]))

    @property
    def half_width(self) -> float:
        """The half-width of the interval; infinite if the interval is unbounded."""
        return self._width(self.rule.critical(self.pairs, self.alpha), self.pairs) if self.pairs > 1 else math.inf

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the mean; infinite ends if it is unbounded."""
        return self.estimate - self.half_width, self.estimate + self.half_width

    @property
    def one_sided_width(self) -> float:
        """The distance from a value at which the mean is shown to be above it, or below it."""
        return self._width(self.rule.one_sided(self.pairs, self.alpha), self.pairs) if self.pairs > 1 else math.inf

    @property
    def nonzero(self) -> bool:
        """Whether the mean is shown to be on its side of zero, one-sided."""
        return abs(self.estimate) > self.one_sided_width

    @property
    def same(self) -> bool:
        """Whether the mean is shown to be within the margin."""
        return self.looks > 0 and abs(self.estimate) + self.one_sided_width <= self.limit

    def detectable(self, power: float) -> float | None:
        """The size of a mean that this number of pairs finds with that power by the last look alone."""
        if not self.looks:
            return None
        critical = self.rule.critical(self.pairs, self.alpha)
        if math.isinf(critical):
            return None
        return noncentrality_of_t(critical, self.pairs - 1.0, power) * self.deviation / math.sqrt(self.pairs)

    def pairs_needed(self, alpha: float | None, power: float = POWER) -> int | None:
        """The number of pairs that decide with that power, if the estimate and the noise hold; None beyond 10,000.

        ``alpha`` is the level at which a change would be reported: less than ``self.alpha`` if other tests are made,
        and None if only a mean within the margin counts.
        """
        if self.pairs < 2:
            return None
        search = looks_to_decide if self.rule.kind is Stopping.ANYTIME else runs_to_decide
        return search(lambda pairs: self._planned(pairs, alpha), self.rule.fewest(self.alpha), power)

    def _planned(self, pairs: int, alpha: float | None) -> PlannedTest:
        error = self.deviation / math.sqrt(pairs)
        critical = math.inf if alpha is None else self.rule.critical(pairs, alpha)
        changed = BoundTest.of(self.estimate, error, critical)
        margin = self.rule.one_sided(pairs, self.alpha)
        low, high = (BoundTest.of(self.estimate - end, error, margin) for end in (-self.limit, self.limit))
        return PlannedTest(changed, changed, pairs - 1.0, (low, high))

    def _width(self, critical: float, pairs: int) -> float:
        return math.inf if math.isinf(critical) else critical * self.deviation / math.sqrt(pairs)


class JudgedSigns(_Judged[SignBets], frozen=True, eq=False):
    """The differences of pairs, judged by bets on their signs after every pair; attributes as of ``JudgedPairs``."""

    @property
    def strongest(self) -> float:
        """The direction at the look that gives the p-value."""
        return self.rule.strongest(self.differences, self.alpha)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the difference, which includes the mean; infinite ends if it is unbounded."""
        return sign_bet_interval(self.differences, self.alpha)

    @property
    def half_width(self) -> float:
        """The larger distance from the mean to an end of the interval."""
        low, high = self.interval
        return max(self.estimate - low, high - self.estimate)

    @property
    def nonzero(self) -> bool:
        """Whether the difference is shown to be on the mean's side of zero, one-sided."""
        signed = self.differences * math.copysign(1.0, self.estimate)
        return float(sign_bets(signed)[0].max()) >= -math.log(self.alpha)

    @property
    def same(self) -> bool:
        """Whether the difference is shown to be within the margin, as the mean is."""
        inside = self.looks > 0 and abs(self.estimate) <= self.limit
        return inside and within_by_sign_bets(self.differences, self.limit, self.alpha)

    def detectable(self, power: float) -> float | None:
        """The size of a mean that this number of pairs finds with that power, if the noise is normal."""
        if not self.looks:
            return None
        return detectable_by_sign_bets(self.pairs, self.alpha, power) * self.deviation

    def pairs_needed(self, alpha: float | None, power: float = POWER) -> int | None:
        """The number of pairs that decide with that power, if the estimate and the noise hold; None beyond 1,000.

        ``alpha`` is the level at which a change would be reported; None if only a mean within the margin counts.
        """
        if self.pairs < 2:
            return None
        rounded = max(self.deviation, _ROUNDING * max(abs(self.estimate), self.limit))
        if not rounded:
            return None
        return looks_of_sign_bets(self.estimate / rounded, self.limit / rounded, self.alpha, alpha, power)


_ROUNDING = 1e-9
PairsTest = JudgedPairs | JudgedSigns


def tested(differences: FloatArray, rule: StoppingRule | SignBets, alpha: float, limit: float) -> PairsTest:
    """The test of differences under a rule."""
    if isinstance(rule, SignBets):
        return JudgedSigns(differences, rule, alpha, limit)
    return JudgedPairs(differences, rule, alpha, limit)


class JudgedWithMean(Struct, frozen=True, eq=False, dict=True):
    """The test of a statistic, with a part of alpha for the mean relative to it, the tail (`hati.studies.comparison`).

    ``differences`` are those of the statistic and ``means`` those of the mean, shape (pairs,) each. Estimate and
    interval are of the statistic, or of the tail if that alone differs; two are the same only if the means are. A
    difference is tested at alpha / ``questions``, which is Holm's factor if there are several metrics.
    """

    differences: FloatArray
    means: FloatArray
    rule: StoppingRule | SignBets
    alpha: float
    limit: float
    questions: float = 1.0

    @cached_property
    def own(self) -> PairsTest:
        """The statistic, with its part of alpha."""
        return tested(self.differences, self.rule, (1.0 - TAIL_PART) * self.alpha, self.limit)

    @cached_property
    def tail(self) -> PairsTest:
        """The mean relative to the statistic, with the other part of alpha."""
        return tested(self.means - self.differences, self.rule, TAIL_PART * self.alpha, self.limit)

    @cached_property
    def directed(self) -> bool:
        """Whether the mean is shown to have moved as the tail did: else the tail is neither slower nor faster."""
        mean = tested(self.means, self.rule, DIRECTION, self.limit)
        return self.tail.estimate * mean.estimate > 0.0 and mean.nonzero

    @cached_property
    def of_tail(self) -> bool:
        """Whether the tail differs by more than the margin, alone or in the opposite direction to the statistic."""
        own, tail = (
            judged.p_value is not None
            and self.questions * judged.p_value <= judged.alpha
            and not self._within(judged.differences)
            for judged in (self.own, self.tail)
        )
        return tail and self.directed and (not own or self.own.estimate * self.tail.estimate < 0.0)

    @property
    def leading(self) -> PairsTest:
        """The test that the report describes."""
        return self.tail if self.of_tail else self.own

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.own.pairs

    @property
    def looks(self) -> int:
        """The number of looks at the pairs, if there is one after every pair."""
        return self.own.looks

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return self.leading.estimate

    @property
    def strongest(self) -> float:
        """The mean difference at the look that gives the p-value."""
        return self.leading.strongest

    @property
    def half_width(self) -> float:
        """The half-width of the interval; infinite if the interval is unbounded."""
        return self.leading.half_width

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the mean; infinite ends if it is unbounded."""
        return self.leading.interval

    @property
    def p_value(self) -> float | None:
        """The p-value of no difference of either (weighted Bonferroni); None before the first look."""
        parts = [(self.own, 1.0 - TAIL_PART)] + ([(self.tail, TAIL_PART)] if self.directed else [])
        found = [p / part for judged, part in parts if (p := judged.p_value) is not None]
        return min(1.0, *found) if found else None

    @property
    def same(self) -> bool:
        """Whether both means are shown to be within the margin."""
        return self._within(self.differences) and self._within(self.means)

    def detectable(self, power: float) -> float | None:
        """The size of a mean difference of the statistic that this number of pairs finds with that power."""
        return self.own.detectable(power)

    def pairs_needed(self, alpha: float | None, power: float = POWER) -> int | None:
        """The number of pairs that decide with that power, if estimates and noise hold; None beyond 10,000.

        Either the statistic is found to differ, or both means are shown to be within the margin.
        """
        own, mean = (tested(values, self.rule, self.alpha, self.limit) for values in (self.differences, self.means))
        part = None if alpha is None else (1.0 - TAIL_PART) * alpha
        if alpha is not None and abs(own.estimate) > self.limit:
            return own.pairs_needed(part, power)
        same = [own.pairs_needed(None, power), mean.pairs_needed(None, power)]
        within = None if None in same else max(each for each in same if each is not None)
        change = None if part is None or own.same else replace(own, limit=0.0).pairs_needed(part, power)
        return min((each for each in (within, change) if each is not None), default=None)

    def _within(self, differences: FloatArray) -> bool:
        return tested(differences, self.rule, self.alpha, self.limit).same


AnyJudged = JudgedPairs | JudgedSigns | JudgedWithMean


def judge(
    differences: FloatArray, means: FloatArray | None, rule: StoppingRule | SignBets, alpha: float, limit: float
) -> AnyJudged:
    """Judge differences of pairs; with those of the means if these are known and are not the same."""
    if means is None or np.allclose(means, differences, rtol=1e-12, atol=1e-15):
        return tested(differences, rule, alpha, limit)
    return JudgedWithMean(differences, means, rule, alpha, limit)


def among(judged: AnyJudged, questions: float) -> AnyJudged:
    """The judgement among several tests; ``questions`` is Holm's factor."""
    return replace(judged, questions=questions) if isinstance(judged, JudgedWithMean) else judged


def slight(judged: AnyJudged) -> bool:
    """Whether the difference is shown to be within the margin; the means need not be known to be the same."""
    return tested(judged.leading.differences, judged.rule, judged.alpha, judged.limit).same


class PairValues(Struct, frozen=True, eq=False):
    """The run values of both sides of complete pairs, in one unit, shape (pairs,) each."""

    before: FloatArray
    after: FloatArray

    @property
    def scale(self) -> float | None:
        """None if ratios are compared; the size of the first mean if a value is not above zero."""
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

    def ratio_interval(self, estimate: float, half_width: float) -> tuple[float, float] | None:
        """The interval of the ratio, by that of a mean difference on the scale; None if it has no end."""
        error = float(np.std(self.differences, ddof=1)) / math.sqrt(len(self.before)) if len(self.before) > 1 else 0.0
        if self.scale is None or least_ratio(self.before, self.after) < 0.0 or not error:
            low, high = (ratio_of(estimate + sign * half_width, self.scale) for sign in (-1.0, 1.0))
            return (low, high) if math.isfinite(high) else None
        (first, both), (_, second) = np.cov(self.sides) / len(self.before)
        return ratio_interval(1.0 + estimate, float(first), float(second), float(both), half_width / error)

    @property
    def differences(self) -> FloatArray:
        """The second side less the first on that scale."""
        before, after = self.sides
        return np.asarray(after - before, dtype=np.float64)
