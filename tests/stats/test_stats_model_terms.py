"""The terms of a model: what each adds to all others."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hati.stats.effects.terms import ModelTerms


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
