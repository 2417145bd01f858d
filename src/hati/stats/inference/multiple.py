"""Many tests at once: corrections, and options before interactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.effects.terms import Term

_LAMBDA = 0.5
"""P-values above it are taken for those of true null hypotheses."""


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: rejecting those up to alpha errs at all in at most alpha of all studies.

    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2),
    65-70: the i-th smallest of m is compared with alpha / (m - i + 1).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((holm_factors(p_values) * p_values)[order]))
    return adjusted


def holm_factors(p_values: FloatArray) -> FloatArray:
    """By what Holm's procedure divides alpha for each p-value: how many are not smaller.

    >>> holm_factors(np.array([0.01, 0.04, 0.03])).tolist()
    [3.0, 1.0, 2.0]
    """
    factors = np.empty(len(p_values))
    factors[np.argsort(p_values, kind="stable")] = np.arange(len(p_values), 0, -1)
    return factors


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values: rejecting up to alpha keeps the expected fraction of false rejections at alpha at most.

    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B
    57(1), 289-300: the i-th smallest of m is compared with i alpha / m.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    return _stepped_up(p_values, len(p_values))


def adaptive_benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """The same with the number of true null hypotheses estimated; no smaller than the p-values themselves.

    That number is (1 + #{p > 1/2}) / (1 - 1/2), no more than there are (Storey, Taylor and Siegmund 2004, Journal of
    the Royal Statistical Society B 66, 187-205, equation 9).

    >>> adaptive_benjamini_hochberg(np.array([0.01, 0.9])).tolist()
    [0.02, 0.9]
    """
    null = min(float(len(p_values)), (1 + np.count_nonzero(p_values > _LAMBDA)) / (1.0 - _LAMBDA))
    return np.maximum(_stepped_up(p_values, null), p_values)


def critical_p_value(others: FloatArray, alpha: float) -> float:
    """The largest p-value that ``adaptive_benjamini_hochberg`` rejects at alpha, up to 1/2, together with the others.

    >>> critical_p_value(np.array([0.9, 0.8, 0.7]), 0.01)
    0.0025
    """
    null = min(len(others) + 1.0, (1 + np.count_nonzero(others > _LAMBDA)) / (1.0 - _LAMBDA))
    limits = alpha * np.arange(1, len(others) + 2) / null
    reached = np.searchsorted(np.sort(others), limits, side="right") >= np.arange(len(others) + 1)
    return min(float(np.max(limits[reached])), alpha)


def _stepped_up(p_values: FloatArray, null: float) -> FloatArray:
    """Benjamini and Hochberg's adjustment for ``null`` true null hypotheses."""
    order = np.argsort(p_values, kind="stable")
    ratios = p_values[order] * null / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(ratios[::-1])[::-1])
    return adjusted


_ORPHANS = 0.05
"""The part of the study-wise error for interactions of options of which none was found."""
_HANDED_ON = 0.5
"""An option that was found hands on this part of its share to the interactions of found options."""

LargestOf = Callable[[FloatArray, int], FloatArray]
"""Probabilities that the largest of that number of statistics reaches these, where no effect is active."""


class Shares(Struct, frozen=True):
    """The split of the study-wise error between main effects of options and interactions, with the number of each."""

    options: int
    interactions: int

    @classmethod
    def of(cls, sets: Sequence[Sequence[Term]]) -> Shares:
        """Those of contrasts that may stand for these effects."""
        options = sum(len(members[0]) == 1 for members in sets)
        return cls(options, len(sets) - options)

    @property
    def orphans(self) -> float:
        """The part for interactions without a parent that was found."""
        if not self.options:
            return 1.0
        return _ORPHANS if self.interactions else 0.0

    def main_effects(self, left: int) -> float:
        """The part for main effects when ``left`` of them are left."""
        whole = 1.0 - self.orphans
        if not self.interactions or not left:
            return whole * bool(left)
        return whole * (left + (1.0 - _HANDED_ON) * (self.options - left)) / self.options


def options_first(sets: Sequence[Sequence[Term]], statistics: FloatArray, p_values: LargestOf) -> FloatArray:
    """Study-wise p-values of contrasts: rejecting those up to alpha errs at all in at most alpha of all studies.

    A gatekept, weighted form of Holm's procedure (the sequentially rejective graphs of Bretz, Maurer, Brannath and
    Posch 2009, Statistics in Medicine 28(4), 586-604). Main effects share .95 of alpha, interactions of options that
    were not found the rest. Each option that is found hands on half of its share to the options that are left, and half
    to the interactions with a parent that was found (weak heredity: Hamada and Wu 1992, Journal of Quality Technology
    24(3), 130-137); the last one hands on all. Within each of the three families the largest statistic is first.

    Args:
        sets: of each contrast the effects that it may stand for, a main effect first where there is one.
        statistics: their sizes in standard errors.
        p_values: the probability that the largest of that number of statistics reaches it.

    >>> holm = lambda statistics, tests: tests * 10.0**-statistics
    >>> options_first([[(0,)], [(1,)], [(0, 1)]], np.array([4.0, 1.0, 3.0]), holm).round(4).tolist()
    [0.0002, 0.1333, 0.0042]
    """
    parents = [_parents(members) for members in sets]
    options = {place for place, members in enumerate(sets) if len(members[0]) == 1}
    left = set(range(len(sets)))
    found = set[int]()
    adjusted, reached = np.ones(len(sets)), 0.0
    shares = Shares.of(sets)
    while left:
        heirs = {place for place in left - options if parents[place] & found}
        own = shares.main_effects(len(options & left))
        handed_on = 1.0 - shares.orphans - own
        families = ((options & left, own), (heirs, handed_on), (left - options - heirs, shares.orphans))
        steps = [_first(family, statistics, weight, p_values) for family, weight in families if family and weight > 0.0]
        p_value, place = min(steps, default=(1.0, -1))
        if p_value >= 1.0:
            break
        reached = max(reached, p_value)
        adjusted[place] = reached
        left.remove(place)
        if place in options:
            found.add(sets[place][0][0])
    return adjusted


def _first(family: set[int], statistics: FloatArray, weight: float, p_values: LargestOf) -> tuple[float, int]:
    place = max(family, key=lambda place: statistics[place])
    return float(p_values(statistics[[place]], len(family))[0]) / weight, place


def _parents(members: Sequence[Term]) -> set[int]:
    return {option for term in members if len(term) == 2 for option in term}
