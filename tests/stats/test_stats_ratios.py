"""Intervals of quotients of means: by hand, beside Welch's, where there are none, and how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hati.core import InputError
from hati.stats import difference, least_ratio, quotient_interval, ratio_interval

ONE = np.array([1.0, 3.0])
OTHER = np.array([2.0, 3.0, 4.0])


def test_it_is_computed_by_hand() -> None:
    """Means 2 and 3; (s / mean)^2 / n is 2/4/2 = 1/4 and 1/9/3 = 1/27, and df (31/108)^2 / (1/16 + 1/1458)."""
    total = 1 / 4 + 1 / 27
    half = stats.t.ppf(0.95, total**2 / (1 / 16 + 1 / 1458)) * math.sqrt(total)
    expected = (2 / 3 * math.exp(-half), 2 / 3 * math.exp(half))
    assert quotient_interval([ONE], [OTHER], 0.9) == pytest.approx(expected)


def test_of_small_deviations_it_is_welchs() -> None:
    rng = np.random.default_rng(3)
    first, second = 1.0 + 1e-4 * rng.standard_normal(8), 1.0 + 3e-4 * rng.standard_normal(5)
    low, high = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = quotient_interval([first], [second], 0.95)
    assert found == pytest.approx((math.exp(low), math.exp(high)), abs=1e-7)


def test_four_means_are_two_of_each() -> None:
    found = quotient_interval([ONE, OTHER], [OTHER, ONE], 0.9)
    assert found is not None
    assert math.sqrt(found[0] * found[1]) == pytest.approx(1.0)
    assert found[1] == pytest.approx(math.exp(stats.t.ppf(0.95, (31 / 54) ** 2 / (1 / 8 + 1 / 729)) * (31 / 54) ** 0.5))


def test_there_is_none_of_one_run_nor_of_what_has_no_logarithm_nor_without_an_end() -> None:
    assert quotient_interval([ONE[:1]], [OTHER], 0.9) is None
    assert quotient_interval([ONE], [OTHER], 1.0 - 1e-15) is None
    with pytest.raises(InputError, match="not above zero"):
        quotient_interval([ONE - 2.0], [OTHER], 0.9)


def test_what_does_not_vary_is_a_point() -> None:
    assert quotient_interval([np.full(3, 2.0)], [np.full(3, 4.0)], 0.9) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    ("means", "runs", "covered"),
    [((2.0, 4.0), 10, 0.99), ((5.0, 1.0), 10, 0.99), ((10.0, 15.0), 5, 0.99), ((10.0, 10.0), 30, 0.985)],
)
def test_the_ratio_of_means_of_counts_is_covered_and_never_negative(
    means: tuple[float, float], runs: int, covered: float
) -> None:
    """At 99 %: t on the difference in units of the first mean covers 95 % of the first case, and reaches below zero."""
    rng = np.random.default_rng(1)
    holds = []
    for _ in range(2_000):
        first, second = (rng.poisson(mean, runs).astype(float) for mean in means)
        found = difference(first / first.mean(), second / first.mean())
        critical = found.half_width(0.99) / found.standard_error
        interval = ratio_interval(1.0 + found.estimate, found.variance / runs, found.variance / runs, 0.0, critical)
        holds.append(interval is None or interval[0] <= means[1] / means[0] <= interval[1])
        if interval is not None:
            assert interval[0] >= 0.0
            assert (interval[0] <= 1.0 <= interval[1]) is (found.p_value >= 0.01)
    assert np.mean(holds) >= covered


def test_a_ratio_to_a_mean_that_may_be_zero_has_no_interval() -> None:
    assert ratio_interval(2.0, 0.2, 0.2, 0.0, 3.0) is None
    assert ratio_interval(2.0, 0.2, 0.2, 0.0, math.inf) is None
    assert ratio_interval(0.0, 0.01, 0.0, 0.0, 3.0) == (0.0, 0.0)


def test_the_least_ratio_is_that_of_values_that_are_never_negative() -> None:
    assert least_ratio(np.array([0.0, np.nan]), np.array([2.0])) == 0.0
    assert least_ratio(np.array([0.0]), np.array([-2.0])) == -math.inf
