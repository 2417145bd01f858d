"""Proportions and their intervals, beside statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from hati.stats import clustered_proportion, proportion, sign_test


@pytest.mark.parametrize(("count", "trials"), [(0, 20), (1, 20), (13, 40), (40, 40), (2.5, 17.25)])
def test_the_interval_is_statsmodels_clopper_pearson(count: float, trials: float) -> None:
    found = proportion(count, trials, 0.99)
    assert found.estimate == count / trials
    expected = proportion_confint(count, trials, 0.01, method="beta")
    assert found.interval == pytest.approx(
        (0.0 if count == 0 else expected[0], 1.0 if count == trials else expected[1])
    )


@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_how_far_a_share_is_above_another_is_the_binomial_tail(count: int) -> None:
    assert proportion(count, 20).p_above(0.1) == pytest.approx(stats.binom.sf(count - 1, 20, 0.1), rel=1e-10)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 7), (1, 7), (5, 5), (30, 12), (12, 30)])
def test_the_sign_test_is_scipy_s(first: int, second: int) -> None:
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert sign_test(first, second) == pytest.approx(expected, rel=1e-10)


def test_the_design_effect_is_that_of_the_analysis_of_variance() -> None:
    """Of zeros and ones in clusters, by scipy's mean squares."""
    rng = np.random.default_rng(1)
    ones = (rng.random((12, 20)) < rng.beta(0.5, 2.0, (12, 1))).astype(float)
    between = 20.0 * np.var(ones.mean(axis=1), ddof=1)
    within = float(np.mean(np.var(ones, axis=1, ddof=1)))
    assert stats.f_oneway(*ones).statistic == pytest.approx(between / within)
    alike = (between - within) / (between + 19.0 * within)
    effective = 240.0 / (1.0 + 19.0 * alike)
    found = clustered_proportion(ones.mean(axis=1), 20, 0.0)
    expected = proportion(float(ones.mean()) * effective, effective)
    assert found.interval == pytest.approx(expected.interval, rel=1e-12)


def test_without_any_yes_clusters_are_taken_to_be_as_alike_as_is_said() -> None:
    assert clustered_proportion(np.zeros(5), 20, 0.0) == proportion(0, 100)
    assert clustered_proportion(np.zeros(5), 20, 1.0) == proportion(0, 5)
    assert clustered_proportion(np.array([0.25]), 20, 1.0) == proportion(0.25, 1)
