"""The table of tests, beside implementations of their own: lattice paths, counts of ranks, formulas, AS R94."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from statsmodels.stats.weightstats import ttest_ind

from hati.stats import TwoSampleTest, shapiro_wilk, two_sample_tests

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
