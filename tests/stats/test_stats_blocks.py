"""Blocks by one classification and by several whose effects add up, against least squares with indicators."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from hati.core import FloatArray, generator
from hati.stats import (
    Index,
    additive_blocks,
    block_cells,
    block_columns,
    box_cox,
    cell_columns,
    confounded_with_order,
    contrasts,
    least_squares,
    pure_error,
    successive_blocks,
    unit_means,
    within_residuals,
    without_blocks,
    without_means,
)

RUNS = 24
SEEDS = st.integers(0, 2**32 - 1)
REPETITIONS, MACHINES = np.repeat([0, 1, 2], 8), np.array([0, 1, 2, 0, 2, 1, 0, 0] * 3)
SIGNS = np.array([[1 if (row >> option) & 1 else -1 for option in range(3)] for row in range(8)], dtype=np.int8)


@st.composite
def classified(draw: st.DrawFn) -> Index:
    """Two or three classifications, with numbers that do not occur, equal and constant classifications among them."""
    each = [draw(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=RUNS, max_size=RUNS)) for _ in range(2)]
    more = draw(st.sampled_from([[], [each[0]], [[3] * RUNS]]))
    return np.array([*each, *more], dtype=np.intp).T


def indicators(classes: Index) -> FloatArray:
    return np.asarray(classes[:, None] == np.unique(classes)[None, :], dtype=float)


def every_indicator(blocks: Index) -> FloatArray:
    return np.hstack([indicators(each) for each in np.atleast_2d(blocks.T)])


def residuals(values: FloatArray, columns: FloatArray) -> FloatArray:
    return np.asarray(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def drawn(seed: int, *shape: int) -> FloatArray:
    return generator(seed, "values").standard_normal(shape)


@given(classified(), SEEDS)
def test_what_is_left_without_blocks_is_the_residual_of_a_fit_with_indicators(blocks: Index, seed: int) -> None:
    columns = drawn(seed, RUNS, 3)
    assert without_blocks(columns, blocks) == pytest.approx(residuals(columns, every_indicator(blocks)), abs=1e-10)


@given(classified())
def test_the_columns_of_blocks_are_independent_and_span_all_indicators(blocks: Index) -> None:
    columns, whole = block_columns(blocks), every_indicator(blocks)
    rank = np.linalg.matrix_rank(whole)
    assert columns.shape[1] == np.linalg.matrix_rank(columns) == rank
    assert np.linalg.matrix_rank(np.hstack([columns, whole])) == rank


@given(classified())
def test_classifications_that_another_determines_add_nothing(blocks: Index) -> None:
    reduced = additive_blocks(blocks)
    assert np.linalg.matrix_rank(every_indicator(reduced)) == np.linalg.matrix_rank(every_indicator(blocks))
    assert reduced.ndim == 1 or reduced.shape[1] <= blocks.shape[1]


@given(classified(), SEEDS)
def test_pure_error_is_the_residual_variance_of_configurations_and_indicators(blocks: Index, seed: int) -> None:
    rows, values = np.arange(RUNS) % 6, drawn(seed, RUNS)
    model = np.hstack([indicators(rows), every_indicator(blocks)])
    df = RUNS - int(np.linalg.matrix_rank(model))
    left = residuals(values, model)
    variance, own_df = pure_error(values, rows, blocks)
    assert own_df == df
    assert variance == pytest.approx(float(left @ left) / df, rel=1e-8)
    assert within_residuals(values, rows, blocks)[0] == pytest.approx(left, abs=1e-10)


def test_there_is_no_pure_error_where_blocks_and_configurations_take_all_runs() -> None:
    rows, blocks = np.array([0, 1, 0, 1]), np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert pure_error(np.array([1.0, 2.0, 3.0, 5.0]), rows, blocks) == (0.0, 0)


@given(SEEDS)
def test_effects_are_those_of_a_regression_with_indicators(seed: int) -> None:
    """Of the repetitions and of the machines, from 21 of 24 runs."""
    kept = np.sort(generator(seed, "kept").permutation(24)[:21])
    rows, blocks = np.tile(np.arange(8), 3)[kept], additive_blocks(REPETITIONS, MACHINES)[kept]
    values = drawn(seed, 21)
    fit = least_squares(contrasts(SIGNS), rows, blocks)
    signs = SIGNS[rows].astype(float)
    columns = np.column_stack([signs[:, list(term)].prod(axis=1) for term in fit.terms])
    expected = sm.OLS(values, np.hstack([columns, block_columns(blocks)])).fit()
    assert fit.effects(values) == pytest.approx(2.0 * expected.params[: len(fit.terms)], abs=1e-10)
    assert len(fit.terms) + len(fit.remainder) == 21 - block_columns(blocks).shape[1]
    assert fit.remainder @ block_columns(blocks) == pytest.approx(np.zeros((len(fit.remainder), 5)), abs=1e-10)


def test_repetitions_on_machines_that_each_run_all_rows_are_complete() -> None:
    blocks = additive_blocks(np.repeat([0, 0, 1, 1], 8), np.repeat([0, 1, 0, 1], 8))
    fit = least_squares(contrasts(SIGNS), np.tile(np.arange(8), 4), blocks)
    assert blocks.shape == (32, 2)
    assert fit.correlation is None
    assert len(fit.terms) == 7


@given(SEEDS)
def test_means_of_units_are_adjusted_for_all_classifications(seed: int) -> None:
    blocks, values = additive_blocks(REPETITIONS, MACHINES), drawn(seed, RUNS)
    units = generator(seed, "units").permutation(RUNS) % 5
    shifts = block_columns(blocks)[:, 1:]
    expected = np.linalg.lstsq(np.hstack([indicators(units), shifts - shifts.mean(axis=0)]), values, rcond=None)[0]
    assert unit_means(values, units, blocks) == pytest.approx(expected[:5], abs=1e-9)


def test_the_likelihood_of_powers_is_that_with_indicators_in_the_model() -> None:
    values, model = np.exp(drawn(1, RUNS)), np.tile([[1.0], [-1.0]], (12, 1))
    blocks = additive_blocks(REPETITIONS, MACHINES)
    found = box_cox(values, model, blocks)
    whole = box_cox(values, np.hstack([model, block_columns(blocks)]), np.zeros(RUNS, dtype=np.intp))
    assert found.power == pytest.approx(whole.power, abs=1e-6)
    assert found.log_gain == pytest.approx(whole.log_gain, abs=1e-6)


def test_order_is_compared_within_blocks_of_all_classifications() -> None:
    """A column that differs from the machine and the repetition by nothing but the order is confounded with it."""
    blocks, order = additive_blocks(REPETITIONS, MACHINES), np.arange(float(RUNS))
    within = without_blocks(order[:, None], blocks)
    columns = np.hstack([within + 50.0 * MACHINES[:, None], drawn(1, RUNS, 1)])
    assert confounded_with_order(columns, order, blocks).tolist() == [0]


@given(st.lists(st.integers(0, 3), min_size=RUNS, max_size=RUNS).map(np.array), SEEDS)
def test_one_classification_gives_what_its_means_give(blocks: Index, seed: int) -> None:
    columns = drawn(seed, RUNS, 2)
    once: Index = np.zeros(RUNS, dtype=np.intp)
    assert np.array_equal(without_blocks(columns, blocks), without_means(columns, blocks))
    assert np.array_equal(block_columns(blocks), indicators(blocks))
    assert np.array_equal(cell_columns(blocks), np.eye(len(np.unique(blocks))))
    for same in (additive_blocks(blocks), additive_blocks(blocks, once), additive_blocks(blocks, blocks)):
        assert np.array_equal(same, blocks)
        assert np.array_equal(block_cells(same), blocks)


def test_runs_are_in_one_cell_if_all_their_classes_are_the_same() -> None:
    blocks = additive_blocks(np.array([0, 0, 1, 1, 0]), np.array([0, 1, 0, 1, 1]))
    assert block_cells(blocks).tolist() == [0, 1, 2, 3, 1]
    assert cell_columns(blocks).tolist() == [[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]


@pytest.mark.parametrize("first", [np.repeat([0, 1], 4), additive_blocks(np.repeat([0, 1], 4), np.tile([0, 1], 4))])
@pytest.mark.parametrize("last", [np.zeros(8, dtype=int), additive_blocks(np.repeat([0, 1], 4), np.tile([0, 1], 4))])
def test_later_runs_share_no_block_with_earlier_ones(first: Index, last: Index) -> None:
    both = successive_blocks(first, last)
    apart = np.kron([[1, 0], [0, 0]], every_indicator(first)), np.kron([[0, 0], [0, 1]], every_indicator(last))
    whole = np.hstack(apart)
    assert np.linalg.matrix_rank(np.hstack([whole, block_columns(both)])) == np.linalg.matrix_rank(whole)
    assert block_columns(both).shape[1] == np.linalg.matrix_rank(whole)


def test_blocks_of_no_runs_have_no_columns() -> None:
    none: Index = np.zeros(0, dtype=np.intp)
    assert block_columns(additive_blocks(none, none)).shape == (0, 0)
