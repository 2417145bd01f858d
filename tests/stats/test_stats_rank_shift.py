from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hati.core import FloatArray
from hati.stats import difference, rank_shift
from hati.stats.samples.difference import _error_of_the_statistic, _smirnov, _wilcoxon

STUDIES = 2_000
ALPHA = 0.01


def two_levels(runs: int, rng: np.random.Generator) -> FloatArray:
    """Logarithms with noise of 2 %; one run in five is slower by a quarter throughout."""
    return np.asarray(0.02 * rng.standard_normal(runs) + 0.25 * (rng.random(runs) < 0.2))


def test_the_estimate_and_its_error_are_those_of_wilcoxons_test() -> None:
    """Half the width of scipy's interval of the shift, by shifting until the statistic is at 1.3 standard errors."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.0, 1.0, 40), rng.normal(0.5, 1.0, 30)
    found = rank_shift(first, second)
    apart = np.subtract.outer(second, first)
    assert found.estimate == pytest.approx(np.median(apart))
    wanted = 1.3 * math.sqrt(40 * 30 * 71 / 12)
    grid = np.linspace(apart.min(), apart.max(), 20_001)
    statistic = np.array([stats.mannwhitneyu(second - each, first).statistic for each in grid[::20]]) - 600.0
    inside = grid[::20][np.abs(statistic) <= wanted]
    assert found.standard_error == pytest.approx((inside[-1] - inside[0]) / 2.6, rel=0.03)
    assert found.df == 68


def test_fewer_than_ten_values_have_the_difference_of_their_means() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.exponential(size=9), rng.exponential(size=20)
    assert rank_shift(one, other) == difference(one, other)
    assert rank_shift(other, one) == difference(other, one)


def test_values_with_ticks_have_the_error_of_rounding_at_least() -> None:
    found = rank_shift(np.full(20, 3.0), np.array([4.0] * 19 + [5.0]))
    assert found.estimate == 1.0
    assert found.variance == pytest.approx(1.0 / 12.0)


@pytest.mark.parametrize("level", [4.0, 3.0001])
def test_what_other_fractions_on_two_levels_may_be_is_no_more_certain_than_they_are(level: float) -> None:
    """One run of ten and eight on the upper level: Fisher's exact test says .0055."""
    first, second = (np.array([3.0] * (10 - upper) + [level] * upper) for upper in (1, 8))
    exact = stats.fisher_exact([[1, 9], [8, 2]]).pvalue
    assert rank_shift(first, second).p_value >= 0.4 * exact
    whole = rank_shift(first, np.full(10, level))
    assert 1e-6 < whole.p_value < 1e-3


def test_tests_of_orders_are_those_of_scipy() -> None:
    rng = np.random.default_rng(7)
    first, second = np.round(rng.normal(0.0, 2.0, 30)), np.round(rng.normal(1.0, 2.0, 20))
    assert _wilcoxon(first, second) == pytest.approx(
        stats.mannwhitneyu(first, second, method="asymptotic").pvalue, rel=1e-9
    )
    largest = stats.ks_2samp(first, second).statistic
    assert _smirnov(first, second) == pytest.approx(stats.kstwobign.sf(largest * math.sqrt(12.0)), rel=1e-9)
    assert _smirnov(first, second) >= stats.ks_2samp(first, second, method="exact").pvalue
    error, df = _error_of_the_statistic(first, 3.0 * second)
    shifted = stats.brunnermunzel(first, 3.0 * second, distribution="normal")
    gap = abs(float(np.sum(np.greater.outer(first, 3.0 * second) + 0.5 * np.equal.outer(first, 3.0 * second))) - 300.0)
    assert gap / error == pytest.approx(abs(shifted.statistic), rel=1e-9)
    assert df < 48


@pytest.mark.statistical
@pytest.mark.parametrize(("sizes", "spread"), [((10, 40), 3.0), ((10, 200), 3.0), ((22, 22), 3.0), ((40, 10), 3.0)])
def test_spreads_may_differ(sizes: tuple[int, int], spread: float) -> None:
    """Of 2,000, by the lower 95 % limit at most twice the level: of ten runs the error is uncertain."""
    rng = np.random.default_rng(sizes)
    pairs = ((spread * rng.standard_normal(sizes[0]), rng.standard_normal(sizes[1])) for _ in range(STUDIES))
    false = sum(rank_shift(*pair).p_value <= ALPHA for pair in pairs)
    assert stats.beta.ppf(0.05, false, STUDIES - false + 1) <= 2.0 * ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("level", [0.01, 0.001])
def test_two_ticks_make_no_alarms(level: float) -> None:
    rng = np.random.default_rng(9)
    false = sum(rank_shift(*rng.integers(3, 5, (2, 10)).astype(float)).p_value <= level for _ in range(10 * STUDIES))
    assert stats.beta.ppf(0.05, false, 10 * STUDIES - false + 1) <= level


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [10, 22, 44])
@pytest.mark.parametrize("noise", ["normal", "t3", "two levels"])
def test_of_equal_samples_one_in_a_hundred_is_called_different(noise: str, runs: int) -> None:
    """Of 2,000, by the lower 95 % limit at most the level."""
    rng = np.random.default_rng([runs, len(noise)])
    draws = {
        "normal": lambda: rng.standard_normal(runs),
        "t3": lambda: rng.standard_t(3, runs),
        "two levels": lambda: two_levels(runs, rng),
    }[noise]
    false = sum(rank_shift(draws(), draws()).p_value <= ALPHA for _ in range(STUDIES))
    assert stats.beta.ppf(0.05, false, STUDIES - false + 1) <= ALPHA


@pytest.mark.statistical
def test_runs_on_another_level_do_not_hide_a_change_of_the_others() -> None:
    """A tenth in 22 runs each: found in 97 % of studies and more, by means in two thirds at most."""
    rng = np.random.default_rng(6)
    samples = [(two_levels(22, rng), two_levels(22, rng) + math.log(1.1)) for _ in range(400)]
    found = [sum(each(*pair).p_value <= ALPHA / 2.0 for pair in samples) for each in (rank_shift, difference)]
    assert found[0] >= 388
    assert found[1] <= 267
