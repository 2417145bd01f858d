"""Sequential decisions on relations: a look after every run or pair, until the first that decides.

Runs compared with an absolute limit have no second side that cancels skewness.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.formula import Comparator
from hati.logic.interpret.contrast import (
    detectable_of,
    difference,
    differences,
    estimate_of,
    fewest_alone,
    interval_of,
    p_values,
    planned,
    scale_of,
    unseen,
    verdict_of,
)
from hati.logic.interpret.relation import AskedRelation, Bounds, Limit, MeasuredSample, RelationEvidence
from hati.stats import (
    POWER,
    BoundTest,
    anytime_critical,
    anytime_e_values,
    fewest_runs,
    fewest_signs,
    looks_to_decide,
    noncentrality_of_t,
    normal_quantile,
    normal_quantiles,
    skewed_e_value,
    skewed_e_values,
)


class Look(Struct, frozen=True):
    """The p-values of all looks together, up to the one after ``size`` runs of a side; 1 before the first look."""

    runs: Looked[Any]
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


R = TypeVar("R", float, FloatArray)


class Looked(Struct, Generic[R], frozen=True, eq=False, dict=True):
    """Run means of the left side in their order, shape (runs,); looks are taken from ``fewest`` runs of a side on.

    ``right`` is a limit, or the run means of the right side, shape (runs,).
    """

    left: FloatArray
    right: R
    fewest: int

    @property
    def size(self) -> int:
        """The number of runs of a side."""
        return len(self.left)

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right, of all looks together."""
        return self.at(self.size).above(bound)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right, of all looks together."""
        return self.at(self.size).below(bound)

    def at(self, size: int) -> Look:
        """The tests of all looks up to that many runs of a side."""
        return Look(self, size)

    def path(self, bound: float, direction: int) -> FloatArray:
        """The p-values up to each look, shape (looks,), of left <= bound right (direction 1) or >= (-1)."""
        if (bound, direction) not in self._paths:
            found = self.p_values_at_looks(direction * self.differences(bound))
            self._paths[bound, direction] = np.minimum.accumulate(found)
        return self._paths[bound, direction]

    def differences(self, bound: float) -> FloatArray:
        """The differences left - bound right, shape (runs,)."""
        return differences(self.left, bound * self.right)

    @cached_property
    def _paths(self) -> dict[tuple[float, int], FloatArray]:
        """Computed paths by bound and direction."""
        return {}

    @abstractmethod
    def p_values_at_looks(self, beyond: FloatArray) -> FloatArray:
        """The p-value of a mean of at most zero at each look alone, shape (looks,); ``beyond`` has shape (runs,)."""

    @abstractmethod
    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The ends of the confidence sequence after the last run of a side."""

    @abstractmethod
    def detectable(self, bound: float, alpha: float) -> float:
        """The detectable difference at the last look alone."""

    @abstractmethod
    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """Runs of a side that decide with 80 % power, if means and deviations hold."""


_HALVINGS = 24
_MOST_TYPICAL = 100
_POWER = 0.85
"""The power given the mean and deviation alone; with the effect of the largest run it is 80 %, by simulation."""
_FARTHEST = 1e9


class Alone(Looked[float], frozen=True, eq=False, dict=True):
    """Runs against a limit.

    A run's evidence on a bound is left - bound right. If the true mean is on the bound, the e-value of either side ever
    reaches 1 / alpha with a probability of at most alpha, for runs that are normal, as skewed as exponential ones, or
    half as skewed. No p-value is less than ``unseen``.
    """

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:  # noqa: ARG002  # of any bound it is the same
        """The ends of the confidence sequence after the last run; infinite before the first look that can decide."""
        return -self._half(-1, alpha), self._half(1, alpha)

    def detectable(self, bound: float, alpha: float) -> float:  # noqa: ARG002  # of any bound it is the same
        """The detectable difference at the last look alone, on the worse side."""
        half = max(self._half(direction, alpha) for direction in (1, -1))
        if not (math.isfinite(half) and self._error > 0.0):
            return half
        return noncentrality_of_t(half / self._error, self.size - 1.0, POWER) * self._error

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """The number of runs that decide with 80 % power, if they are normal with the present mean and deviation.

        It allows for a mean as near to the bound as in one case of five; with two bounds, in one of ten for each.
        """
        ends = [bound for bound in (bounds.low, bounds.high) if bound is not None]
        mean, deviation = float(self.left.mean()), self._error * math.sqrt(self.size)

        def shows(size: int, bound: float, direction: int, level: float, power: float) -> bool:
            if unseen(size) > level:
                return False
            beyond = direction * difference(mean, bound * self.right)
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

    def p_values_at_looks(self, beyond: FloatArray) -> FloatArray:
        """The p-value of a mean of at most the limit at each look alone, shape (looks,)."""
        e_values = skewed_e_values(beyond)[self.fewest - 1 :]
        least = np.array([unseen(size) for size in range(self.fewest, self.size + 1)])
        return np.asarray(np.maximum(1.0 / np.maximum(e_values, 1.0), least))

    @cached_property
    def _error(self) -> float:
        return float(np.std(self.left, ddof=1)) / math.sqrt(self.size)

    def _half(self, direction: int, alpha: float) -> float:
        """The distance to the farthest mean not refuted at alpha, below the observed (direction 1) or above it (-1)."""
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
    """Typical normal values (quantiles at equal steps), scaled to mean 0 and standard deviation 1."""
    scores = normal_quantiles((np.arange(size) + 0.5) / size)
    return np.asarray(scores / scores.std(ddof=1))


class Pairs(Looked[FloatArray], frozen=True, eq=False, dict=True):
    """Runs of both sides in the order of their pairs.

    A pair's evidence on a bound is left - bound right. If the true mean is on the bound and differences are symmetric
    about it, the e-value of the mean ever reaches 1 / (2 alpha) with a probability of at most 2 alpha, thus of at most
    alpha with the mean on either side. No p-value is less than that of the signs alone: for few pairs whose differences
    take two values only, the e-value exceeds it.
    """

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The ends of the confidence sequence after the last pair."""
        critical = anytime_critical(self.size, 2.0 * alpha)
        half = critical * self.error(bound) if math.isfinite(critical) else math.inf
        return -half, half

    def detectable(self, bound: float, alpha: float) -> float:
        """The detectable difference at the last look alone."""
        critical = anytime_critical(self.size, 2.0 * alpha)
        if math.isinf(critical):
            return math.inf
        return noncentrality_of_t(critical, self.size - 1.0, POWER) * self.error(bound)

    def error(self, bound: float) -> float:
        """The standard error of the mean difference."""
        return float(np.std(self.differences(bound), ddof=1)) / math.sqrt(self.size)

    def mean(self, bound: float) -> float:
        """The mean of the differences."""
        return float(self.differences(bound).mean())

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """The number of pairs that decide with 80 % power, if means and deviations hold."""
        return looks_to_decide(lambda size: planned(_Planned(self, size), bounds, alpha), self.fewest)

    def p_values_at_looks(self, beyond: FloatArray) -> FloatArray:
        """The p-value of a mean difference of at most zero at each look alone, shape (looks,), by its e-value."""
        above = np.cumsum(beyond)[self.fewest - 1 :] > 0.0
        e_values = np.where(above, anytime_e_values(beyond)[self.fewest - 1 :], 0.5)
        return np.maximum(0.5 / np.maximum(e_values, 0.5), 0.5 ** np.arange(self.fewest, self.size + 1.0))


class _Planned(Struct, frozen=True):
    """A look after ``size`` pairs, if means and deviations hold."""

    pairs: Pairs
    size: int

    def bound_test(self, bound: float, alpha: float) -> BoundTest:
        error = self.pairs.error(bound) * math.sqrt(self.pairs.size / self.size)
        shown = 0.5**self.size <= alpha
        critical = anytime_critical(self.size, 2.0 * alpha) if shown else math.inf
        return BoundTest.of(self.pairs.mean(bound), error, critical)

    def df(self, bound: float) -> float:  # noqa: ARG002  # of any bound they are the same
        return self.size - 1.0


def decide_early(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """The evidence on a relation by looks after each pair: the n-th run of the left with the n-th of the right.

    The bounds are those of ``decide``. The verdict and its p-values are those of the first look that decides: if the
    truth is on a bound, HOLDS and VIOLATED are each given in at most alpha of all campaigns, however long they go on.
    Pairs are judged by the anytime-valid t-test of ``anytime_e_values``. Runs against a limit use ``skewed_e_values``,
    as their skewness does not cancel. Looks begin with ``fewest_pairs`` and ``fewest_alone``. The other values cover
    all runs. A history is not used.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    looked = _looked(left, right, relation)
    glanced = glance_early(left, right, relation)
    if looked.size < 2:
        return replace(glanced, runs_needed=looked.fewest)
    return replace(
        glanced,
        interval=interval_of(looked, left.mean, right.mean, glanced.scale, relation.alpha),
        detectable=detectable_of(looked, relation, right.mean, glanced.scale),
        runs_needed=_needed(looked, relation, right.mean),
    )


def glance_early(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """The verdict of ``decide_early`` with its p-values; skips interval, detectable and runs needed to save time.

    Raises:
        InputError: as ``decide_early``.
    """
    looked, limit = _looked(left, right, relation), isinstance(right, Limit)
    sizes = left.size, right.size
    means = left.mean, right.mean
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
    """The number of runs of a side after which ``decide_early`` first has a verdict; None if it has none.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    return _first_decided(_looked(left, right, relation), relation, right.mean)


def fewest_pairs(alpha: float) -> int:
    """Pairs before the first look: enough for their signs alone to be significant, 7 at 1 %."""
    return fewest_signs(2.0 * alpha)


def _first_decided(looked: Looked[Any], relation: AskedRelation, right: float) -> int | None:
    """The first look that decides; p-values never grow from look to look, so None if the last does not."""
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


def _looked(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> Looked[Any]:
    if relation.sign is Comparator.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    if isinstance(right, Limit):
        return Alone(left.means, right.value, fewest_alone(relation.alpha))
    if left.size != right.size:
        raise InputError(f"{left.size} runs and {right.size} are not pairs", fix="measure both sides in turn")
    return Pairs(left.means, right.means, fewest_pairs(relation.alpha))


def _needed(looked: Looked[Any], relation: AskedRelation, right: float) -> int | None:
    """The runs needed: more than there are, unless fewer have decided."""
    decided = _first_decided(looked, relation, right)
    if decided is not None:
        return decided
    found = looked.runs_needed(relation.bounds(right), relation.alpha)
    return None if found is None else max(found, looked.size + 1)
