"""Lenth's method, against a published example and independent simulation."""

from __future__ import annotations

import statistics
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.core import generator
from hati.stats import (
    adaptive_standard_error,
    contrasts,
    correlated_reference,
    degrees_of_freedom,
    least_squares,
    lenth_reference,
    pseudo_standard_error,
)
from hati.stats.lenth import LARGEST, SINGLE, simulated_reference

# Montgomery, Design and Analysis of Experiments, the filtration rate example: 2^4 once, A changes fastest.
FILTRATION = np.array([45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96], dtype=float)


def naive_pse(values: list[float]) -> float:
    sizes = [abs(value) for value in values]
    s0 = 1.5 * statistics.median(sizes)
    kept = [size for size in sizes if size < 2.5 * s0]
    return 1.5 * statistics.median(kept) if kept else 0.0


def naive_ase(values: list[float]) -> float:
    """Dong's: the root mean square of what is within 2.5 s0."""
    s0 = 1.5 * statistics.median(abs(value) for value in values)
    return float(statistics.mean(value**2 for value in values if abs(value) <= 2.5 * s0) ** 0.5)


def test_the_filtration_rate_example() -> None:
    """Published: PSE 2.625, margin of error 6.748, simultaneous margin 13.699; A, C, D, AC, AD stand out."""
    matrix = np.array([[(i >> j & 1) * 2 - 1 for j in range(4)] for i in range(16)], dtype=np.int8)
    fit = least_squares(contrasts(matrix), np.arange(16), np.zeros(16, dtype=int))
    effects = fit.effects(FILTRATION)
    named = dict(zip(("".join("ABCD"[f] for f in term) for term in fit.terms), effects, strict=True))
    assert {name: named[name] for name in ("A", "C", "D", "AC", "AD")} == pytest.approx(
        {"A": 21.625, "C": 9.875, "D": 14.625, "AC": -18.125, "AD": 16.625}
    )
    assert pseudo_standard_error(effects) == pytest.approx(2.625)
    assert adaptive_standard_error(effects) == pytest.approx((48.78125 / 10) ** 0.5)  # of the ten within 6.5625
    margins = 2.625 * stats.t.ppf([(1 + level) / 2 for level in (0.95, 0.95 ** (1 / 15))], degrees_of_freedom(15))
    assert margins == pytest.approx([6.748, 13.699], abs=0.003)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_pseudo_standard_error_is_that_of_its_definition(values: list[float]) -> None:
    assert pseudo_standard_error(np.array(values)) == pytest.approx(naive_pse(values), rel=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_adaptive_standard_error_is_that_of_its_definition(values: list[float]) -> None:
    assert adaptive_standard_error(np.array(values)) == pytest.approx(naive_ase(values), rel=1e-9, abs=1e-150)


def test_critical_values_are_those_of_a_plain_simulation() -> None:
    rng = generator(3, "plain")
    largest, first = [], []
    for _ in range(8000):
        z = rng.standard_normal(15).tolist()
        largest.append(max(map(abs, z)) / naive_ase(z))
        first.append(abs(z[0]) / naive_ase(z))
    reference = lenth_reference(15)
    assert np.mean(np.array(largest) > reference.critical(0.05, 15)) == pytest.approx(0.05, abs=0.0065)
    assert np.mean(np.array(largest) > reference.critical(0.2, 15)) == pytest.approx(0.2, abs=0.012)
    assert np.mean(np.array(first) > reference.critical(0.05, 1)) == pytest.approx(0.05, abs=0.0065)


def test_the_largest_of_some_errs_in_no_more_than_alpha() -> None:
    z = generator(4, "some").standard_normal((20_000, 31))
    ratios = np.abs(z) / np.array([adaptive_standard_error(row) for row in z])[:, None]
    for tests in (2, 5, 14, 31):
        largest = ratios[:, :tests].max(axis=1)
        assert 0.04 <= np.mean(largest > lenth_reference(31).critical(0.05, tests)) <= 0.0536  # the 99 % bound


@pytest.mark.parametrize("contrasts_", [7, 31, 127])
def test_the_table_is_what_its_simulation_gives(contrasts_: int) -> None:
    fresh = simulated_reference(contrasts_, 40_000)
    for tests in (1, contrasts_):
        assert fresh.critical(0.05, tests) == pytest.approx(lenth_reference(contrasts_).critical(0.05, tests), rel=0.02)
    assert contrasts_ in LARGEST
    assert contrasts_ in SINGLE


@given(st.sampled_from([3, 7, 29, 31, 63]), st.floats(0.001, 0.9))
def test_the_p_value_of_a_critical_value_is_its_alpha(count: int, alpha: float) -> None:
    reference = lenth_reference(count)
    for tests in (1, count):
        assert reference.p_values(np.array([reference.critical(alpha, tests)]), tests)[0] == pytest.approx(
            alpha, rel=1e-6
        )


def test_p_values_fall_and_stay_within_what_was_simulated() -> None:
    p_values = lenth_reference(31).p_values(np.array([0.0, 0.5, 1.6, 3.0, 4.0, 9.0, 1e9, np.inf]), 31)
    assert p_values[0] == p_values[1] == 1.0
    assert np.all(np.diff(p_values) <= 0.0)
    assert p_values[-1] == pytest.approx(5e-5)


def test_uncorrelated_contrasts_have_the_tabulated_reference() -> None:
    found = correlated_reference(np.eye(10), 5)
    assert found.critical(0.05, 15) == pytest.approx(lenth_reference(15).critical(0.05, 15), rel=0.03)


def test_correlation_changes_the_reference() -> None:
    same = np.full((15, 15), 0.9) + 0.1 * np.eye(15)
    assert correlated_reference(same, 0).critical(0.05, 15) < 0.75 * lenth_reference(15).critical(0.05, 15)


def test_contrasts_of_which_most_are_zero_have_no_error() -> None:
    assert pseudo_standard_error(np.array([0.0, 0.0, 0.0, 5.0])) == 0.0
    assert adaptive_standard_error(np.array([0.0, 0.0, 0.0, 5.0])) == 0.0


def test_pairs_are_contrasts_too() -> None:
    """The number of contrasts of a two-level factorial in four factors, by order."""
    assert len(contrasts(np.array([[(i >> j & 1) * 2 - 1 for j in range(4)] for i in range(16)])).terms) == sum(
        len(list(combinations(range(4), size))) for size in (1, 2, 3, 4)
    )
