"""Comparisons of a weighted sample with others: against scipy and statsmodels, and their error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from hati.core import InputError
from hati.stats import (
    MeanEstimate,
    equivalence,
    ks_distance,
    mann_whitney,
    quantile_pairs,
    range_covered,
    stratified_mean,
)

RNG = np.random.default_rng


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 8])
def test_equal_weights_are_the_classical_tests(seed: int, digits: int) -> None:
    rng = RNG(seed)
    one, other = rng.normal(size=17).round(digits), rng.normal(0.5, 1, size=29).round(digits)
    assert ks_distance(one, np.ones(17), other) == pytest.approx(stats.ks_2samp(one, other).statistic)
    found = mann_whitney(one, np.full(17, 0.3), other, 0.5)
    expected = stats.mannwhitneyu(other, one, method="asymptotic", use_continuity=False)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.superiority == pytest.approx(expected.statistic / (17 * 29))


def test_weights_stand_for_repeated_values() -> None:
    rng = RNG(1)
    values, times, others = rng.normal(size=9), rng.integers(1, 4, size=9), rng.normal(size=50)
    repeated = np.repeat(values, times)
    assert ks_distance(values, times.astype(float), others) == pytest.approx(stats.ks_2samp(repeated, others).statistic)
    expected = stats.mannwhitneyu(others, repeated).statistic / (len(repeated) * 50)
    assert mann_whitney(values, times.astype(float), others, 1.0).superiority == pytest.approx(expected)


def test_against_itself_nothing_differs() -> None:
    values = RNG(2).normal(size=20)
    assert ks_distance(values, np.ones(20), values) == pytest.approx(0.0, abs=1e-12)
    assert mann_whitney(values, np.ones(20), values, 1.0).p_value == pytest.approx(1.0)
    assert range_covered(values, values) == 1.0
    assert np.allclose(*quantile_pairs(values, np.ones(20), values, 15).T)


def test_the_range_is_the_share_of_the_others_within() -> None:
    assert range_covered(np.array([2.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(0.6)


@pytest.mark.parametrize(("number", "shift"), [(4, 1.85), (32, 0.52)])
def test_what_few_values_can_find_against_a_population(number: int, shift: float) -> None:
    found = mann_whitney(RNG(1).normal(size=number), np.ones(number), RNG(2).normal(size=200_000), shift)
    assert found.detectable == pytest.approx(shift, abs=0.01)
    assert found.power == pytest.approx(0.8, abs=0.01)


def test_two_values_find_nothing_however_large() -> None:
    assert mann_whitney(np.array([1.0, 2.0]), np.ones(2), np.array([1.5, 2.5, 3.0]), 1.0).detectable == math.inf


@pytest.mark.statistical
def test_the_rank_test_rarely_errs() -> None:
    """At most .06 false alarms in 2,000 pairs of samples of 20."""
    rng, weights = RNG(3), np.ones(20)
    alarms = [mann_whitney(rng.normal(size=20), weights, rng.normal(size=20), 1.0).p_value < 0.05 for _ in range(2000)]
    assert np.mean(alarms) <= 0.06


@pytest.mark.statistical
@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_the_rank_test_finds_no_less_than_it_says(shift: float) -> None:
    """Of 2,000 pairs of samples of 20: no more than .02 less than is told, and no more than .08 more (Noether's)."""
    rng = RNG(4)
    found = [mann_whitney(rng.normal(size=20), np.ones(20), rng.normal(shift, 1, 20), shift) for _ in range(2000)]
    assert -0.02 <= np.mean([one.p_value < 0.05 for one in found]) - found[0].power <= 0.08


@pytest.mark.parametrize("margin", [0.3, 1.0, 3.0])
def test_equivalence_is_two_one_sided_welch_tests(margin: float) -> None:
    rng = RNG(4)
    one, other = rng.normal(0, 1, 14), rng.normal(0.2, 2, 21)
    found = equivalence(plain_mean(one), plain_mean(other), margin)
    assert found is not None
    expected = ttost_ind(one, other, -margin, margin, usevar="unequal")[0]
    assert found.p_value == pytest.approx(expected)
    assert found.equivalent == (expected < 0.05) == (found.provable < margin)


def test_equivalence_without_an_error_is_not_decided() -> None:
    known = MeanEstimate(1.0, 0.0, math.inf)
    assert equivalence(MeanEstimate(1.0, None, 0.0), known, 0.1) is None
    exact = equivalence(MeanEstimate(1.05, 0.0, 3.0), known, 0.1)
    assert exact is not None
    assert exact.equivalent
    with pytest.raises(InputError, match="above 0"):
        equivalence(known, known, 0.0)


@pytest.mark.statistical
def test_means_at_the_margin_are_called_equivalent_in_at_most_5_per_cent() -> None:
    rng, called = RNG(5), 0
    for _ in range(2000):
        found = equivalence(plain_mean(rng.normal(1.0, 1, 25)), MeanEstimate(0.0, 0.0, math.inf), 1.0)
        called += found is not None and found.equivalent
    assert called / 2000 <= 0.065


def plain_mean(values: np.ndarray) -> MeanEstimate:
    return stratified_mean(values, np.zeros(len(values), dtype=np.intp), np.ones(1))
