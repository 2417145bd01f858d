"""Many tests at once: corrections, options before interactions, and a step-down permutation test of a model's terms."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.distributions import f_above
from hati.stats.terms import LEAST_LEFT, ModelTerms, Term, added_bases, added_basis

_LAMBDA = 0.5
"""P-values above this are attributed to true null hypotheses."""


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: rejecting those up to alpha keeps the family-wise error rate at alpha at most.

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
    """The divisor of alpha in Holm's procedure for each p-value: the number of p-values that are not smaller.

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
    """Benjamini-Hochberg p-values with the number of true null hypotheses estimated; never below the p-values.

    That number is (1 + #{p > 1/2}) / (1 - 1/2), at most the number of tests (Storey, Taylor and Siegmund 2004, Journal
    of the Royal Statistical Society B 66, 187-205, equation 9).

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
"""The fraction of the study-wise error for interactions of options none of which was found."""
_HANDED_ON = 0.5
"""The fraction of its share that a found option hands on to the interactions of found options."""

LargestOf = Callable[[FloatArray, int], FloatArray]
"""Probabilities that the largest of that number of statistics reaches these, where no effect is active."""


class Shares(Struct, frozen=True):
    """The split of the study-wise error between main effects of options and interactions, with the number of each."""

    options: int
    interactions: int

    @classmethod
    def of(cls, sets: Sequence[Sequence[Term]]) -> Shares:
        """The split for contrasts with these alias sets, main effects first in each."""
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
    """Study-wise p-values of contrasts: rejecting those up to alpha keeps the study-wise error at alpha at most.

    A gatekept, weighted form of Holm's procedure (the sequentially rejective graphs of Bretz, Maurer, Brannath and
    Posch 2009, Statistics in Medicine 28(4), 586-604). Main effects share .95 of alpha, interactions of options that
    were not found the rest. Each option that is found hands on half of its share to the options that are left, and half
    to the interactions with a parent that was found (weak heredity: Hamada and Wu 1992, Journal of Quality Technology
    24(3), 130-137); the last one hands on all. Within each of the three families the largest statistic is first.

    Args:
        sets: for each contrast the effects that it may stand for, a main effect first if there is one.
        statistics: their sizes in standard errors.
        p_values: the probability that the largest of that number of statistics reaches it.

    >>> holm = lambda statistics, tests: tests * 10.0**-statistics
    >>> options_first([[(0,)], [(1,)], [(0, 1)]], np.array([4.0, 1.0, 3.0]), holm).round(4).tolist()
    [0.0002, 0.1404, 0.0042]
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


PERMUTATIONS = 999
_SPARE = 0.25
"""All main effects are in the model together where they leave this part of the runs to the residuals."""
_MOST = 0.5
_EXACT = 1e-14


class StepDown(Struct, frozen=True, eq=False):
    """Terms found significant, in the order of discovery, and every candidate's study-wise p-value.

    ``terms`` are the candidates, including the interactions of three options that were tested; ``model`` holds the
    terms whose fit leaves the residuals. ``critical`` is the p-value of a single test below which one more main effect
    would have been found; for another term it is divided by the term's weight in ``weights``. ``unsought`` are the
    interactions that the last step did not test.
    """

    significant: tuple[Term, ...]
    p_values: Mapping[Term, float]
    terms: ModelTerms
    model: tuple[Term, ...]
    critical: float
    unsought: tuple[Term, ...]
    weights: Mapping[Term, float]


class _Test(NamedTuple):
    """One term's test: an orthonormal basis of what it adds, whether it is in the model, and its p-values' weight."""

    term: Term
    added: FloatArray
    inside: bool
    weight: float


def step_down(terms: ModelTerms, values: FloatArray, alpha: float, rng: np.random.Generator) -> StepDown:
    """Find the significant terms, with probability ``alpha`` of any false one.

    In each step every candidate is tested by F: main effects given all others, interactions given them and the
    interactions found so far. The smallest p-value is compared with the smallest ones of permuted residuals from the
    terms found so far (Freedman and Lane 1983; step-down maxima: Westfall and Young 1993, algorithm 4.1). If it is
    significant its term is found, and the next step begins. Without any effect the first step is exact for any
    distribution of the noise; later ones are as exact as the residuals are exchangeable. As terms join the family
    (below), no theorem bounds the probability over all steps by ``alpha``; it is measured in `benchmarks.aliasing`.

    An interaction of three options becomes a candidate once that of two of them is found: a special combination of
    settings shows in all of these, and its effect would otherwise be noise for all other effects.

    Interactions are tested until the model has more parameters than half of the runs: the residuals of such a model no
    longer resemble the noise.

    The study-wise error is shared as in `options_first`: p-values of interactions are multiplied so that their family
    has its share (effect sparsity and heredity, as prior weights).

    Args:
        terms: the candidates.
        values: shape (runs,), on the deciding scale.
        alpha: the study-wise error.
        rng: for the permutations.
    """
    values = values - values[0]  # so that equal values are zero, not what rounding leaves of their mean
    found = list[Term]()
    p_values = dict[Term, float]()
    order = np.array([rng.permutation(terms.runs) for _ in range(PERMUTATIONS)])
    reached, known = 0.0, terms.basis(())
    while True:
        terms = terms.with_third_order(found)
        model, basis = _model(terms, found)
        unsought = _unsought(terms, found, basis.shape[1])
        tests = _tests(terms, model, basis, found, unsought)
        residual = values - known @ (known.T @ values)
        drawn = np.column_stack([residual, residual[order].T])
        if not tests:
            return StepDown(tuple(found), p_values, terms, tuple(model), 0.0, unsought, {})
        tested = _tested(tests, drawn, basis, float(np.sum((values - values.mean()) ** 2)))
        weighted, smallest = tested.p_values, np.sort(tested.smallest)
        place = int(np.argmin(weighted))
        adjusted = (1.0 + np.searchsorted(smallest, weighted, side="right")) / (1.0 + PERMUTATIONS)
        reached = max(reached, float(adjusted[place]))
        if adjusted[place] > alpha:
            p_values |= {test.term: max(reached, float(p)) for test, p in zip(tests, adjusted, strict=True)}
            critical = float(smallest[max(0, int(alpha * (PERMUTATIONS + 1)) - 1)])
            return StepDown(tuple(found), p_values, terms, tuple(model), critical, unsought, _weights(terms, found))
        found.append(tests[place].term)
        known = np.hstack([known, added_basis(terms.columns[found[-1]], known)])
        p_values[tests[place].term] = reached


def _model(terms: ModelTerms, found: Sequence[Term]) -> tuple[list[Term], FloatArray]:
    """All main effects and what was found, where the runs allow, else what was found; with its orthonormal basis."""
    whole = list(dict.fromkeys([*terms.main_effects, *found]))
    basis = terms.basis(whole)
    return (whole, basis) if terms.runs >= runs_for_all(basis.shape[1]) else (list(found), terms.basis(found))


def runs_for_all(parameters: int) -> int:
    """The fewest runs with which a model has all main effects together, ``parameters`` with the mean and a trend.

    >>> runs_for_all(15)
    20
    """
    return max(parameters + LEAST_LEFT, math.ceil(parameters / (1.0 - _SPARE)))


def _unsought(terms: ModelTerms, found: Sequence[Term], rank: int) -> tuple[Term, ...]:
    if rank <= _MOST * terms.runs or all(len(term) == 1 for term in found):
        return ()
    return tuple(term for term in terms.interactions if term not in found)


def _tests(
    terms: ModelTerms, model: Sequence[Term], basis: FloatArray, found: Sequence[Term], unsought: Sequence[Term]
) -> list[_Test]:
    tests = list[_Test]()
    weights = _weights(terms, found)
    given_all = terms.added_to_others(model)
    known, within = {*found, *unsought}, set(model)
    outside = [term for term in terms if term not in known and term not in within]
    beyond = dict(zip(outside, added_bases([terms.columns[term] for term in outside], basis), strict=True))
    for term in terms:
        if term in known:
            continue
        inside = term in within
        added = _given_others(terms, term, model, given_all[term]) if inside else beyond[term]
        left = terms.runs - basis.shape[1] - (0 if inside else added.shape[1])
        if added.shape[1] and left >= LEAST_LEFT:
            tests.append(_Test(term, added, inside, weights[term]))
    return tests


def _weights(terms: ModelTerms, found: Sequence[Term]) -> dict[Term, float]:
    """The factors of the remaining terms' p-values: 1 for main effects."""
    known = set(found)
    left = [term for term in terms if term not in known]
    mains = [term for term in left if len(term) == 1]
    named = {term[0] for term in found if len(term) == 1}
    heirs = [term for term in left if len(term) > 1 and not named.isdisjoint(term)]
    orphans = [term for term in left if len(term) > 1 and named.isdisjoint(term)]
    shares = Shares(len(terms.main_effects), len(terms.interactions))
    own = shares.main_effects(len(mains))
    families = ((mains, own), (heirs, 1.0 - shares.orphans - own), (orphans, shares.orphans))
    each = [len(family) / part for family, part in families if family and part > 0.0]
    return {term: len(family) / part / each[0] for family, part in families if part > 0.0 for term in family}


def _given_others(terms: ModelTerms, term: Term, model: Sequence[Term], added: FloatArray) -> FloatArray:
    """What a term adds to all others (``added``) or, where combinations are missing, to those that do not contain it.

    These are the hypotheses of types III and II of the analysis of variance.
    """
    others = [other for other in model if other != term]
    free = [other for other in others if not set(term) < set(other)]
    if added.shape[1] == terms.columns[term].shape[1] or len(free) == len(others):
        return added
    return terms.added(term, free)


class _Tested(NamedTuple):
    """Each test's weighted p-value, and the smallest one of each permutation."""

    p_values: FloatArray
    smallest: FloatArray


def _tested(tests: Sequence[_Test], drawn: FloatArray, basis: FloatArray, total: float) -> _Tested:
    """Test the first column of ``drawn``, the values; take the smallest p-value of every other column, a permutation.

    Among tests with equal degrees of freedom and weight, the largest F has the smallest p-value; if they are also alike
    in or out of the model, the term that explains most has the largest F. So few p-values are computed.
    """
    residual = np.sum(drawn**2, axis=0) - np.sum((basis.T @ drawn) ** 2, axis=0)
    p_values, smallest = np.ones(len(tests)), np.full(drawn.shape[1] - 1, np.inf)
    alike = defaultdict[tuple[int, bool, float], list[int]](list)
    for row, test in enumerate(tests):
        alike[test.added.shape[1], test.inside, test.weight].append(row)
    for (df, inside, weight), rows in alike.items():
        squares = _squares([tests[row].added for row in rows], drawn)
        explained, most = squares[:, 0], squares[:, 1:].max(axis=0)
        left_df = len(basis) - basis.shape[1] - (0 if inside else df)
        first = _ratios(explained, residual[:1], df, left_df, _EXACT * total, inside=inside)
        largest = _ratios(most, residual[1:], df, left_df, _EXACT * total, inside=inside)
        p_values[rows] = weight * f_above(first, df, left_df)
        smallest = np.minimum(smallest, weight * f_above(largest, df, left_df))
    return _Tested(p_values, smallest)


def _squares(bases: Sequence[FloatArray], columns: FloatArray) -> FloatArray:
    """The sums of squares of the columns within orthonormal bases of one rank, shape (bases, columns)."""
    along = np.hstack(bases).T @ columns
    np.square(along, out=along)
    return np.asarray(along.reshape(len(bases), -1, columns.shape[1]).sum(axis=1))


def _ratios(
    explained: FloatArray, residual: FloatArray, df: int, left_df: int, least: float, *, inside: bool
) -> FloatArray:
    """F of explained sums of squares; ``residual`` excludes these where ``inside``; below ``least`` is rounding."""
    left = np.maximum(residual if inside else residual - explained, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(explained > least, explained / df / (left / left_df), 0.0)
