from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.stats import ModelTerms, stability
from hati.stats.effects.selection import first_selected


def lasso(columns: FloatArray, values: FloatArray, penalty: float) -> FloatArray:
    """The Lasso's coefficients by coordinate descent: an implementation that has nothing in common with the path's."""
    x = columns - columns.mean(axis=0)
    x = x / np.sqrt(np.sum(x**2, axis=0))
    y = values - values.mean()
    found = np.zeros(x.shape[1])
    for _ in range(2000):
        before = found.copy()
        for j in range(x.shape[1]):
            partial = float(x[:, j] @ (y - x @ found + x[:, j] * found[j]))
            found[j] = np.sign(partial) * max(0.0, abs(partial) - penalty)
        if np.max(np.abs(found - before)) < 1e-12:
            break
    return found


def entered(columns: FloatArray, values: FloatArray, steps: int) -> list[int]:
    """The columns in the order in which they enter as the penalty falls."""
    x = columns - columns.mean(axis=0)
    largest = float(np.max(np.abs((x / np.sqrt(np.sum(x**2, axis=0))).T @ (values - values.mean()))))
    found = list[int]()
    for share in np.linspace(0.999, 0.001, steps):
        found += [int(j) for j in np.flatnonzero(lasso(columns, values, share * largest)) if j not in found]
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
