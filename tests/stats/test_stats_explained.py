"""How much of the variation a few options explain together, beside statsmodels' model with all interactions."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.formula.api import ols

from hati.stats import explained, rank_by_explained


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
    levels = rng.integers(-1, 3, (runs, options)).astype(np.int16)
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
