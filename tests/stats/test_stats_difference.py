"""The difference of two samples, beside scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_ind

from hati.core import InputError
from hati.stats import Difference, VariancePrior, difference

SAMPLES = [(5, 5, 1.0), (4, 9, 3.0), (30, 12, 0.2), (2, 2, 1.0)]


@pytest.mark.parametrize(("first", "second", "spread"), SAMPLES)
def test_p_value_and_interval_are_scipy_s(first: int, second: int, spread: float) -> None:
    rng = np.random.default_rng(first)
    a, b = rng.standard_normal(first), 0.8 + spread * rng.standard_normal(second)
    found, expected = difference(a, b), stats.ttest_ind(b, a, equal_var=first == second)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.df == pytest.approx(expected.df, rel=1e-10)
    interval = expected.confidence_interval(0.99)
    assert found.half_width(0.99) == pytest.approx((interval.high - interval.low) / 2, rel=1e-10)
    assert found.estimate == pytest.approx((interval.high + interval.low) / 2)


@pytest.mark.parametrize("shift", [0.0, 0.3, -0.9])
def test_equivalence_is_statsmodels_two_one_sided_tests(shift: float) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 40))
    expected = ttost_ind(b + shift, a, -0.5, 0.7)[0]
    assert difference(a, b + shift).within(-0.5, 0.7) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("runs", "alpha"), [(5, 0.01), (20, 0.05), (3, 0.01)])
def test_what_is_detectable_has_that_power_by_statsmodels(runs: int, alpha: float) -> None:
    found = Difference(0.0, 4.0, 2.0 * runs - 2.0, (runs, runs)).detectable(alpha, 0.8)
    assert TTestIndPower().power(found / 2.0, runs, alpha) == pytest.approx(0.8, abs=2e-4)  # two-sided: both tails


@pytest.mark.parametrize("estimate", [0.3, 0.0, 0.13, 1.2])
@pytest.mark.parametrize("borrowed", [0.0, 4.0])
def test_the_runs_that_it_needs_decide_in_four_of_five(estimate: float, borrowed: float) -> None:
    needed = Difference(estimate, 1.0, 8.0, (5, 5), borrowed).runs_needed(0.01, -0.2, 0.2, 0.01)
    assert needed is not None
    rng, df = np.random.default_rng(7), 2.0 * needed - 2.0
    estimates = estimate + rng.standard_normal(4000) * math.sqrt(2.0 / needed)
    variances = (rng.chisquare(df, 4000) + borrowed) / (df + borrowed)
    later = [
        Difference(new, variance, df, (needed, needed), borrowed)
        for new, variance in zip(estimates.tolist(), variances.tolist(), strict=True)
    ]
    decided = np.mean([one.p_value <= 0.01 or one.within(-0.2, 0.2) <= 0.01 for one in later])
    assert 0.775 <= decided <= 0.845  # four standard errors, and a run more or less


def test_no_number_of_runs_decides_what_is_too_small() -> None:
    assert Difference(1e-6, 1.0, 8.0, (5, 5)).runs_needed(0.01, -1e-7, 1e-7, 0.01) is None


def test_where_nothing_is_known_of_the_noise_nothing_is_told() -> None:
    alone = difference(np.array([1.0]), np.array([2.0]))
    assert not alone.told
    assert alone.p_value == 1.0
    assert alone.half_width(0.95) == alone.detectable(0.05, 0.8) == math.inf
    assert alone.runs_needed(0.05, -1.0, 1.0, 0.05) is None
    helped = alone.borrowing(VariancePrior(4.0, np.array([0.01])), 0)
    assert (helped.df, helped.variance) == (4.0, 0.01)
    assert helped.p_value < 0.01


def test_one_run_on_a_side_has_the_variance_of_the_other() -> None:
    a, b = np.array([1.0, 1.2, 0.9, 1.1]), np.array([2.0])
    expected = 2.0 * stats.t.sf((2.0 - a.mean()) / (a.std(ddof=1) * math.sqrt(1.25)), 3)
    assert difference(a, b).p_value == pytest.approx(expected)


def test_samples_without_noise_differ_or_do_not() -> None:
    same = difference(np.ones(3), np.ones(3))
    other = difference(np.ones(3), np.full(3, 2.0))
    assert (same.p_value, other.p_value) == (1.0, pytest.approx(0.1))
    assert same.within(-0.1, 0.1) == 0.0
    assert other.within(-0.1, 0.1) == 1.0


@pytest.mark.parametrize(("variance", "runs"), [(-1.0, (2, 2)), (1.0, (0, 2))])
def test_what_is_no_difference_is_an_error(variance: float, runs: tuple[int, int]) -> None:
    with pytest.raises(InputError):
        Difference(0.0, variance, 2.0, runs)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8),
)
def test_exchanging_the_samples_changes_the_sign_alone(first: list[float], second: list[float]) -> None:
    a, b = np.array(first), np.array(second)
    there, back = difference(a, b), difference(b, a)
    assert there.estimate == -back.estimate
    assert there.p_value == pytest.approx(back.p_value)
    assert 0.0 <= there.p_value <= 1.0


def test_without_variance_runs_say_only_on_which_side_they_lie() -> None:
    """As the exact rank test: of 2 + 2 runs one order in three is as extreme, of 5 + 5 one in 126."""
    for runs, expected in ((2, 1 / 3), (5, 1 / 126)):
        assert difference(np.full(runs, 1.0), np.full(runs, 2.0)).p_value == pytest.approx(expected)
    assert difference(np.full(2, 1.0), np.full(2, 1.0)).p_value == 1.0


@given(st.floats(-0.5, 0.5), st.just(0.0) | st.floats(1e-4, 1.0), st.integers(2, 30), st.floats(1e-4, 0.01))
def test_what_is_undecided_needs_more_runs_than_there_are(
    estimate: float, variance: float, runs: int, level: float
) -> None:
    found = Difference(estimate, variance, 2.0 * runs - 2.0, (runs, runs))
    needed = found.runs_needed(0.01, -0.05, 0.05, level)
    if found.p_value > level and found.within(-0.05, 0.05) > 0.01:
        assert needed is None or needed > runs
