"""Effects by least squares, against their definitions and against statsmodels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from hati.core import FloatArray, generator
from hati.stats import Signs, contrasts, holm, least_squares, pure_error, t_two_sided

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
