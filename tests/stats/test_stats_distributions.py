"""Student's t against scipy's.

Tests of one mean where values may be skewed.

Student's t of values of two kinds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from hati.core import FloatArray
from hati.stats import (
    anytime_e_values,
    fewest_of_a_share,
    skewed_e_value,
    skewed_e_values,
    skewed_t_above,
    skewed_t_critical,
    t_margin,
    two_kinds_t_above,
    two_kinds_t_critical,
)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 10, 31, 64, 199, 200, 201, 499, 5000])
def test_it_is_scipys(confidence: float, df: int) -> None:
    assert t_margin(confidence, df) == pytest.approx(stats.t.ppf(0.5 + confidence / 2, df), rel=1e-9)


@pytest.mark.parametrize("size", [5, 10, 40])
@pytest.mark.parametrize("statistic", [1.0, 2.5, 5.0])
def test_students_t_of_exponential_values(size: int, statistic: float) -> None:
    """Of 200,000 samples; too large by up to 15 %, as its approximation makes it."""
    values = 1.0 - np.random.default_rng(size).exponential(1.0, (200_000, size))
    share = float(np.mean(stats.ttest_1samp(values, 0.0, axis=1).statistic > statistic))
    error = 3.0 * math.sqrt(share / 200_000)
    assert share - error <= skewed_t_above(statistic, size) <= 1.15 * share + error


def test_it_is_never_less_than_of_normal_values() -> None:
    for statistic in (-3.0, -0.5, 0.0, 0.1, 0.5):
        assert skewed_t_above(statistic, 8) >= stats.t.sf(statistic, 7) * (1.0 - 1e-12)


@pytest.mark.parametrize("size", [2, 5, 30, 1_000, 10_000])
@pytest.mark.parametrize("alpha", [0.4, 0.01, 1e-5])
def test_critical_values_are_where_probabilities_are(size: int, alpha: float) -> None:
    assert skewed_t_above(skewed_t_critical(size, alpha), size) == pytest.approx(alpha, rel=1e-6)


def test_many_values_are_as_normal_ones() -> None:
    assert skewed_t_critical(100_000, 0.01) == pytest.approx(stats.norm.isf(0.01), rel=0.02)


SCALES = np.exp(np.linspace(-10.0, 10.0, 40_001))


def _likelihood(standardised: FloatArray, size: int) -> float:
    """Of the ratios of values, by their density at each scale, of which the logarithm is uniform."""
    return float(integrate.trapezoid(standardised / SCALES**size, np.log(SCALES)))


@pytest.mark.parametrize("values", [[0.3, 0.9, 0.5, -0.2], [1.0, 1.02, 0.97, 1.01], [-0.4, 0.8, 0.9, 0.2, 0.6]])
def test_e_values_are_ratios_of_likelihoods(values: list[float]) -> None:
    """By integration over scales and standardised means."""
    scaled = np.array(values)[:, None] / SCALES

    def normal(mean: float) -> float:
        return _likelihood(
            np.exp(-((scaled - mean) ** 2).sum(axis=0) / 2.0) / (2.0 * math.pi) ** (len(values) / 2.0), len(values)
        )

    means = np.concatenate((np.linspace(0.0, 10.0, 150, endpoint=False), np.geomspace(10.0, 400.0, 150)))
    at_means = np.array([normal(mean) for mean in means.tolist()])

    def shifted(deviation: float) -> float:
        return float(integrate.trapezoid(at_means * 2.0 * stats.norm.pdf(means, scale=deviation), means))

    exponential = _likelihood(
        np.where(scaled <= 1.0, np.exp(np.minimum(scaled, 1.0) - 1.0), 0.0).prod(axis=0), len(values)
    )
    between = _likelihood((2.0 * stats.gamma.pdf(4.0 - 2.0 * scaled, 4.0)).prod(axis=0), len(values))
    mixed = sum(shifted(deviation) for deviation in (1.0, 4.0, 16.0, 64.0)) / 4.0
    wanted = min(shifted(1.0) / normal(0.0), mixed / exponential, mixed / between)
    assert skewed_e_values(np.array(values))[-1] == pytest.approx(wanted, rel=0.03)


def test_nothing_is_shown_of_a_mean_that_is_not_above_zero() -> None:
    assert skewed_e_values(np.array([-1.0, -2.0, 3.0])).tolist() == [0.0, 0.0, 0.0]
    assert skewed_e_values(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(skewed_e_values(np.array([1.0, -1.0, 1e-17, -1e-17]))).all()


@pytest.mark.parametrize("size", [5, 40])
def test_of_so_many_values_as_there_are_it_is_the_last(size: int) -> None:
    values = 1.5 - np.random.default_rng(size).exponential(1.0, size)
    assert skewed_e_value(values, size) == pytest.approx(skewed_e_values(values)[-1], rel=0.03)
    assert skewed_e_value(values, 2 * size) == pytest.approx(skewed_e_value(np.tile(values, 2), 2 * size), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e150])
def test_the_unit_is_of_no_account(scale: float) -> None:
    values = np.array([1.0, 2.0, 1.5, 1.8, 1.6])
    assert skewed_e_values(scale * values) == pytest.approx(skewed_e_values(values), rel=1e-9)


def test_values_that_do_not_vary_are_finite_evidence() -> None:
    found = skewed_e_values(np.full(400, 3.0))
    assert np.isfinite(found).all()
    assert found[12] > 1e5


def test_it_is_more_careful_than_where_values_are_symmetric() -> None:
    """Twice the e-value of two sides is that of one, where the mean is beyond doubt."""
    values = np.random.default_rng(1).normal(1.0, 1.0, 200)
    assert np.all(skewed_e_values(values)[20:] <= 2.0 * anytime_e_values(values)[20:] * (1.0 + 1e-9))
    assert skewed_e_values(values)[-1] > 1e6


@pytest.mark.parametrize(("alpha", "share"), [(0.01, 0.7), (0.001, 0.7), (0.05, 0.9)])
def test_so_many_are_all_of_a_share_that_improbably(alpha: float, share: float) -> None:
    number = fewest_of_a_share(alpha, share)
    assert share**number <= alpha < share ** (number - 1)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.1])
@pytest.mark.parametrize("size", [2, 5, 13, 40])
def test_it_is_the_share_of_samples(size: int, share: float) -> None:
    """Of all counts of the rarer kind, each with scipy's statistic and its binomial probability."""
    statistics = [math.inf]
    for count in range(1, size):
        values = np.repeat([1.0, 0.0], [count, size - count])
        statistics.append(-float(stats.ttest_1samp(values, share).statistic))
    chances = stats.binom.pmf(np.arange(size), size, share)
    for statistic in (0.1, 0.7, 1.9, 3.3, 8.0):
        wanted = sum(chance for each, chance in zip(statistics, chances, strict=True) if each >= statistic)
        assert two_kinds_t_above(statistic, size, share) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("size", [13, 18, 100, 10_000])
@pytest.mark.parametrize("alpha", [0.2, 0.01])
def test_beyond_the_critical_value_it_is_at_most_alpha(size: int, alpha: float) -> None:
    critical = two_kinds_t_critical(size, alpha, 0.3)
    assert two_kinds_t_above(critical * (1.0 + 1e-8), size, 0.3) <= alpha
    assert two_kinds_t_above(critical * (1.0 - 1e-8), size, 0.3) > alpha


def test_too_few_values_have_none() -> None:
    assert two_kinds_t_critical(12, 0.01, 0.3) == math.inf
    assert two_kinds_t_above(1e300, 12, 0.3) == pytest.approx(0.7**12)
