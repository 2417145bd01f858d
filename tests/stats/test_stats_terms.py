"""Contrasts of a design: named, complete, orthogonal.

The terms of a model: what each adds to all others.

Orthonormal bases of what columns add to others.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.stats import Signs, contrasts
from hati.stats.terms import ModelTerms, added_bases, added_basis, spanned


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


@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.lists(st.integers(1, 3), max_size=4), st.booleans())
def test_what_terms_add_to_all_others_is_what_each_adds_by_itself(
    seed: int, runs: int, widths: list[int], repeated: bool
) -> None:
    rng = np.random.default_rng(seed)
    columns = {(place,): rng.standard_normal((runs, width)) for place, width in enumerate(widths)}
    if repeated and len(columns) > 1:
        columns[(0,)] = columns[(1,)] @ rng.standard_normal((columns[(1,)].shape[1], widths[0]))
    terms = ModelTerms(np.column_stack([np.ones(runs), rng.standard_normal(runs)]), columns)
    model = tuple(columns)
    found = terms.added_to_others(model)
    assert tuple(found) == model
    for term, added in found.items():
        alone = terms.added(term, [other for other in model if other != term])
        assert added.shape == alone.shape
        assert np.allclose(added.T @ added, np.eye(added.shape[1]), atol=1e-6)
        assert np.allclose(added @ added.T, alone @ alone.T, atol=1e-5)


def test_an_interaction_of_three_options_joins_those_of_which_two_have_one() -> None:
    rng = np.random.default_rng(1)
    mains = {(option,): rng.standard_normal((12, width)) for option, width in enumerate((1, 2, 3, 1))}
    pairs = {
        (i, j): (mains[i,][:, :, None] * mains[j,][:, None, :]).reshape(12, -1) for i, j in combinations(range(4), 2)
    }
    terms = ModelTerms(np.ones((12, 1)), {**mains, **pairs})
    assert terms.with_third_order([(0,), (1,), (2,)]) is terms
    wider = terms.with_third_order([(0,), (0, 2)])
    assert [term for term in wider if len(term) == 3] == [(0, 1, 2), (0, 2, 3)]
    row = 5
    products = np.einsum("a,b,c->abc", *(mains[option,][row] for option in range(3))).ravel()
    assert np.allclose(wider.columns[0, 1, 2][row], products)
    assert wider.with_third_order([(0, 2)]) is wider


def test_an_option_without_an_effect_of_its_own_is_in_no_interaction_of_three() -> None:
    rng = np.random.default_rng(2)
    mains = {(option,): rng.standard_normal((12, 1)) for option in (0, 1, 3)}
    pairs = {pair: rng.standard_normal((12, 1)) for pair in combinations(range(4), 2)}
    wider = ModelTerms(np.ones((12, 1)), {**mains, **pairs}).with_third_order([(0, 1), (1, 2)])
    assert [term for term in wider if len(term) == 3] == [(0, 1, 3)]


def test_an_interaction_of_three_that_is_wholly_aliased_with_a_pair_does_not_join() -> None:
    """In 16 runs of five options, the last the product of the others, 0:1:4 has the column of 2:3."""
    signs = np.array(list(product((-1.0, 1.0), repeat=4)))
    signs = np.column_stack([signs, signs.prod(axis=1)])
    columns = {(i,): signs[:, [i]] for i in range(5)}
    columns |= {(i, j): signs[:, [i]] * signs[:, [j]] for i, j in combinations(range(5), 2)}
    terms = ModelTerms(np.ones((16, 1)), columns)
    assert terms.with_third_order([(0,), (0, 1)]) is terms


def test_an_interaction_of_three_with_columns_for_most_runs_does_not_join() -> None:
    rng = np.random.default_rng(2)
    columns = {(option,): rng.standard_normal((40, 3)) for option in range(3)}
    columns |= {pair: rng.standard_normal((40, 9)) for pair in combinations(range(3), 2)}
    terms = ModelTerms(np.ones((40, 1)), columns)
    assert terms.with_third_order([(0, 1)]) is terms


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 6), st.integers(0, 6), st.integers(0, 3))
def test_the_basis_is_orthonormal_new_and_all_that_is_added(seed: int, n: int, old: int, new: int, copies: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((n, old)), rng.standard_normal((n, new))
    mixed = first @ rng.standard_normal((old, copies)) + second @ rng.standard_normal((new, copies))
    known = spanned(first)
    added = added_basis(np.hstack([second, mixed]), known)
    assert known.shape[1] == min(n, old)
    assert added.shape[1] == min(n, old + new) - min(n, old)
    whole = np.hstack([known, added])
    assert np.allclose(whole.T @ whole, np.eye(whole.shape[1]), atol=1e-8)
    assert np.allclose(whole @ (whole.T @ second), second, atol=1e-6)


def test_what_is_spanned_already_adds_nothing_whatever_its_size() -> None:
    ones = np.ones((9, 1))
    for size in (1e-9, 1.0, 1e9):
        assert added_basis(size * ones, spanned(ones)).shape == (9, 0)
    assert added_basis(np.zeros((9, 2)), spanned(ones)).shape == (9, 0)
    assert added_basis(np.empty((9, 0)), spanned(ones)).shape == (9, 0)
    assert spanned(1e-9 * ones).shape == (9, 1)


@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_a_basis_alone_is_that_among_others(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    basis, columns = spanned(rng.normal(size=(9, 3))), rng.normal(size=(9, width))
    [found] = added_bases([columns], basis)
    assert added_basis(columns, basis) == pytest.approx(found)


def test_of_several_interactions_of_three_only_aliased_ones_do_not_join() -> None:
    """The fourth option is the product of the first three; the fifth has three settings."""
    runs = np.array(list(product((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0, 1, 2))))
    fifth = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])[runs[:, 3].astype(int)]
    mains = {(place,): runs[:, [place]] for place in range(3)}
    mains |= {(3,): runs[:, :3].prod(axis=1)[:, None], (4,): fifth}
    pairs = {(0, 1): mains[0,] * mains[1,]}
    found = ModelTerms(np.ones((len(runs), 1)), {**mains, **pairs}).with_third_order([(0, 1)])
    assert set(found) - set(mains) - set(pairs) == {(0, 1, 4)}
