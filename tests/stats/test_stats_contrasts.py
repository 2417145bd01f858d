"""Contrasts of a design: named, complete, orthogonal."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.stats import Signs, contrasts


def full(factors: int) -> Signs:
    runs = np.arange(2**factors)
    return np.array([(runs >> j & 1) * 2 - 1 for j in range(factors)], dtype=np.int8).T


@st.composite
def fractions(draw: st.DrawFn) -> Signs:
    """A regular fraction of up to 32 runs with distinct generated columns, some of them negative."""
    base = draw(st.integers(2, 5))
    matrix = full(base)
    words = [w for size in range(2, base + 1) for w in combinations(range(base), size)]
    chosen = draw(st.lists(st.sampled_from(words), unique=True, max_size=6))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(chosen), max_size=len(chosen)))
    extra = [sign * matrix[:, list(word)].prod(axis=1) for word, sign in zip(chosen, signs, strict=True)]
    return np.column_stack([matrix, *extra]).astype(np.int8) if extra else matrix


def test_a_half_fraction_pairs_main_effects_with_three_factor_interactions() -> None:
    # The RES paper, Table 1: D = ABC.
    base = full(3)
    found = contrasts(np.column_stack([base, base.prod(axis=1)]).astype(np.int8))
    assert found.terms == ((0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3))
    assert found.aliases[0] == ((1, 2, 3),)
    assert found.aliases[3] == ((0, 1, 2),)
    assert found.aliases[4] == ((2, 3),)


def test_the_full_factorial_has_every_effect_once() -> None:
    found = contrasts(full(5))
    assert len(found.terms) == 31
    assert found.terms[-1] == (0, 1, 2, 3, 4)
    assert not any(found.aliases)


@given(fractions())
def test_there_are_as_many_orthogonal_contrasts_as_rows_less_one(matrix: Signs) -> None:
    found = contrasts(matrix)
    columns = found.columns.astype(float)
    assert len(found.terms) == len(matrix) - 1
    assert np.array_equal(columns.T @ columns, len(matrix) * np.eye(len(matrix) - 1))
    assert [len(term) for term in found.terms] == sorted(len(term) for term in found.terms)


@given(fractions())
def test_a_contrast_is_the_product_of_its_factors_and_equals_its_aliases_but_for_the_sign(matrix: Signs) -> None:
    found = contrasts(matrix)
    for term, aliases, column in zip(found.terms, found.aliases, found.columns.T, strict=True):
        assert np.array_equal(column, matrix[:, list(term)].prod(axis=1))
        for alias in aliases:
            product = matrix[:, list(alias)].prod(axis=1)
            assert np.array_equal(product, column) or np.array_equal(product, -column)
            assert len(alias) >= len(term)


@given(fractions())
def test_no_effect_up_to_third_order_is_left_out(matrix: Signs) -> None:
    found = contrasts(matrix)
    listed = [term for term in found.terms if len(term) <= 3] + [a for aliases in found.aliases for a in aliases]
    factors = matrix.shape[1]
    effects = [term for size in (1, 2, 3) for term in combinations(range(factors), size)]
    constant = [term for term in effects if abs(int(matrix[:, list(term)].prod(axis=1).sum())) == len(matrix)]
    assert sorted(listed) == sorted(set(effects) - set(constant))


def test_above_1024_rows_only_the_alias_sets_up_to_third_order_are_made() -> None:
    found = contrasts(full(11))
    assert len(found.terms) == 11 + 55 + 165


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[-1, -1], [1, -1]], "factor 2"),
        ([[-1, -1], [1, -1], [-1, 1]], "partially aliased"),
    ],
)
def test_other_designs_are_refused(rows: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        contrasts(np.array(rows, dtype=np.int8))
