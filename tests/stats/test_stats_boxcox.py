"""The Box-Cox likelihood, against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.core import FloatArray, generator
from hati.stats import Index, box_cox


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
