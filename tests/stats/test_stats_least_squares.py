"""Effects by least squares, against their definitions and against statsmodels.

The analysis of variance, beside that of statsmodels with sum coding.

How much of the variation a few options explain together, beside statsmodels' model with all interactions.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

from hati.core import FloatArray, generator
from hati.design import Levels, Model
from hati.stats import (
    ModelTerms,
    Signs,
    SumOfSquares,
    anova,
    contrasts,
    explained,
    holm,
    least_squares,
    pure_error,
    rank_by_explained,
    t_two_sided,
)

# The RES paper, Table 1: the design 2^(4-1) of resolution IV with D = ABC, - first setting, + second.
TABLE_1 = np.array(
    [
        [-1, -1, -1, -1],
        [1, -1, -1, 1],
        [-1, 1, -1, 1],
        [1, 1, -1, -1],
        [-1, -1, 1, 1],
        [1, -1, 1, -1],
        [-1, 1, 1, -1],
        [1, 1, 1, 1],
    ],
    dtype=np.int8,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8).map(np.array)


def once(matrix: Signs) -> tuple[FloatArray, FloatArray]:
    return np.arange(len(matrix)), np.zeros(len(matrix), dtype=int)


def z(values: FloatArray, *conditions: FloatArray) -> float:
    """The mean over the runs where all conditions hold, as the RES paper writes it."""
    return float(values[np.logical_and.reduce(conditions)].mean())


def test_the_columns_of_table_1_are_as_its_aliasing_says() -> None:
    assert np.array_equal(TABLE_1[:, 3], TABLE_1[:, :3].prod(axis=1))


@given(VALUES)
def test_main_effects_of_table_1_are_equation_1_with_the_sign_turned(values: FloatArray) -> None:
    fit = least_squares(contrasts(TABLE_1), *once(TABLE_1))
    effects = fit.effects(values)
    for factor in range(4):
        plus = TABLE_1[:, factor] == 1
        main = z(values, ~plus) - z(values, plus)  # ME(A) = z(A-) - z(A+)
        assert effects[fit.terms.index((factor,))] == pytest.approx(-main, rel=1e-9, abs=1e-6)


@given(VALUES)
def test_interactions_of_table_1_are_equations_2_and_3_with_the_sign_turned(values: FloatArray) -> None:
    fit = least_squares(contrasts(TABLE_1), *once(TABLE_1))
    effects = fit.effects(values)
    for a, b in [term for term in fit.terms if len(term) == 2]:
        for one, other in ((a, b), (b, a)):
            plus, given_plus = TABLE_1[:, one] == 1, TABLE_1[:, other] == 1
            at_plus = z(values, given_plus, ~plus) - z(values, given_plus, plus)  # ME(A | B+)
            at_minus = z(values, ~given_plus, ~plus) - z(values, ~given_plus, plus)  # ME(A | B-)
            interaction = 0.5 * (at_plus - at_minus)  # INT(A, B)
            assert effects[fit.terms.index((a, b))] == pytest.approx(-interaction, rel=1e-9, abs=1e-6)


def replicated(matrix: Signs, repetitions: int) -> tuple[FloatArray, FloatArray]:
    return np.tile(np.arange(len(matrix)), repetitions), np.repeat(np.arange(repetitions), len(matrix))


def statsmodels_fit(
    matrix: Signs, terms: list[tuple[int, ...]], values: FloatArray, rows: FloatArray, blocks: FloatArray
) -> sm.regression.linear_model.RegressionResultsWrapper:
    columns = np.column_stack([matrix[:, list(term)].prod(axis=1) for term in terms])[rows]
    levels = np.column_stack([blocks == b for b in np.unique(blocks)]).astype(float)
    return sm.OLS(values, np.hstack([columns, levels])).fit()


@pytest.mark.parametrize("lost", [0, 5])
def test_effects_errors_and_p_values_are_those_of_statsmodels(lost: int) -> None:
    """All seven contrasts and the blocks use up what configurations plus blocks do: the residual is pure error."""
    rng = generator(7, "statsmodels", str(lost))
    rows, blocks = replicated(TABLE_1, 3)
    kept = np.sort(rng.permutation(24)[lost:])
    rows, blocks = rows[kept], blocks[kept]
    values = rng.normal(10.0, 1.0, len(rows)) + 2.0 * TABLE_1[rows, 1] + blocks
    found = contrasts(TABLE_1)
    fit = least_squares(found, rows, blocks)
    theirs = statsmodels_fit(TABLE_1, list(fit.terms), values, rows, blocks)
    variance, df = pure_error(values, rows, blocks)
    errors = np.sqrt(variance * fit.variances)
    assert fit.missing == ()
    assert df == theirs.df_resid
    assert fit.effects(values) == pytest.approx(2 * theirs.params[:7], rel=1e-9)
    assert errors == pytest.approx(2 * theirs.bse[:7], rel=1e-9)
    p_values = t_two_sided(fit.effects(values) / errors, df)
    assert p_values == pytest.approx(theirs.pvalues[:7], rel=1e-7)
    assert holm(p_values) == pytest.approx(multipletests(theirs.pvalues[:7], method="holm")[1], rel=1e-7)


def test_a_shift_of_a_block_touches_nothing() -> None:
    rng = generator(8, "blocks")
    rows, blocks = replicated(TABLE_1, 3)
    values = rng.normal(size=24)
    shifted = values + np.array([0.0, 100.0, -7.0])[blocks]
    fit = least_squares(contrasts(TABLE_1), rows, blocks)
    assert fit.effects(shifted) == pytest.approx(fit.effects(values), abs=1e-12)
    assert pure_error(shifted, rows, blocks)[0] == pytest.approx(pure_error(values, rows, blocks)[0])


def test_runs_that_are_there_once_have_no_pure_error() -> None:
    rows, blocks = once(TABLE_1)
    assert pure_error(np.arange(8.0), rows, blocks) == (0.0, 0)


def test_rounding_is_no_effect_and_no_error() -> None:
    rows, blocks = replicated(TABLE_1, 3)
    values = np.full(24, 0.1) + 0.3 * (TABLE_1[rows, 0] == 1)
    effects = least_squares(contrasts(TABLE_1), rows, blocks).effects(values)
    assert effects[0] == pytest.approx(0.3)
    assert not np.any(effects[1:])
    assert pure_error(values, rows, blocks) == (0.0, 14)


@given(st.sets(st.integers(0, 15), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_with_rows_lost_every_kept_effect_is_estimated_without_bias_from_the_others_kept(
    lost: set[int], random: object
) -> None:
    """A model of the kept effects alone is recovered exactly, whatever rows are lost."""
    matrix = np.array([[(i >> j & 1) * 2 - 1 for j in range(4)] for i in range(16)], dtype=np.int8)
    rows = np.array(sorted(set(range(16)) - lost))
    fit = least_squares(contrasts(matrix), rows, np.zeros(len(rows), dtype=int))
    truth = np.linspace(-1.0, 2.0, len(fit.terms))
    columns = [matrix[rows][:, list(term)].prod(axis=1) for term in fit.terms]
    values = 5.0 + sum((t / 2 * column for t, column in zip(truth, columns, strict=True)), start=np.zeros(len(rows)))
    assert fit.effects(values) == pytest.approx(truth, abs=1e-9)
    pairs = [term for size in (1, 2) for term in combinations(range(4), size)]
    assert sorted([*fit.terms, *fit.missing]) == sorted(pairs)
    assert len(fit.terms) + len(fit.remainder) == len(rows) - 1
    if len(fit.remainder):
        assert fit.remainder @ fit.remainder.T == pytest.approx(np.eye(len(fit.remainder)), abs=1e-9)
        assert fit.remainder @ values == pytest.approx(0.0, abs=1e-9)


def test_an_option_with_one_setting_left_is_named_and_its_aliases_are_told() -> None:
    """Where every run with D+ failed, D cannot be estimated, and what is left of ABC = D neither."""
    rows = np.flatnonzero(TABLE_1[:, 3] == -1)
    fit = least_squares(contrasts(TABLE_1), rows, np.zeros(4, dtype=int))
    assert (3,) in fit.missing
    assert fit.terms == ((0,), (1,), (2,))
    assert (1, 2) in fit.aliases[0]


def test_the_variances_are_those_of_the_operator() -> None:
    rng = generator(9, "variances")
    rows, blocks = replicated(TABLE_1, 2)
    rows, blocks = rows[3:], blocks[3:]
    fit = least_squares(contrasts(TABLE_1), rows, blocks)
    simulated = fit.operator @ rng.standard_normal((len(rows), 20_000))
    assert simulated.std(axis=1) == pytest.approx(np.sqrt(fit.variances), rel=0.03)
    assert fit.correlation is not None
    assert np.corrcoef(simulated) == pytest.approx(fit.correlation, abs=0.04)


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


@pytest.mark.parametrize("options", [(0,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_it_is_r_squared_of_the_model_with_all_interactions(options: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    levels = np.column_stack([rng.integers(0, size, 90) for size in (2, 3, 4)]).astype(np.int16)
    values = levels[:, 0] * levels[:, 2] + rng.standard_normal(90)
    frame = pd.DataFrame(levels, columns=list("abc")).assign(y=values)
    expected = ols("y ~ " + " * ".join(f"C({'abc'[option]})" for option in options), frame).fit().rsquared
    assert explained(levels, values, options) == pytest.approx(expected, abs=1e-10)


def test_an_inactive_option_has_one_more_setting() -> None:
    levels = np.array([[0, -1], [0, -1], [1, 0], [1, 1]], dtype=np.int16)
    assert explained(levels, np.array([0.0, 0.0, 3.0, 5.0]), [1]) == pytest.approx(1.0)
    assert explained(levels, np.array([0.0, 0.0, 3.0, 5.0]), [0]) == pytest.approx(1.0 - 2.0 / 18.0)


def test_nothing_is_explained_of_nothing_or_by_nothing() -> None:
    levels = np.zeros((3, 2), dtype=np.int16)
    assert explained(levels, np.ones(3), [0]) == 0.0
    assert explained(levels, np.arange(3.0), []) == 0.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 40))
def test_the_ranking_has_every_option_once_and_begins_in_the_best_pair(seed: int, options: int, runs: int) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 4, (runs, options)).astype(np.int16)
    values = rng.standard_normal(runs)
    ranked = rank_by_explained(levels, values)
    assert sorted(ranked) == list(range(options))
    pairs = [explained(levels, values, pair) for pair in combinations_with_replacement(range(options), 2)]
    with_first = [explained(levels, values, [ranked[0], option]) for option in range(options)]
    assert max(with_first) == pytest.approx(max(pairs))
    shares = [explained(levels, values, ranked[:k]) for k in range(options + 1)]
    assert all(less <= more + 1e-9 for less, more in pairwise(shares))


def test_options_that_act_only_together_come_after_one_of_them_that_acts() -> None:
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 2, (400, 4)).astype(np.int16)
    signs = 2.0 * levels - 1.0
    values = 2.0 * signs[:, 3] + 1.5 * signs[:, 3] * signs[:, 1] + 0.5 * signs[:, 0]
    assert rank_by_explained(levels, values) == (3, 1, 0, 2)


def test_an_option_is_ranked_without_what_the_option_explains_that_it_depends_on() -> None:
    """Between 0 and 1 the first option changes more than the second does, which is active only at 1."""
    levels = np.array([[0, -1, 0], [0, -1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]] * 2, dtype=np.int16)
    values = 130.0 * levels[:, 0] + 50.0 * np.where(levels[:, 1] < 0, 0.0, 2.0 * levels[:, 1] - 1.0) + levels[:, 2]
    assert rank_by_explained(levels, values) == (0, 1, 2)
