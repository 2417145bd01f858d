"""Forward selection of terms by the corrected Akaike criterion, under weak heredity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.design import Model
from hati.stats import ModelTerms, Term, forward_selection, stability
from hati.stats.selection import first_selected, significant_steps


def terms_of(sizes: tuple[int, ...], runs: int, seed: int) -> tuple[ModelTerms, FloatArray]:
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.permutation(np.arange(runs) % size) for size in sizes]).astype(np.int16)
    model = Model.of_order(sizes, 2)
    matrix = model.matrix(levels)
    terms = ModelTerms(matrix[:, :1], {term: matrix[:, model.owners == i] for i, term in enumerate(model.terms)})
    return terms, rng.standard_normal(runs)


def corrected_akaike(terms: ModelTerms, chosen: list[Term], values: FloatArray) -> float:
    fit = sm.OLS(values, np.hstack([terms.always, *(terms.columns[term] for term in chosen)])).fit()
    parameters = fit.df_model + 2  # the intercept and the variance
    n = len(values)
    return float(-2 * fit.llf + 2 * parameters * n / (n - parameters - 1))


def test_every_step_is_the_best_by_statsmodels_likelihood_and_the_last_helps_no_more() -> None:
    terms, noise = terms_of((2, 3, 2, 4), 48, 7)
    values = noise + terms.columns[0,][:, 0] + terms.columns[0, 2][:, 0]
    chosen = forward_selection(terms, values)
    assert {(0,), (0, 2)} <= set(chosen)
    for step in range(len(chosen) + 1):
        before = list(chosen[:step])
        options = {o for term in before for o in term if len(term) == 1}
        open_ = [t for t in terms if t not in before and (len(t) == 1 or options & set(t))]
        scores = {t: corrected_akaike(terms, [*before, t], values) for t in open_}
        best = min(scores, key=lambda t: scores[t])
        if step < len(chosen):
            assert best == chosen[step]
        else:
            assert scores[best] >= corrected_akaike(terms, before, values)


def fraction(seed: int) -> tuple[ModelTerms, FloatArray]:
    """Pairs of terms of a regular fraction of 32 runs in random order, with many aliases, and values."""
    rng = np.random.default_rng(seed)
    base = np.array(list(product((-1.0, 1.0), repeat=5)))
    words = [word for size in (2, 3, 4, 5) for word in combinations(range(5), size)]
    made = [words[place] for place in rng.permutation(len(words))[: int(rng.integers(3, 11))]]
    runs = np.column_stack([base, *(base[:, list(word)].prod(axis=1) for word in made)])[rng.permutation(32)]
    terms = {t: runs[:, t].prod(axis=1)[:, None] for size in (1, 2) for t in combinations(range(runs.shape[1]), size)}
    active = rng.choice(runs.shape[1], 3, replace=False)
    values = rng.normal(0, 0.2, 32) + runs[:, active] @ rng.normal(3, 1, 3) + 1.5 * runs[:, active[:2]].prod(axis=1)
    return ModelTerms(np.ones((32, 1)), terms), values


@pytest.mark.parametrize("select", [lambda *each: significant_steps(*each).terms, forward_selection])
def test_the_first_of_aliased_terms_is_chosen(select: Callable[[ModelTerms, FloatArray], Sequence[Term]]) -> None:
    for seed in (1011, 1177, *range(200)):
        terms, values = fraction(seed)
        chosen = select(terms, values)
        for number, term in enumerate(chosen):
            options = {each for before in chosen[:number] if len(before) == 1 for each in before}
            every = list(terms)
            earlier = every[: every.index(term)]
            possible = [each for each in earlier if len(each) == 1 or options & set(each)]
            along = [abs(float(terms.columns[each][:, 0] @ terms.columns[term][:, 0])) for each in possible]
            assert max(along, default=0.0) < 31, (seed, term)


@given(st.integers(0, 2**32 - 1), st.integers(3, 30))
def test_weak_heredity_holds_and_residuals_are_left(seed: int, runs: int) -> None:
    terms, values = terms_of((2, 2, 3, 1), runs, seed)
    chosen = forward_selection(terms, values)
    for place, term in enumerate(chosen):
        assert len(term) == 1 or any((option,) in chosen[:place] for option in term)
    assert terms.basis(chosen).shape[1] <= runs - 2
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_equal_values_need_no_term(value: float) -> None:
    terms, _ = terms_of((2, 2, 3), 24, 1)
    assert forward_selection(terms, np.full(24, value)) == ()


def test_a_perfect_fit_ends_the_selection() -> None:
    terms, _ = terms_of((2, 2, 3, 2), 24, 1)
    assert forward_selection(terms, 5.0 + terms.columns[1,][:, 0]) == ((1,),)


def lasso(columns: FloatArray, values: FloatArray, penalty: float, start: FloatArray) -> FloatArray:
    """The Lasso's coefficients by coordinate descent: an implementation that has nothing in common with the path's."""
    x = columns - columns.mean(axis=0)
    x = x / np.sqrt(np.sum(x**2, axis=0))
    products, along = x.T @ x, (x.T @ (values - values.mean())).tolist()
    found = start.copy()
    for _ in range(2000):
        before = found.copy()
        for j, own in enumerate(along):
            partial = own - float(products[j] @ found) + float(found[j])
            found[j] = math.copysign(max(0.0, abs(partial) - penalty), partial)
        if np.max(np.abs(found - before)) < 1e-12:
            break
    return found


def entered(columns: FloatArray, values: FloatArray, steps: int) -> list[int]:
    """The columns in the order in which they enter as the penalty falls."""
    x = columns - columns.mean(axis=0)
    largest = float(np.max(np.abs((x / np.sqrt(np.sum(x**2, axis=0))).T @ (values - values.mean()))))
    found, coefficients = list[int](), np.zeros(x.shape[1])
    for share in np.linspace(0.999, 0.001, steps):
        coefficients = lasso(columns, values, share * largest, coefficients)
        found += [int(j) for j in np.flatnonzero(coefficients) if j not in found]
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_columns_enter_as_coordinate_descent_lets_them_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(20, 6))
    values = columns @ np.array([3.0, -2.0, 0.0, 0.0, 1.0, 0.0]) + rng.normal(size=20)
    order = first_selected(columns, values, 3)
    found = entered(columns, values, 100)
    assert set(order) <= set(found[: 3 + 1])  # two may enter between the same grid points
    assert order[0] == found[0]


@pytest.mark.parametrize(("seed", "order"), [(26, (1, 0, 3, 2, 4)), (84, (4, 0, 2, 3, 1)), (251, (3, 2, 1, 0, 4))])
def test_a_coefficient_that_reaches_zero_leaves(seed: int, order: tuple[int, ...]) -> None:
    """Without the Lasso's modification the last two of these correlated columns enter the other way round."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(5, 5))
    columns = rng.normal(size=(12, 5)) @ mix
    values = columns @ rng.normal(size=5) + rng.normal(size=12)
    assert first_selected(columns, values, 5) == tuple(entered(columns, values, 400)) == order


def test_constant_columns_never_enter() -> None:
    rng = np.random.default_rng(1)
    columns = np.column_stack([np.ones(12), rng.normal(size=12)])
    assert first_selected(columns, columns[:, 1] + 0.1 * rng.normal(size=12), 2) == (1,)


def test_active_terms_are_selected_nearly_always_and_inert_ones_seldom() -> None:
    rng = np.random.default_rng(2)
    signs = rng.choice([-1.0, 1.0], size=(64, 20))
    values = signs[:, 3] - 0.8 * signs[:, 7] + 0.5 * rng.normal(size=64)
    terms = ModelTerms(np.ones((64, 1)), {(j,): signs[:, [j]] for j in range(20)})
    found = stability(terms, values, 4, rng)
    assert min(found[(3,)], found[(7,)]) == 1.0
    inert = [share for term, share in found.items() if term not in {(3,), (7,)}]
    assert max(inert) < 0.9
    assert np.mean(inert) <= 2.0 / 18 + 1e-9  # four columns are let in, two of them are taken


def test_equal_generators_give_equal_shares() -> None:
    rng = np.random.default_rng(3)
    terms = ModelTerms(np.ones((16, 1)), {(j,): rng.normal(size=(16, 2)) for j in range(4)})
    values = rng.normal(size=16)
    assert stability(terms, values, 2, np.random.default_rng(5)) == stability(
        terms, values, 2, np.random.default_rng(5)
    )
