"""Outliers among the runs of a design.

The Box-Cox likelihood, against scipy and statsmodels.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.core import FloatArray, generator
from hati.stats import Index, ModelTerms, box_cox, suspect_runs


def two_level(options: int) -> FloatArray:
    return np.array(list(product((-1.0, 1.0), repeat=options)))


def terms(signs: FloatArray) -> ModelTerms:
    pairs = combinations(range(signs.shape[1]), 2)
    columns = {(i,): signs[:, [i]] for i in range(signs.shape[1])}
    products = {(i, j): signs[:, [i]] * signs[:, [j]] for i, j in pairs}
    return ModelTerms(np.ones((len(signs), 1)), {**columns, **products})


@pytest.mark.parametrize("sizes", [(0.0,) * 5, (1.25,) * 5, (40.0, 10.0, 2.0, 0.0, 0.0)])
def test_one_outlier_of_thirty_deviations_is_the_most_suspect(sizes: tuple[float, ...]) -> None:
    signs = two_level(5)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        place = int(rng.integers(32))
        values = signs @ np.array(sizes) + rng.standard_normal(32)
        shifted = values + 30.0 * (np.arange(32) == place)
        found = suspect_runs(terms(signs), shifted)
        assert found.places[0] == place
        assert len(found.places) <= 2
        assert found.shifts[0] == pytest.approx(30.0, abs=4.0)
        assert found.without(shifted)[place] == pytest.approx(values[place], abs=5.0)


def test_the_most_suspect_comes_first() -> None:
    rng = np.random.default_rng(3)
    signs = two_level(6)
    values = 3.0 * signs[:, 0] + rng.standard_normal(64)
    values[[4, 50, 20]] += (20.0, -40.0, 30.0)
    assert suspect_runs(terms(signs), values).places.tolist() == [50, 20, 4]


def test_nothing_is_suspect_without_noise_in_few_runs_and_where_all_are_alike() -> None:
    signs = two_level(5)
    assert not len(suspect_runs(terms(signs), 2.0 * signs[:, 0] + signs[:, 0] * signs[:, 1]).places)
    assert not len(suspect_runs(terms(signs), np.full(32, 7.0)).places)
    few = two_level(3)
    assert not len(suspect_runs(terms(few), np.arange(8.0) ** 4).places)


def test_clean_runs_are_rarely_suspect() -> None:
    """One in a hundred by construction: more than 6 of 100 are seen in one of ten thousand."""
    signs = two_level(5)
    suspect = [
        bool(len(suspect_runs(terms(signs), np.random.default_rng(seed).standard_normal(32)).places))
        for seed in range(100)
    ]
    assert sum(suspect) <= 6


def test_settings_beyond_two_are_terms_with_several_columns() -> None:
    rng = np.random.default_rng(1)
    settings = np.array(list(product(range(3), repeat=3)))
    columns = {(i,): np.eye(3)[settings[:, i]][:, 1:] - 1 / 3 for i in range(3)}
    values = 4.0 * (settings[:, 0] == 2) + rng.standard_normal(27)
    values[11] += 25.0
    assert suspect_runs(ModelTerms(np.ones((27, 1)), columns), values).places.tolist() == [11]


def mean_of(count: int) -> tuple[FloatArray, Index]:
    """The model that is one mean."""
    return np.empty((count, 0)), np.zeros(count, dtype=np.intp)


@pytest.mark.parametrize("seed", range(4))
def test_power_and_interval_are_those_of_scipy(seed: int) -> None:
    rng = generator(seed, "box-cox")
    values = (2.0 + 0.5 * rng.standard_normal(60)).clip(0.1) ** (1.0 + seed)
    found = box_cox(values, *mean_of(60))
    _, power, interval = stats.boxcox(values, alpha=0.05)
    assert found.power == pytest.approx(power, abs=0.003)
    assert found.interval == pytest.approx(interval, abs=0.01)


def test_the_gain_of_the_logarithm_is_the_difference_of_two_regressions() -> None:
    rng = generator(5, "regression")
    groups = np.repeat([0, 1, 2, 3], 10)
    columns = rng.choice([-1.0, 1.0], (40, 3))
    model = np.column_stack([columns, *(groups == group for group in range(4))]).astype(float)
    values = np.exp(1.0 + model @ [0.4, -0.2, 0.0, 0.0, 0.1, 0.2, 0.3] + 0.3 * rng.standard_normal(40))
    of_logs = sm.OLS(np.log(values), model).fit().llf - np.log(values).sum()
    of_values = sm.OLS(values, model).fit().llf
    assert box_cox(values, columns, groups).log_gain == pytest.approx(of_logs - of_values, abs=1e-8)


@given(st.floats(1e-9, 1e9), st.integers(0, 50))
def test_the_unit_makes_no_difference(unit: float, seed: int) -> None:
    values = np.exp(generator(seed, "unit").standard_normal(20))
    one, other = box_cox(values, *mean_of(20)), box_cox(unit * values, *mean_of(20))
    assert other.power == pytest.approx(one.power, abs=1e-6)
    assert other.log_gain == pytest.approx(one.log_gain, abs=1e-6)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_an_exact_fit_is_preferred(power: float) -> None:
    model = np.column_stack([np.ones(8), np.tile([-1.0, 1.0], 4), np.repeat([-1.0, 1.0], 4)])
    linear = model @ [5.0, 1.0, 0.5]
    found = box_cox(np.exp(linear) if power == 0.0 else linear, model, np.zeros(8, dtype=int))
    assert found.power == pytest.approx(power, abs=0.051)
    assert (found.log_gain > 0.0) == (power == 0.0)
    assert found.interval[0] <= power <= found.interval[1]


def test_the_interval_is_cut_at_the_limits_of_the_search() -> None:
    found = box_cox(np.array([1.0, 1.1, 0.9, 1.05, 1.0001]), *mean_of(5))
    assert found.interval == (-3.0, 3.0)


def test_a_column_that_others_explain_changes_nothing() -> None:
    values = np.exp(generator(6, "rank").standard_normal(20))
    column = np.tile([[-1.0], [1.0]], (10, 1))
    once = box_cox(values, column, np.zeros(20, dtype=int))
    twice = box_cox(values, np.hstack([column, -column, np.ones((20, 1))]), np.zeros(20, dtype=int))
    assert (twice.power, twice.log_gain) == pytest.approx((once.power, once.log_gain))
