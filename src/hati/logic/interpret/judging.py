"""What a test of two means says of a relation between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from hati.logic.interpret.contrast import Contrast
from hati.logic.interpret.evidence import Scale
from hati.logic.interpret.relation import Bounds, Relation, Sign
from hati.logic.interpret.verdict import Verdict

_MOST_RUNS = 10_000
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
    """Runs of each side that would decide, means and variances being as they are; None where 10,000 would not."""
    bounds = relation.bounds(contrast.right.mean)
    return needed(lambda runs: min(p_values(contrast.of(runs), bounds)) <= relation.alpha, fewest)


def needed(decides: Callable[[int], bool], fewest: int) -> int | None:
    """The fewest runs that decide, if more do so too; None where 10,000 do not."""
    least, most = fewest, _MOST_RUNS
    if not decides(most):
        return None
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if decides(middle) else (middle + 1, most)
    return most


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
