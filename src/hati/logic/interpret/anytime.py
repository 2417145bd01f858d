"""Relations that are looked at after every pair of runs, and decided as soon as they can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hati.core import FloatArray, InputError
from hati.logic.interpret.evidence import Evidence
from hati.logic.interpret.judging import (
    OneSided,
    detectable_of,
    estimate_of,
    interval_of,
    needed,
    p_values,
    scale_of,
    verdict_of,
)
from hati.logic.interpret.measured import Measured
from hati.logic.interpret.relation import Limit, Relation, Sign
from hati.stats import POWER, anytime_critical, anytime_e_value, anytime_e_values, fewest_signs, noncentrality_of_t


@dataclass(frozen=True, eq=False)
class Pairs:
    """Run means in the order of their pairs, shape (pairs,) each; looks are taken from ``fewest`` pairs on.

    What a pair says of a bound is left - bound right. With the truth on the bound the e-value of its mean ever reaches
    1 / (2 alpha) with a probability of at most 2 alpha, and so of at most alpha with the mean on either side, where
    differences are as likely to lie as far above as below.
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

    def error(self, bound: float) -> float:
        """The standard error of the mean difference."""
        return float(np.std(self._differences(bound), ddof=1)) / math.sqrt(len(self.left))

    def mean(self, bound: float) -> float:
        """Of the differences."""
        return float(self._differences(bound).mean())

    def at(self, size: int) -> OneSided:
        """The tests of all looks up to that many pairs."""
        return _Look(self, size)

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
            self._paths[bound, direction] = 0.5 / np.maximum.accumulate(np.maximum(e_values, 0.5))
        return self._paths[bound, direction]

    def _differences(self, bound: float) -> FloatArray:
        return self.left - bound * self.right


@dataclass(frozen=True)
class _Look:
    """After ``size`` pairs."""

    pairs: Pairs
    size: int

    def above(self, bound: float) -> float:
        return self._p_value(bound, 1)

    def below(self, bound: float) -> float:
        return self._p_value(bound, -1)

    def _p_value(self, bound: float, direction: int) -> float:
        look = self.size - self.pairs.fewest
        return float(self.pairs.path(bound, direction)[look]) if look >= 0 else 1.0


@dataclass(frozen=True)
class _Projected:
    """What a look after ``size`` pairs would say, means and deviations being as they are."""

    pairs: Pairs
    size: int

    def above(self, bound: float) -> float:
        return self._p_value(self.pairs.mean(bound), bound)

    def below(self, bound: float) -> float:
        return self._p_value(-self.pairs.mean(bound), bound)

    def _p_value(self, mean: float, bound: float) -> float:
        error = self.pairs.error(bound) * math.sqrt(len(self.pairs.left) / self.size)
        if mean <= 0.0:
            return 1.0
        statistic = mean / error if error > 0.0 else math.inf
        return min(1.0, 0.5 / anytime_e_value(statistic, self.size))


def decide_early(left: Measured, right: Measured | Limit, relation: Relation) -> Evidence:
    """What pairs of runs show of a relation, looked at after each: the n-th run of the left with that of the right.

    The bounds are those of ``decide``, and the verdict and its p-values are of the first look that gives one: with the
    truth on a bound HOLDS and VIOLATED each are given in at most alpha of all campaigns, however long they go on. Looks
    begin with the number of pairs of which the signs alone can be significant, 7 at alpha = 1 %. By the anytime-valid
    t-test of ``anytime_e_values``. The rest is of all pairs. A history is not used.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    pairs = _pairs(left, right, relation)
    sizes = len(left.runs), 0 if isinstance(right, Limit) else len(left.runs)
    means = float(pairs.left.mean()), float(pairs.right.mean())
    scale = scale_of(*means, sizes)
    bounds = relation.bounds(means[1])
    size = _first_decided(pairs, relation) or len(left.runs)
    holds, violated = p_values(pairs.at(size), bounds)
    several = len(left.runs) > 1
    return Evidence(
        verdict=verdict_of(holds, violated, relation.alpha),
        scale=scale,
        estimate=estimate_of(*means, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(pairs, *means, scale, relation.alpha) if several else None,
        detectable=detectable_of(pairs, relation, means[1], scale) if several else None,
        runs_needed=_needed(pairs, relation, size) if several else pairs.fewest,
        remark="" if len(left.runs) >= pairs.fewest else f"fewer than {pairs.fewest} pairs",
    )


def pairs_to_decide(left: Measured, right: Measured | Limit, relation: Relation) -> int | None:
    """After how many pairs ``decide_early`` first has a verdict; None where it has none.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    return _first_decided(_pairs(left, right, relation), relation)


def _first_decided(pairs: Pairs, relation: Relation) -> int | None:
    bounds = relation.bounds(float(pairs.right.mean()))
    looks = range(pairs.fewest, len(pairs.left) + 1)
    return next((size for size in looks if min(p_values(pairs.at(size), bounds)) <= relation.alpha), None)


def _pairs(left: Measured, right: Measured | Limit, relation: Relation) -> Pairs:
    if relation.sign is Sign.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    means = np.full(len(left.runs), right.value) if isinstance(right, Limit) else right.means
    if len(means) != len(left.runs):
        raise InputError(f"{len(left.runs)} runs and {len(means)} are no pairs", fix="measure both sides in turn")
    return Pairs(left.means, means, fewest_signs(2.0 * relation.alpha))


def _needed(pairs: Pairs, relation: Relation, size: int) -> int | None:
    """No fewer than there are, but where fewer have decided."""
    bounds = relation.bounds(float(pairs.right.mean()))
    found = needed(lambda runs: min(p_values(_Projected(pairs, runs), bounds)) <= relation.alpha, pairs.fewest)
    decided = min(p_values(pairs.at(size), bounds)) <= relation.alpha
    if decided or found is None:
        return size if decided else None
    return max(found, len(pairs.left) + 1)
