"""Bootstrap intervals, beside scipy's, and how often they hold the truth.

Intervals of quotients of means: by hand, beside Welch's, and where there are none.

Shares and their intervals, beside statsmodels and scipy.

Stratified means: against independent implementations, and the coverage of their intervals.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from hati.core import InputError
from hati.stats import (
    Ecdf,
    adaptive_benjamini_hochberg,
    assisted_mean,
    bootstrap_interval,
    clustered_proportion,
    critical_p_value,
    difference,
    least_ratio,
    proportion,
    quotient_interval,
    ratio_interval,
    sign_test,
    stratified_mean,
    stratified_quantiles,
    stratum_means,
)

FIRST = np.array([1.0, 1.2, 0.9, 1.1, 1.4, 0.8, 1.05, 0.95, 1.3, 1.15])
SECOND = FIRST[::-1] * 1.1 + 0.02


def tail(confidence: float, runs: int) -> float:
    """Hesterberg's (2015), written out."""
    return float(stats.norm.cdf(-math.sqrt(runs / (runs - 1)) * stats.t.ppf(0.5 + confidence / 2, runs - 1)))


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_it_is_scipy_s_percentile_interval_at_the_expanded_level(confidence: float) -> None:
    expected = stats.bootstrap(
        (SECOND, FIRST),
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        confidence_level=1 - 2 * tail(confidence, 10),
        n_resamples=50_000,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(1),
    ).confidence_interval
    found = bootstrap_interval(FIRST, SECOND, confidence, np.random.default_rng(2), draws=50_000)
    assert found == pytest.approx((expected.low, expected.high), abs=0.04 * (expected.high - expected.low))


def test_quantiles_are_those_of_all_ways_to_draw() -> None:
    first, second = np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.5, 7.0])
    means = [np.array([np.mean(drawn) for drawn in product(values, repeat=3)]) for values in (first, second)]
    every = np.subtract.outer(means[1], means[0]).ravel()
    level = tail(0.6, 3)
    found = bootstrap_interval(first, second, 0.6, np.random.default_rng(3), draws=100_000)
    assert found == pytest.approx(np.quantile(every, [level, 1 - level]), abs=0.1)


def test_a_seed_gives_the_same_interval_and_one_run_gives_none() -> None:
    one, other = (bootstrap_interval(FIRST, SECOND, 0.95, np.random.default_rng(4)) for _ in range(2))
    assert one == other
    assert bootstrap_interval(FIRST[:1], SECOND, 0.95, np.random.default_rng(4)) is None
    assert bootstrap_interval(np.ones(5), np.ones(5), 0.95, np.random.default_rng(4)) == (0.0, 0.0)


def test_many_runs_are_drawn_in_parts() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.standard_normal((2, 400_000))
    found = bootstrap_interval(first, second, 0.95, rng, draws=6)
    assert found is not None
    assert found[1] - found[0] < 0.03


@pytest.mark.acceptance
@pytest.mark.statistical
@pytest.mark.parametrize(("runs", "least", "most"), [(5, 0.965, 0.985), (10, 0.983, 0.998), (20, 0.983, 0.996)])
@pytest.mark.parametrize("kind", ["normal", "t3", "observations"])
def test_how_often_99_percent_intervals_hold_the_truth(runs: int, least: float, most: float, kind: str) -> None:
    """Of 2,000 for runs that differ by normal and long-tailed noise, and for those that differ by their observations
    alone: about 97.5 % with 5 runs, 99 % with 10 and 20 (a standard error is .35 and .22 %).
    """
    rng = np.random.default_rng(runs)
    draw = {
        "normal": lambda: rng.standard_normal(runs),
        "t3": lambda: rng.standard_t(3, runs),
        "observations": lambda: rng.standard_normal((runs, 10)).mean(axis=1),
    }[kind]
    held = 0
    for _ in range(2_000):
        found = bootstrap_interval(draw(), draw(), 0.99, rng, draws=2_000)
        assert found is not None
        held += found[0] <= 0.0 <= found[1]
    assert least <= held / 2_000 <= most


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


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 1.0), max_size=12), st.sampled_from([0.01, 0.05, 0.3]))
def test_the_critical_p_value_is_the_largest_that_is_rejected(others: list[float], alpha: float) -> None:
    critical = critical_p_value(np.array(others), alpha)
    below, above = (
        adaptive_benjamini_hochberg(np.array([*others, critical * (1.0 + shift)]))[-1] for shift in (-1e-9, 1e-9)
    )
    assert below <= alpha < above


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


def test_strata_means_have_a_common_variance() -> None:
    rng = RNG(6)
    values, owners = rng.normal(size=9), np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    found = stratum_means(values, owners, np.full(3, 1 / 3))
    fit = sm.OLS(values, (owners[:, None] == np.arange(3)).astype(float)).fit()
    for stratum, (low, high) in zip(found, fit.conf_int(), strict=True):
        assert stratum.interval == pytest.approx((low, high))
    assert stratum_means(np.array([1.0, 2.0]), np.array([0, 1]), np.array([0.5, 0.5]))[0].interval is None


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
