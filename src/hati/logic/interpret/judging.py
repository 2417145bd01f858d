"""What a test of two means says of a relation between them."""

from __future__ import annotations

import math
from typing import Protocol

from hati.logic.interpret.contrast import Contrast
from hati.logic.interpret.evidence import Scale
from hati.logic.interpret.relation import Bounds, Relation, Sign
from hati.logic.interpret.verdict import Verdict
from hati.stats import BoundTest, PlannedTest, runs_to_decide

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
    """The same with what they reach."""

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha of left - bound right about the true one."""
        ...

    def detectable(self, bound: float, alpha: float) -> float:
        """How far beyond the bound the difference must be to be told at alpha in 80 % of cases."""
        ...


class Planned(Protocol):
    """A test of a number of runs that are to be made."""

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        """What it takes to show at alpha that the left is beyond the bound."""
        ...

    def df(self, bound: float) -> float:
        """The degrees of freedom of the standard error."""
        ...


def p_values(test: OneSided, bounds: Bounds) -> tuple[float, float]:
    """Those of the relation's being violated, and of its holding.

    Of one bound both are one-sided. That the left is between two bounds is shown by two one-sided tests (Schuirmann
    1987, Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680), that it is outside by either at half the level.
    """
    low, high = bounds.low, bounds.high
    holds = [test.above(low)] if low is not None else []
    violated = [test.below(low)] if low is not None else []
    if high is not None:
        holds.append(test.below(high))
        violated.append(test.above(high))
    return max(holds), min(1.0, len(violated) * min(violated))


def verdict_of(p_holds: float, p_violated: float, alpha: float) -> Verdict:
    """HOLDS or VIOLATED where that is shown at alpha."""
    if p_holds <= alpha:
        return Verdict.HOLDS
    return Verdict.VIOLATED if p_violated <= alpha else Verdict.INCONCLUSIVE


def scale_of(left: float, right: float, sizes: tuple[int, int]) -> Scale:
    """On which the two means are told."""
    if not sizes[1]:
        return Scale.MEAN
    return Scale.RATIO if left > 0.0 and right > 0.0 else Scale.DIFFERENCE


def estimate_of(left: float, right: float, scale: Scale) -> float:
    """The estimate of two means on a scale."""
    return {Scale.RATIO: left / right if right else math.inf, Scale.DIFFERENCE: left - right, Scale.MEAN: left}[scale]


def interval_of(test: Test, left: float, right: float, scale: Scale, alpha: float) -> tuple[float, float] | None:
    """On the scale, at alpha on either side; None where it has no end."""
    if scale is Scale.RATIO:
        ends = [_ratio_end(test, left, right, alpha, end) for end in (1, 0)]
        return (ends[0], ends[1]) if math.isfinite(sum(ends)) else None
    at = left - right if scale is Scale.DIFFERENCE else left
    low, high = test.reach(1.0, alpha)
    return (at - high, at - low) if math.isfinite(high - low) else None


def detectable_of(test: Test, relation: Relation, right: float, scale: Scale) -> float | None:
    """On the scale."""
    bounds = relation.bounds(right)
    alpha = relation.alpha / 2.0 if relation.sign is Sign.EQUAL else relation.alpha
    size = max(test.detectable(bound, alpha) for bound in (bounds.low, bounds.high) if bound is not None)
    size = size / right if scale is Scale.RATIO else size
    return size if math.isfinite(size) else None


def runs_needed(contrast: Contrast, relation: Relation, fewest: int) -> int | None:
    """Runs of each side that decide with 80 % power, if means and variances hold; None where 10,000 do not."""
    bounds = relation.bounds(contrast.right.mean)
    return runs_to_decide(lambda runs: planned(contrast.of(runs), bounds, relation.alpha), fewest)


def planned(test: Planned, bounds: Bounds, alpha: float) -> PlannedTest:
    """The test that HOLDS or VIOLATED is decided by, as ``p_values`` has it."""
    ends = [bound for bound in (bounds.low, bounds.high) if bound is not None]
    shown = [test.bound_test(bound, alpha / len(ends)) for bound in ends]
    between = (test.bound_test(ends[0], alpha), test.bound_test(ends[1], alpha)) if len(ends) > 1 else None
    return PlannedTest(shown[0], shown[-1], test.df(ends[0]), between)


def _ratio_end(test: Test, left: float, right: float, alpha: float, end: int) -> float:
    """The ratio at which a one-sided test ends; infinite where there is none, as where the right may be zero."""
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
