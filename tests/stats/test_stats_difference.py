"""The difference of two samples, beside scipy and statsmodels.

The table of tests, beside implementations of their own: lattice paths, counts of ranks, formulas, AS R94.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttest_ind, ttost_ind

from hati.core import FloatArray, InputError
from hati.stats import Difference, TwoSampleTest, VariancePrior, difference, rank_shift, shapiro_wilk, two_sample_tests
from hati.stats.differences import _error_of_the_statistic, _smirnov, _wilcoxon

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
    assert not alone.testable
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


def test_two_ticks_make_no_alarms() -> None:
    """Of two samples of ten values, each one of two ticks: the rate of false alarms, over all possible samples."""
    samples = [np.repeat([3.0, 4.0], [10 - upper, upper]) for upper in range(11)]
    p_values = np.array([[rank_shift(first, second).p_value for second in samples] for first in samples])
    chance = stats.binom.pmf(np.arange(11), 10, 0.5)
    for level in (0.01, 0.001):
        assert chance @ (p_values <= level) @ chance <= level


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


SIZES = [(2, 2), (2, 3), (3, 7), (5, 5), (9, 4), (10, 10), (23, 30), (49, 49), (50, 50), (8, 60)]
NAMES = [
    ("Kolmogorov-Smirnov", "x"),
    ("Wilcoxon", "x"),
    ("Kruskal-Wallis", "x"),
    ("t", "x"),
    ("t", "log(x)"),
    ("t", "1/x"),
    ("t", "1/sqrt(x)"),
]
SLEEP = (
    np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]),
    np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]),
)
"""Student's (1908, Biometrika 6, 1-25), R's ``sleep``."""


def samples(first: int, second: int, *, tied: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(100 * first + second)
    found = [np.exp(0.3 * rng.standard_normal(size) + shift) for size, shift in ((first, 1.0), (second, 1.2))]
    return (np.round(found[0], 1), np.round(found[1], 1)) if tied else (found[0], found[1])


def by_name(first: np.ndarray, second: np.ndarray) -> dict[tuple[str, str], TwoSampleTest]:
    found = two_sample_tests(first, second)
    assert [(one.name, one.transformed) for one in found] == NAMES
    return {(one.name, one.transformed): one for one in found}


def paths_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """P(D >= observed), exactly, given the ties: the share of lattice paths that leave the band where values differ."""
    m, n = len(first), len(second)
    both = np.sort(np.concatenate([first, second]))
    ends = {0, m + n, *(k for k in range(1, m + n) if both[k] > both[k - 1])}
    below = [(int((first <= v).sum()), int((second <= v).sum())) for v in both]
    observed = max(abs(Fraction(i, m) - Fraction(j, n)) for i, j in below)
    counts: dict[tuple[int, int], int] = {(0, 0): 1}
    for i in range(m + 1):
        for j in range(n + 1):
            if (i, j) == (0, 0):
                continue
            outside = i + j in ends and abs(Fraction(i, m) - Fraction(j, n)) >= observed
            counts[i, j] = 0 if outside else counts.get((i - 1, j), 0) + counts.get((i, j - 1), 0)
    return float(1 - Fraction(counts[m, n], math.comb(m + n, n)))


def rank_sum_counts(m: int, n: int) -> list[int]:
    """How many of the choices of m out of m + n ranks have each U: the coefficients of Gauss's binomial polynomial."""
    counts = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):  # times 1 - q^(n + i)
            counts[u] -= counts[u - n - i]
        for u in range(i, m * n + 1):  # divided by 1 - q^i
            counts[u] += counts[u - i]
    return counts


def wins(first: np.ndarray, second: np.ndarray) -> float:
    differences = np.subtract.outer(first, second)
    return float((differences > 0).sum() + (differences == 0).sum() / 2)


def ties_left(first: np.ndarray, second: np.ndarray) -> float:
    """1 - sum (t^3 - t) / (N^3 - N)."""
    both = np.concatenate([first, second])
    sizes = np.unique(both, return_counts=True)[1].astype(float)
    return 1.0 - float((sizes**3 - sizes).sum()) / (len(both) ** 3 - len(both))


@pytest.mark.parametrize("sizes", SIZES)
def test_kolmogorov_smirnov_counts_paths(sizes: tuple[int, int]) -> None:
    first, second = samples(*sizes, tied=False)
    found = by_name(first, second)["Kolmogorov-Smirnov", "x"]
    assert found.p_value == pytest.approx(paths_p_value(first, second), rel=1e-10)


@pytest.mark.parametrize("sizes", SIZES[2:7])
def test_kolmogorov_smirnov_with_ties_is_an_upper_bound(sizes: tuple[int, int]) -> None:
    first, second = samples(*sizes, tied=True)
    found = by_name(first, second)["Kolmogorov-Smirnov", "x"].p_value
    assert found is not None
    assert found >= paths_p_value(first, second) - 1e-12


def test_counting_paths_with_ties_is_counting_all_choices() -> None:
    first, second = np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    both = np.concatenate([first, second])

    def distance(places: tuple[int, ...]) -> float:
        chosen = np.isin(np.arange(7), places)
        return max(abs(np.mean(both[chosen] <= v) - np.mean(both[~chosen] <= v)) for v in both)

    observed = distance((0, 1, 2, 3))
    share = np.mean([distance(places) >= observed - 1e-12 for places in combinations(range(7), 4)])
    assert paths_p_value(first, second) == pytest.approx(share)


@pytest.mark.parametrize("sizes", [one for one in SIZES if max(one) < 50])
def test_wilcoxon_of_few_values_counts_ranks(sizes: tuple[int, int]) -> None:
    first, second = samples(*sizes, tied=False)
    counts = rank_sum_counts(*sizes)
    u = int(min(wins(first, second), wins(second, first)))
    expected = min(1.0, 2.0 * sum(counts[: u + 1]) / math.comb(sum(sizes), sizes[0]))
    found = by_name(first, second)["Wilcoxon", "x"]
    assert found.p_value == pytest.approx(expected, rel=1e-10)
    assert found.statistic == wins(first, second)


@pytest.mark.parametrize(
    ("sizes", "tied"), [(s, True) for s in SIZES[2:]] + [(s, False) for s in SIZES if max(s) >= 50]
)
def test_wilcoxon_with_ties_or_many_values_is_normal_with_both_corrections(sizes: tuple[int, int], tied: bool) -> None:
    first, second = samples(*sizes, tied=tied)
    m, n = sizes
    away = max(0.0, abs(wins(first, second) - m * n / 2) - 0.5)
    deviation = math.sqrt(m * n * (m + n + 1) / 12 * ties_left(first, second))
    expected = math.erfc(away / deviation / math.sqrt(2))
    found = by_name(first, second)["Wilcoxon", "x"].p_value
    if len(np.unique(np.concatenate([first, second]))) < m + n or not tied:
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("tied", [True, False])
def test_kruskal_wallis_is_the_square_of_the_uncorrected_rank_sum(sizes: tuple[int, int], tied: bool) -> None:
    first, second = samples(*sizes, tied=tied)
    m, n = sizes
    square = (wins(first, second) - m * n / 2) ** 2 / (m * n * (m + n + 1) / 12 * ties_left(first, second))
    found = by_name(first, second)["Kruskal-Wallis", "x"]
    assert found.statistic == pytest.approx(square, rel=1e-10)
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(square / 2)), rel=1e-10)


@pytest.mark.parametrize("sizes", SIZES)
def test_t_is_statsmodels_after_every_transformation(sizes: tuple[int, int]) -> None:
    first, second = samples(*sizes, tied=False)
    found = by_name(first, second)
    variance = "pooled" if sizes[0] == sizes[1] else "unequal"
    for name, transformed in (
        ("x", (first, second)),
        ("log(x)", (np.log(first), np.log(second))),
        ("1/x", (1 / first, 1 / second)),
        ("1/sqrt(x)", (first**-0.5, second**-0.5)),
    ):
        statistic, p_value, _ = ttest_ind(*transformed, usevar=variance)
        assert found["t", name].statistic == pytest.approx(statistic, rel=1e-10)
        assert found["t", name].p_value == pytest.approx(p_value, rel=1e-10)
        for values, normality in zip(transformed, found["t", name].normality or (), strict=True):
            assert normality == (pytest.approx(royston(values), abs=1e-8) if len(values) > 2 else None)


def royston(values: np.ndarray) -> float:
    """Royston (1995), AS R94, with exact normal quantiles, as R has it; scipy's have about nine digits."""
    x, n = np.sort(values), len(values)
    u = 1.0 / math.sqrt(n)
    m = special.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    c = m / math.sqrt(m @ m)
    if n == 3:
        weights = np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    else:
        last = np.polyval([-2.706056, 4.434685, -2.07119, -0.147981, 0.221157, c[-1]], u)
        if n > 5:
            before = np.polyval([-3.582633, 5.682633, -1.752461, -0.293762, 0.042981, c[-2]], u)
            phi = (m @ m - 2 * m[-1] ** 2 - 2 * m[-2] ** 2) / (1 - 2 * last**2 - 2 * before**2)
            weights = m / math.sqrt(phi)
            weights[[0, 1, -2, -1]] = -last, -before, before, last
        else:
            phi = (m @ m - 2 * m[-1] ** 2) / (1 - 2 * last**2)
            weights = m / math.sqrt(phi)
            weights[[0, -1]] = -last, last
    w = float((weights @ x) ** 2 / ((x - x.mean()) @ (x - x.mean())))
    if n == 3:
        return float(max(0.0, 6 / math.pi * (math.asin(math.sqrt(min(w, 1.0))) - math.asin(math.sqrt(0.75)))))
    logn = math.log(n)
    if n <= 11:
        gamma = np.polyval([0.459, -2.273], n)
        y = -math.log(gamma - math.log(1 - w))
        mean, deviation = (
            np.polyval([-0.0006714, 0.025054, -0.39978, 0.5440], n),
            np.polyval([-0.0020322, 0.062767, -0.77857, 1.3822], n),
        )
    else:
        y = math.log(1 - w)
        mean, deviation = (
            np.polyval([0.0038915, -0.083751, -0.31082, -1.5861], logn),
            np.polyval([0.0030302, -0.082676, -0.4803], logn),
        )
    return float(special.ndtr(-(y - mean) / math.exp(deviation)))


def test_published_examples() -> None:
    found = by_name(*SLEEP)
    assert found["t", "x"].p_value == pytest.approx(0.07919, abs=5e-6)  # R: t.test(..., var.equal = TRUE)
    assert found["t", "x"].statistic == pytest.approx(-1.8608, abs=5e-5)
    assert found["Wilcoxon", "x"].p_value == pytest.approx(0.06933, abs=5e-6)  # R: wilcox.test
    assert found["Wilcoxon", "x"].statistic == 25.5
    weights = np.array([148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236], dtype=float)
    assert shapiro_wilk(weights) == pytest.approx(0.006704, abs=5e-7)  # Shapiro and Wilk's 1965 example, by R


def test_what_is_not_defined_is_none() -> None:
    constant, other = np.full(5, 2.0), np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    same = by_name(constant, constant)
    assert [one.p_value for one in same.values()] == [1.0, *[None] * 6]
    assert same["t", "x"].normality == (None, None)
    assert by_name(constant, other)["t", "x"].normality == (None, pytest.approx(royston(other)))
    alone = by_name(np.array([1.0]), np.array([2.0]))
    assert alone["t", "x"].p_value is None
    assert alone["Wilcoxon", "x"].p_value == 1.0
    negative = by_name(np.array([-1.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]))
    assert negative["t", "x"].p_value is not None
    assert [negative["t", name].p_value for name in ("log(x)", "1/x", "1/sqrt(x)")] == [None] * 3
    assert by_name(np.array([0.0, 1.0]), np.array([1.0, 2.0]))["t", "1/x"].p_value is None
    assert by_name(np.array([1e-320, 1.0]), np.array([1.0, 2.0]))["t", "1/x"].p_value is None


VALUES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=9)


@settings(max_examples=30)
@given(VALUES, VALUES)
def test_exchanging_samples_changes_no_p_value(first: list[float], second: list[float]) -> None:
    there, back = (two_sample_tests(np.array(a), np.array(b)) for a, b in ((first, second), (second, first)))
    for one, other in zip(there, back, strict=True):
        assert (one.p_value is None) == (other.p_value is None)
        if one.p_value is not None:
            assert 0.0 <= one.p_value <= 1.0
            assert one.p_value == pytest.approx(other.p_value, rel=1e-6, abs=1e-9)
