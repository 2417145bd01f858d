"""Which terms of a model are significant, all of them as one family: a step-down permutation test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.effects.terms import ModelTerms, Term, added_bases
from hati.stats.inference.distributions import f_above
from hati.stats.inference.multiple import Shares

PERMUTATIONS = 999
_SPARE = 0.25
"""All main effects are in the model together where they leave this part of the runs to the residuals."""
_LEAST_LEFT = 3
_MOST = 0.5
_EXACT = 1e-14


class StepDown(Struct, frozen=True, eq=False):
    """Terms found significant, in the order in which they were, and every candidate's study-wise p-value.

    ``terms`` are the candidates, with the interactions of three options that were looked for; ``model`` are those that
    the residuals are of; ``critical`` is the p-value of a single test below which one more main effect would have been
    found, and over its weight, in ``weights``, another term; ``unsought`` are the interactions that the last step did
    not look for.
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

    In each step every candidate is tested by F: main effects beside all others, interactions on top of them and of the
    interactions found so far. The smallest p-value is compared with the smallest ones of permuted residuals from the
    terms found so far (Freedman and Lane 1983; step-down maxima: Westfall and Young 1993, algorithm 4.1). If it is
    significant its term is found, and the next step begins. Without any effect the first step is exact whatever
    the noise is distributed like; later ones are as exact as the residuals are exchangeable. As terms join the family
    (below), no theorem bounds the probability over all steps by ``alpha``; it is measured in `benchmarks.aliasing`.

    An interaction of three options becomes a candidate once that of two of them is found: one combination of settings
    that is special shows in all of these, and what it does would be noise for all other effects.

    Interactions are looked for until one is found with which the model has more parameters than half of the runs: what
    such a model leaves is no longer like the noise.

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
    reached = 0.0
    while True:
        terms = terms.with_third_order(found)
        model = _model(terms, found)
        basis = terms.basis(model)
        unsought = _unsought(terms, found, basis.shape[1])
        tests = _tests(terms, model, basis, found, unsought)
        known = terms.basis(found)
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
        p_values[tests[place].term] = reached


def _model(terms: ModelTerms, found: Sequence[Term]) -> list[Term]:
    """All main effects and what was found, where the runs allow; else what was found."""
    whole = list(dict.fromkeys([*terms.main_effects, *found]))
    rank = terms.basis(whole).shape[1]
    return whole if terms.runs - rank >= max(_LEAST_LEFT, _SPARE * terms.runs) else list(found)


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
        if added.shape[1] and left >= _LEAST_LEFT:
            tests.append(_Test(term, added, inside, weights[term]))
    return tests


def _weights(terms: ModelTerms, found: Sequence[Term]) -> dict[Term, float]:
    """What the p-values of the terms that are left are multiplied by: 1 for main effects."""
    left = [term for term in terms if term not in found]
    mains = [term for term in left if len(term) == 1]
    heirs = [term for term in left if len(term) > 1 and any((option,) in found for option in term)]
    orphans = [term for term in left if term not in {*mains, *heirs}]
    shares = Shares(len(terms.main_effects), len(terms.interactions))
    own = shares.main_effects(len(mains))
    families = ((mains, own), (heirs, 1.0 - shares.orphans - own), (orphans, shares.orphans))
    each = [len(family) / part for family, part in families if family and part > 0.0]
    return {term: len(family) / part / each[0] for family, part in families if part > 0.0 for term in family}


def _given_others(terms: ModelTerms, term: Term, model: Sequence[Term], added: FloatArray) -> FloatArray:
    """What a term adds to all others, ``added``; where combinations are missing, to those that do not contain it.

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
    """The tests of the first column of values, and of every other one, a permutation, the smallest p-value.

    Of tests alike in degrees of freedom and weight the largest F has the smallest p-value, and where these are in the
    model alike the term that explains most has the largest F, so that few are computed.
    """
    residual = np.sum(drawn**2, axis=0) - np.sum((basis.T @ drawn) ** 2, axis=0)
    p_values, smallest = np.ones(len(tests)), np.full(drawn.shape[1] - 1, np.inf)
    alike = defaultdict[tuple[int, bool, float], list[int]](list)
    for row, test in enumerate(tests):
        alike[test.added.shape[1], test.inside, test.weight].append(row)
    for (df, inside, weight), rows in alike.items():
        explained, most = np.empty(len(rows)), np.zeros(len(smallest))
        for place, row in enumerate(rows):
            squares = np.sum((tests[row].added.T @ drawn) ** 2, axis=0)
            explained[place] = squares[0]
            np.maximum(most, squares[1:], out=most)
        left_df = len(basis) - basis.shape[1] - (0 if inside else df)
        first = _ratios(explained, residual[:1], df, left_df, _EXACT * total, inside=inside)
        largest = _ratios(most, residual[1:], df, left_df, _EXACT * total, inside=inside)
        p_values[rows] = weight * f_above(first, df, left_df)
        smallest = np.minimum(smallest, weight * f_above(largest, df, left_df))
    return _Tested(p_values, smallest)


def _ratios(
    explained: FloatArray, residual: FloatArray, df: int, left_df: int, least: float, *, inside: bool
) -> FloatArray:
    """F of what terms explain, which a residual of a model that they are in is without; below ``least`` is rounding."""
    left = np.maximum(residual if inside else residual - explained, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(explained > least, explained / df / (left / left_df), 0.0)
