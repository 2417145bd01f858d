"""Relations that are looked at after every run or pair of runs, and decided as soon as they are."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.formula import Comparator
from hati.logic.interpret.alone import Alone, Look
from hati.logic.interpret.contrast import (
    OneSided,
    Test,
    detectable_of,
    differences,
    estimate_of,
    fewest_alone,
    interval_of,
    p_values,
    planned,
    scale_of,
    verdict_of,
)
from hati.logic.interpret.relation import AskedRelation, Bounds, Limit, MeasuredSample, RelationEvidence
from hati.stats import (
    POWER,
    BoundTest,
    anytime_critical,
    anytime_e_values,
    fewest_signs,
    looks_to_decide,
    noncentrality_of_t,
)


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
        """The computed p-values up to each look, by bound and direction."""
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


class Looked(Test, Protocol):
    """Tests of looks from ``fewest`` on, up to ``size``."""

    @property
    def fewest(self) -> int:
        """Runs of a side before the first look."""
        ...

    @property
    def size(self) -> int:
        """Runs of a side that there are."""
        ...

    def at(self, size: int) -> OneSided:
        """The tests of the first ``size`` looks."""
        ...

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """Runs of a side that decide with 80 % power, if means and deviations hold."""
        ...


def decide_early(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """What runs show of a relation, looked at after each pair: the n-th run of the left with that of the right.

    The bounds are those of ``decide``, and the verdict and its p-values are of the first look that gives one: with the
    truth on a bound HOLDS and VIOLATED each are given in at most alpha of all campaigns, however long they go on. Pairs
    are judged by the anytime-valid t-test of ``anytime_e_values``. Runs against a limit use ``skewed_e_values``, as
    their skewness does not cancel. Looks begin with ``fewest_pairs`` and ``fewest_alone``. The rest covers all runs. A
    history is not used.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    looked, right_mean = _looked(left, right, relation), _right_mean(right)
    glanced = glance_early(left, right, relation)
    if looked.size < 2:
        return replace(glanced, runs_needed=looked.fewest)
    return replace(
        glanced,
        interval=interval_of(looked, float(left.means.mean()), right_mean, glanced.scale, relation.alpha),
        detectable=detectable_of(looked, relation, right_mean, glanced.scale),
        runs_needed=_needed(looked, relation, right_mean),
    )


def glance_early(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """The verdict of ``decide_early`` with its p-values, without interval, detectable and runs needed: less to compute.

    Raises:
        InputError: as ``decide_early``.
    """
    looked, limit = _looked(left, right, relation), isinstance(right, Limit)
    sizes = looked.size, 0 if limit else looked.size
    means = float(left.means.mean()), _right_mean(right)
    scale = scale_of(*means, sizes)
    size = _first_decided(looked, relation, means[1]) or looked.size
    holds, violated = p_values(looked.at(size), relation.bounds(means[1]))
    return RelationEvidence(
        verdict=verdict_of(holds, violated, relation.alpha),
        scale=scale,
        estimate=estimate_of(*means, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        remark="" if looked.size >= looked.fewest else f"fewer than {looked.fewest} {'runs' if limit else 'pairs'}",
    )


def pairs_to_decide(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> int | None:
    """After how many runs of a side ``decide_early`` first has a verdict; None where it has none.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    return _first_decided(_looked(left, right, relation), relation, _right_mean(right))


def fewest_pairs(alpha: float) -> int:
    """Pairs before the first look: as many as that their signs alone can be significant, 7 at 1 %."""
    return fewest_signs(2.0 * alpha)


def _first_decided(looked: Looked, relation: AskedRelation, right: float) -> int | None:
    """p-values never grow from look to look, so that none decides where the last does not."""
    bounds = relation.bounds(right)

    def decides(size: int) -> bool:
        return min(p_values(looked.at(size), bounds)) <= relation.alpha

    least, most = looked.fewest, looked.size
    if most < least or not decides(most):
        return None
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if decides(middle) else (middle + 1, most)
    return most


def _looked(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> Looked:
    if relation.sign is Comparator.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    if isinstance(right, Limit):
        return Alone(left.means, right.value, fewest_alone(relation.alpha))
    if len(left.runs) != len(right.runs):
        raise InputError(f"{len(left.runs)} runs and {len(right.runs)} are not pairs", fix="measure both sides in turn")
    return Pairs(left.means, right.means, fewest_pairs(relation.alpha))


def _right_mean(right: MeasuredSample | Limit) -> float:
    return right.value if isinstance(right, Limit) else float(right.means.mean())


def _needed(looked: Looked, relation: AskedRelation, right: float) -> int | None:
    """No fewer than there are, but where fewer have decided."""
    decided = _first_decided(looked, relation, right)
    if decided is not None:
        return decided
    found = looked.runs_needed(relation.bounds(right), relation.alpha)
    return None if found is None else max(found, looked.size + 1)
