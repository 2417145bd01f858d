"""Half-normal coordinates, Holm's correction, rank trend, ln s^2 and the distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.core import generator
from hati.stats import half_normal, holm, log_variances, rank_trend, t_quantile, t_two_sided
from hati.stats.distributions import chi_square_quantiles, normal_quantile, normal_tails

SIZES = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(np.array)


def test_half_normal_coordinates_are_equation_4_of_seed_000() -> None:
    sizes = np.array([0.3, -5.0, 1.2, 0.1])
    expected = [stats.norm.ppf(0.5 + 0.5 * (i - 0.5) / 4) for i in (2, 4, 3, 1)]
    assert half_normal(sizes) == pytest.approx(expected)


@given(SIZES)
def test_larger_effects_have_larger_coordinates_and_equal_ones_the_same(sizes: np.ndarray) -> None:
    found = half_normal(sizes)
    order = np.argsort(sizes)
    assert np.all(np.diff(found[order]) >= 0.0)
    assert len(np.unique(sizes)) == len(np.unique(found))


def test_holm_by_hand() -> None:
    """0.01 x 4, 0.02 x 3, 0.03 x 2 (no less than the one before), 0.5."""
    assert holm(np.array([0.5, 0.01, 0.03, 0.02])).tolist() == pytest.approx([0.5, 0.04, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array))
def test_holm_keeps_the_order_and_lies_between_none_and_bonferroni(p_values: np.ndarray) -> None:
    adjusted = holm(p_values)
    assert np.all(adjusted >= p_values)
    assert np.all(adjusted <= np.minimum(1.0, len(p_values) * p_values))
    assert np.all(np.diff(adjusted[np.argsort(p_values)]) >= 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_rank_trend_is_spearmans(seed: int) -> None:
    rng = generator(seed, "trend")
    order = np.arange(30.0)
    values = np.round(rng.standard_normal(30) + 0.05 * seed * order, 1)
    theirs = stats.spearmanr(values, order)
    found = rank_trend(values, order, np.empty((30, 0)), np.zeros(30, dtype=int))
    assert found == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_groups_and_columns_are_taken_out_of_both_ranks_and_of_the_degrees_of_freedom() -> None:
    """The t test of the order's rank in a regression of the residuals' ranks, by ordinary least squares."""
    rng = generator(1, "partial trend")
    order, groups = rng.permutation(24).astype(float), np.arange(24) % 6
    model = rng.standard_normal((24, 2))
    values = 10.0 * groups + 5.0 * model[:, 0] + rng.standard_normal(24)
    besides = np.column_stack([np.eye(6)[groups], model])
    residuals = values - besides @ np.linalg.lstsq(besides, values)[0]
    columns, ranks = np.column_stack([besides, stats.rankdata(order)]), stats.rankdata(residuals)
    fitted, (squares,), _, _ = np.linalg.lstsq(columns, ranks)
    statistic = fitted[-1] / np.sqrt(squares / 15 * np.linalg.inv(columns.T @ columns)[-1, -1])
    correlation, p_value = rank_trend(values, order, model, groups)
    assert p_value == pytest.approx(2 * stats.t.sf(abs(statistic), 15))
    assert np.sign(correlation) == np.sign(statistic)


def test_constant_or_few_values_have_no_trend() -> None:
    for values in (np.full(10, 0.1), np.arange(4.0)):
        count = len(values)
        assert rank_trend(values, np.arange(float(count)), np.empty((count, 0)), np.zeros(count, dtype=int)) == (0, 1)


def test_the_logarithm_of_the_variance() -> None:
    found = log_variances([np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0])])
    assert found is not None
    assert found == pytest.approx(np.log([1.0, 8.0]))


@pytest.mark.parametrize("samples", [[], [[1.0]], [[1.0, 2.0], [3.0]], [[1.0, 2.0], [0.1, 0.1, 0.1]]])
def test_no_variance_has_no_logarithm(samples: list[list[float]]) -> None:
    assert log_variances([np.array(sample) for sample in samples]) is None


def test_the_distributions_are_scipys() -> None:
    assert t_quantile(0.975, 10.3) == pytest.approx(stats.t.ppf(0.975, 10.3))
    assert t_two_sided(np.array([-2.0, 0.0, np.inf]), 7.0) == pytest.approx([2 * stats.t.sf(2.0, 7.0), 1.0, 0.0])
    assert chi_square_quantiles(np.array([0.1, 0.9]), 3.0) == pytest.approx(stats.chi2.ppf([0.1, 0.9], 3.0))
    assert normal_quantile(0.9) == pytest.approx(stats.norm.ppf(0.9))
    assert normal_tails(np.array([1.0])) == pytest.approx([stats.norm.sf(1.0)])
