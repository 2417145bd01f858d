"""Configurations as levels, and the columns of linear models."""

from __future__ import annotations

import numpy as np
import patsy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import Model, from_levels, levels, setting_contrasts
from hati.space import Option, Space, enumerate_configurations, parse_formula
from spaces import spaces


@given(spaces())
def test_levels_and_back(space: Space) -> None:
    found = tuple(enumerate_configurations(space))
    rows = levels(found, space)
    assert rows.shape == (len(found), len(space.options))
    assert from_levels(rows, space) == found
    inactive = [[option.name not in configuration for option in space.options] for configuration in found]
    assert np.array_equal(rows == -1, np.array(inactive, dtype=bool).reshape(rows.shape))


def test_a_foreign_setting_is_refused_and_types_count() -> None:
    space = Space((Option("a", (0, 1), default=0),))
    with pytest.raises(InputError, match="not a setting of option 'a'"):
        levels([{"a": True}], space)


@given(st.integers(1, 9))
def test_contrasts_are_orthogonal_and_span_sum_coding(settings: int) -> None:
    coded = setting_contrasts(settings)
    assert coded.shape == (settings, settings - 1)
    assert np.allclose(coded.sum(axis=0), 0.0)
    assert np.allclose(coded.T @ coded, settings * np.eye(settings - 1))
    if settings > 1:
        sums = patsy.Sum().code_without_intercept(list(range(settings))).matrix
        assert np.linalg.matrix_rank(np.hstack([coded, sums])) == settings - 1


def test_two_settings_are_minus_and_plus_one() -> None:
    assert setting_contrasts(2).tolist() == [[-1.0], [1.0]]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 3))
def test_the_model_counts_its_columns_and_a_full_factorial_makes_them_orthogonal(sizes: list[int], order: int) -> None:
    model = Model.of_order(sizes, min(order, len(sizes)))
    rows = np.array(np.meshgrid(*[range(size) for size in sizes])).reshape(len(sizes), -1).T.astype(np.int16)
    matrix = model.matrix(rows)
    assert matrix.shape == (len(rows), model.parameters)
    assert np.allclose(matrix.T @ matrix / len(rows), np.eye(model.parameters))


def test_a_nested_option_and_its_parent_have_a_parameter_for_each_valid_combination() -> None:
    space = Space(
        (
            Option("parent", (False, True), default=False),
            Option("nested", (0, 1, 2), default=0, active_if=parse_formula("parent")),
        )
    )
    rows = levels(list(enumerate_configurations(space)), space)
    matrix = Model.of_order((2, 3), 2).matrix(rows)
    inactive = rows[:, 1] == -1
    assert not matrix[inactive][:, 2:].any()
    assert np.linalg.matrix_rank(matrix[:, :4]) == np.linalg.matrix_rank(matrix) == len(rows) == 4
