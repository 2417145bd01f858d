"""Forward selection of terms by the corrected Akaike criterion, under weak heredity."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.design import Model
from hati.stats import ModelTerms, Term, forward_selection


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
