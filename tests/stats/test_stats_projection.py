"""Orthonormal bases of what columns add to others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hati.stats.effects.terms import added_basis, spanned


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
