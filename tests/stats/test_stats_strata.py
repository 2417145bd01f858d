"""Means and quantiles of a stratified population: independent implementations, and the coverage of intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from hati.core import InputError
from hati.stats import Ecdf, assisted_mean, equivalence, stratified_mean, stratified_quantiles, stratum_means

RNG = np.random.default_rng


def test_one_stratum_is_students_t() -> None:
    values = RNG(1).normal(10, 2, 12)
    found = stratified_mean(values, np.zeros(12, dtype=np.intp), np.ones(1))
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert found.estimate == pytest.approx(values.mean())
    assert found.interval() == pytest.approx((low, high))


def test_two_equal_strata_are_welchs_t() -> None:
    """The mean of two means has half the standard error of their difference, and Welch's degrees of freedom."""
    rng = RNG(2)
    one, other = rng.normal(0, 1, 7), rng.normal(3, 4, 11)
    found = stratified_mean(np.concatenate([one, other]), np.repeat([0, 1], [7, 11]), np.array([0.5, 0.5]))
    welch = stats.ttest_ind(one, other, equal_var=False)
    assert found.standard_error == pytest.approx(abs((one.mean() - other.mean()) / welch.statistic) / 2)
    assert found.df == pytest.approx(welch.df)


def test_shares_weight_the_strata() -> None:
    values, owners = np.array([1.0, 3.0, 10.0, 10.0]), np.array([0, 0, 1, 1])
    assert stratified_mean(values, owners, np.array([0.75, 0.25])).estimate == pytest.approx(4.0)


def test_single_values_are_collapsed_in_pairs() -> None:
    """Two strata of one value and equal share: Cochran's (y1 - y2)^2 with the strata's totals."""
    found = stratified_mean(np.array([1.0, 4.0]), np.array([0, 1]), np.array([0.5, 0.5]))
    assert found.standard_error == pytest.approx(math.sqrt((0.5 * 1.0 - 0.5 * 4.0) ** 2))
    assert found.df == pytest.approx(1.0)
    assert stratified_mean(np.array([1.0]), np.array([0]), np.ones(1)).interval() is None
    three = stratified_mean(np.array([1.0, 4.0, 2.0]), np.array([0, 1, 2]), np.full(3, 1 / 3))
    assert three.df == pytest.approx(2.0)
    # totals 1/3, 4/3, 2/3 about their mean 7/9: squares (16 + 25 + 1) / 81, times 3 / 2
    assert three.standard_error == pytest.approx(math.sqrt(42 / 81 * 3 / 2))


def test_one_single_value_has_the_deviation_within_the_others() -> None:
    """.25 x 2 / 2 of the pair, whose variance is 2, and .25 x 2 of the one beside it."""
    found = stratified_mean(np.array([1.0, 3.0, 50.0]), np.array([0, 0, 1]), np.array([0.5, 0.5]))
    assert found.standard_error == pytest.approx(math.sqrt(0.75))


def test_collapsed_strata_of_unequal_shares_are_judged_by_their_shares() -> None:
    """Totals .2 y1 and .3 y2 are expected to be as 2 to 3: equal values have no error."""
    shares, pair = np.array([0.5, 0.2, 0.3]), np.array([0, 0, 1, 2])
    equal = stratified_mean(np.array([7.0, 7.0, 2.0, 2.0]), pair, shares)
    assert equal.standard_error == pytest.approx(0.0)
    found = stratified_mean(np.array([7.0, 7.0, 1.0, 4.0]), pair, shares)
    # totals .2 and 1.2, expected .4 and .6 of 1.4, so .36 off on either side; twice the sum of squares
    assert found.standard_error == pytest.approx(math.sqrt(2 * 2 * 0.36**2))
    assert found.estimate == pytest.approx(0.5 * 7 + 0.2 * 1 + 0.3 * 4)


@pytest.mark.statistical
def test_intervals_of_single_values_cover_the_mean() -> None:
    """20 strata of one value each and of unequal shares: 95 % intervals, at least .93 (99 % bound of 2,000)."""
    rng, shares = RNG(11), np.arange(1, 21) / 210
    covered = 0
    for _ in range(2_000):
        low, high = stratified_mean(rng.normal(5, 1, 20), np.arange(20), shares).interval() or (0.0, 0.0)
        covered += low <= 5 <= high
    assert 0.93 <= covered / 2_000 <= 0.99


def test_two_equal_values_say_nothing_of_the_error() -> None:
    """Rounded to their standard deviation, two values are equal in 28 % of samples: no interval, and no equivalence."""
    values, owners, shares = np.array([2.0, 2.0]), np.zeros(2, dtype=np.intp), np.ones(1)
    equal = stratified_mean(values, owners, shares)
    assert equal.interval() is None
    assert (
        equivalence(equal, stratified_mean(np.array([2.0, 2.1, 1.9]), np.zeros(3, dtype=np.intp), shares), 1.0) is None
    )
    three = np.full(3, 2.0)
    assert stratified_mean(three, np.zeros(3, dtype=np.intp), shares).interval() == (2.0, 2.0)


def test_a_stratum_of_few_or_equal_values_has_no_interval() -> None:
    values, owners = np.array([1.0, 2.0, 5.0, 5.0, 5.0, 1.0, 2.0, 4.0]), np.array([0, 0, 1, 1, 1, 2, 2, 2])
    few, equal, enough = stratum_means(values, owners, np.full(3, 1 / 3))
    assert (few.interval(), equal.interval()) == (None, None)
    assert (few.estimate, equal.estimate) == (1.5, 5.0)
    assert enough.interval() == pytest.approx(stats.t.interval(0.95, 2, 7 / 3, stats.sem([1.0, 2.0, 4.0])))


def test_no_stratum_has_an_interval_with_one_degree_of_freedom() -> None:
    """With one it would be 12.7 standard errors wide, and that of two rounded values often nothing."""
    rng, sizes = RNG(8), np.array([1, 2, 3, 2, 5])
    owners, shares = np.repeat(np.arange(5), sizes), np.full(5, 0.2)
    for values in (rng.normal(10.0, 1.0, 13), rng.lognormal(0.0, 3.0, 13), np.round(rng.normal(10.0, 1.0, 13))):
        found = stratum_means(values, owners, shares)
        assert [each.df for each in found if each.interval() is not None] == [2.0, 4.0]


@pytest.mark.parametrize("ratio", [1.0, 10.0])
@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("strata", [1, 2, 4])
def test_intervals_of_strata_cover(number: int, strata: int, ratio: float) -> None:
    """Also of the one that varies ten times as much: 2,000 samples, 95 % within four standard errors of a rate."""
    rng, owners, shares = RNG(7), np.repeat(np.arange(strata), number), np.full(strata, 1 / strata)
    deviations = np.where(owners == 0, ratio, 1.0)
    covered = 0
    for _ in range(2_000):
        low, high = stratum_means(rng.normal(owners, deviations), owners, shares)[0].interval() or (math.nan, math.nan)
        covered += low <= 0.0 <= high
    assert abs(covered - 1_900) <= 39


def test_a_stratum_without_a_value_is_refused() -> None:
    with pytest.raises(InputError, match="without a value"):
        stratified_mean(np.array([1.0]), np.array([0]), np.array([0.5, 0.5]))


def test_the_assisted_mean_is_the_intercept_of_least_squares() -> None:
    rng = RNG(3)
    columns = rng.normal(size=(30, 3))
    values = 5 + columns @ [1.0, -2.0, 0.5] + rng.normal(size=30)
    found = assisted_mean(values, np.zeros(30, dtype=np.intp), np.ones(1), columns)
    fit = sm.OLS(values, sm.add_constant(columns)).fit()
    assert found.estimate == pytest.approx(fit.params[0])
    assert found.standard_error == pytest.approx(fit.bse[0])
    assert found.df == fit.df_resid == 26


def test_the_assisted_mean_over_strata_is_a_contrast_of_least_squares() -> None:
    rng = RNG(4)
    owners, shares = np.repeat([0, 1, 2], [6, 8, 10]), np.array([0.2, 0.3, 0.5])
    columns = np.column_stack([rng.normal(size=24), owners == 1, rng.normal(size=24)])  # one is a stratum's own
    values = owners + columns[:, 0] + rng.normal(size=24)
    found = assisted_mean(values, owners, shares, columns)
    design = np.column_stack([owners[:, None] == np.arange(3), columns[:, [0, 2]]]).astype(float)
    test = sm.OLS(values, design).fit().t_test(np.concatenate([shares, [0.0, 0.0]]))
    assert found.estimate == pytest.approx(float(np.squeeze(test.effect)))
    assert found.standard_error == pytest.approx(float(np.squeeze(test.sd)))


def test_few_degrees_of_freedom_leave_columns_out() -> None:
    rng = RNG(5)
    values, owners, shares = rng.normal(size=8), np.repeat([0, 1], 4), np.array([0.5, 0.5])
    columns = rng.normal(size=(8, 6))
    assert assisted_mean(values, owners, shares, columns).df == 4
    none = assisted_mean(values[2:6], np.array([0, 0, 1, 1]), shares, columns[2:6])
    assert none == stratified_mean(values[2:6], np.array([0, 0, 1, 1]), shares)


def test_quantiles_with_equal_weights_are_hazens() -> None:
    values = RNG(7).exponential(size=23)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    found = stratified_quantiles(values, np.zeros(23, dtype=np.intp), np.ones(1), levels)
    assert [q.estimate for q in found] == pytest.approx(np.quantile(values, levels, method="hazen").tolist())


def test_bounds_are_left_open_where_the_sample_does_not_reach() -> None:
    values = RNG(8).normal(size=20)
    low, middle, high = stratified_quantiles(
        values, np.zeros(20, dtype=np.intp), np.ones(1), np.array([0.05, 0.5, 0.95])
    )
    assert (low.low, high.high) == (None, None)
    assert low.high is not None
    assert middle.low is not None
    assert middle.high is not None
    assert middle.low < middle.estimate < middle.high


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("number", [1, 6, 25, 60])
def test_without_strata_bounds_are_those_of_order_statistics(number: int, level: float) -> None:
    """The binomial's: the last value that too few are below, and the first that too many are."""
    values = np.arange(1.0, number + 1)
    (found,) = stratified_quantiles(values, np.zeros(number, dtype=np.intp), np.ones(1), np.array([level]))
    below = stats.binom.cdf(np.arange(number), number, level)
    lows = [float(value) for value, chance in zip(values, below, strict=True) if chance <= 0.025]
    highs = [float(value) for value, chance in zip(values, 1.0 - below, strict=True) if chance <= 0.025]
    assert found.low == (max(lows) if lows else None)
    assert found.high == (min(highs) if highs else None)


def test_a_distribution_needs_values_and_positive_weights() -> None:
    with pytest.raises(InputError, match="positive weights"):
        Ecdf.of(np.array([]), np.array([]))
    with pytest.raises(InputError, match="positive weights"):
        Ecdf.of(np.array([1.0]), np.array([0.0]))


def draw(rng: np.random.Generator, counts: np.ndarray, skewed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Values of four strata of different means and deviations."""
    owners = np.repeat(np.arange(4), counts)
    noise = rng.exponential(size=len(owners)) - 1 if skewed else rng.normal(size=len(owners))
    return np.array([0.0, 1.0, 2.0, 5.0])[owners] + np.array([1.0, 1.0, 0.5, 2.0])[owners] * noise, owners


SHARES = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.statistical
@pytest.mark.parametrize(("counts", "skewed"), [((2, 2, 2, 2), False), ((12, 9, 6, 4), False), ((12, 9, 6, 4), True)])
def test_intervals_of_the_mean_cover(counts: tuple[int, ...], skewed: bool) -> None:
    """At nominal .95 at least .93 of 2,000 (standard error .005); skewed .92, as any t interval of 31 values."""
    rng, truth = RNG(9), float(SHARES @ [0.0, 1.0, 2.0, 5.0])
    hits = 0
    for _ in range(2000):
        low, high = stratified_mean(*draw(rng, np.array(counts), skewed), SHARES).interval() or (0.0, 0.0)
        hits += low <= truth <= high
    assert hits / 2000 >= (0.92 if skewed else 0.93)


@pytest.mark.statistical
@pytest.mark.parametrize("counts", [(4, 4, 4, 4), (12, 9, 6, 4)])
def test_intervals_of_the_assisted_mean_cover(counts: tuple[int, ...]) -> None:
    """At least .93 of 2,000 where slopes are alike and noise is not; and they are narrower."""
    rng, hits, widths = RNG(10), 0, np.zeros(2)
    truth = float(SHARES @ [0.0, 1.0, 2.0, 5.0])
    for _ in range(2000):
        values, owners = draw(rng, np.array(counts), False)
        columns = rng.choice([-1.0, 1.0], size=(len(values), 3))
        values = values + columns @ [1.5, 1.0, 0.0]
        found = assisted_mean(values, owners, SHARES, columns)
        low, high = found.interval() or (0.0, 0.0)
        plain_low, plain_high = stratified_mean(values, owners, SHARES).interval() or (0.0, 0.0)
        hits += low <= truth <= high
        widths += high - low, plain_high - plain_low
    assert hits / 2000 >= 0.93
    assert widths[0] < 0.9 * widths[1]


@pytest.mark.statistical
@pytest.mark.parametrize("counts", [(4, 4, 4, 4), (12, 9, 6, 4)])
def test_intervals_of_quantiles_cover(counts: tuple[int, ...]) -> None:
    rng, levels = RNG(11), np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    many, owners = draw(RNG(12), (SHARES * 400_000).astype(int), True)
    truth = Ecdf.of(many, np.ones(len(many))).quantiles(levels)
    hits = np.zeros(len(levels))
    for _ in range(600):
        values, owners = draw(rng, np.array(counts), True)
        for place, q in enumerate(stratified_quantiles(values, owners, SHARES, levels)):
            hits[place] += (q.low is None or q.low <= truth[place]) and (q.high is None or q.high >= truth[place])
    assert (hits / 600).min() >= 0.93
