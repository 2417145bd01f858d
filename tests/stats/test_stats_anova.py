"""The analysis of variance, beside that of statsmodels with sum coding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.stats import ModelTerms, SumOfSquares, anova

SIZES = (2, 3, 4)
NAMES = "abc"


def unbalanced(seed: int, runs: int = 240) -> tuple[Levels, FloatArray]:
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.choice(size, runs, p=_uneven(size)) for size in SIZES]).astype(np.int16)
    values = levels[:, 0] + 0.5 * levels[:, 1] * levels[:, 2] + rng.standard_normal(runs)
    return levels, values


def _uneven(size: int) -> FloatArray:
    weights = np.arange(1, size + 1, dtype=np.float64)
    return weights / weights.sum()


def terms_of(model: Model, levels: Levels) -> ModelTerms:
    matrix = model.matrix(levels)
    return ModelTerms(matrix[:, :1], {term: matrix[:, model.owners == i] for i, term in enumerate(model.terms)})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", list(SumOfSquares))
def test_unbalanced_data_agree_with_statsmodels(kind: SumOfSquares, seed: int) -> None:
    levels, values = unbalanced(seed)
    model = Model.of_order(SIZES, 2)
    found = anova(terms_of(model, levels), model.terms, values, kind)
    frame = pd.DataFrame(levels, columns=list(NAMES)).assign(y=values)
    formula = "y ~ (" + " + ".join(f"C({name}, Sum)" for name in NAMES) + ") ** 2"
    expected = anova_lm(ols(formula, frame).fit(), typ=kind.value)
    for row in found.rows:
        other = expected.loc[":".join(f"C({NAMES[option]}, Sum)" for option in row.term)]
        assert row.sum_of_squares == pytest.approx(other["sum_sq"], rel=1e-8)
        assert row.df == other["df"]
        assert row.f == pytest.approx(other["F"], rel=1e-8)
        assert row.p_value == pytest.approx(other["PR(>F)"], rel=1e-7)
    assert found.residual == pytest.approx(expected.loc["Residual", "sum_sq"], rel=1e-8)
    assert found.df == expected.loc["Residual", "df"]


def test_the_types_differ_where_an_interaction_is_unbalanced_and_agree_on_the_interaction() -> None:
    levels, values = unbalanced(9)
    model = Model.of_order(SIZES, 2)
    second, third = (anova(terms_of(model, levels), model.terms, values, kind).rows for kind in SumOfSquares)
    assert second[0].sum_of_squares != pytest.approx(third[0].sum_of_squares, rel=1e-3)
    assert second[-1].sum_of_squares == pytest.approx(third[-1].sum_of_squares)


def test_combinations_that_are_missing_cost_degrees_of_freedom() -> None:
    levels, values = unbalanced(5)
    kept = ~((levels[:, 0] == 1) & (levels[:, 1] == 2))
    model = Model((2, 3, 4), ((0,), (1,), (0, 1)))
    terms = terms_of(model, levels[kept])
    second, third = (anova(terms, model.terms, values[kept], kind) for kind in SumOfSquares)
    assert [row.df for row in second.rows] == [1, 2, 1]
    assert [row.df for row in third.rows] == [0, 1, 1]  # an average over combinations one of which is missing
    assert second.df == third.df == int(kept.sum()) - 5


def test_without_residuals_nothing_is_tested() -> None:
    levels = np.array([[0], [1]], dtype=np.int16)
    model = Model((2,), ((0,),))
    found = anova(terms_of(model, levels), model.terms, np.array([1.0, 3.0]), SumOfSquares.TYPE_2)
    assert (found.df, found.rows[0].f, found.rows[0].p_value) == (0, None, None)
    assert found.rows[0].sum_of_squares == pytest.approx(2.0)
