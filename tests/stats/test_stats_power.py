"""The smallest effect that is found with 80 % power.

Power for a given effect, and the effect for another power than 80 %.
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from hati.core import generator
from hati.stats import (
    adaptive_standard_error,
    detectable_by_lenth,
    detectable_by_pure_error,
    detectable_contrast,
    lenth_reference,
    noncentrality_of_t,
    power_by_lenth,
    power_by_pure_error,
    power_of_contrast,
    step_critical,
)


@pytest.mark.parametrize(("df", "tests"), [(2, 3), (15, 10), (62, 29)])
def test_pure_error_agrees_with_the_noncentral_t_distribution(df: int, tests: int) -> None:
    critical = step_critical(0.05, tests, df)

    def shortfall(effect: float) -> float:
        return float(stats.nct.sf(critical, df, effect)) - 0.8

    expected = optimize.brentq(shortfall, 0.1, 100.0)
    assert detectable_by_pure_error(2.0, df, critical, 0.0) == pytest.approx(2.0 * expected, rel=0.005)


@pytest.mark.parametrize(("dimensions", "df"), [(1, 12), (3, 30), (5, 60)])
def test_the_power_of_an_f_test_agrees_with_the_noncentral_f_distribution(dimensions: int, df: int) -> None:
    size = detectable_contrast(0.3, dimensions, df, 0.01, 0.9)
    critical = stats.f.isf(0.01, dimensions, df)
    assert stats.ncf.sf(critical, dimensions, df, (size / 0.3) ** 2) == pytest.approx(0.9, abs=1e-4)
    assert power_of_contrast(size, 0.3, dimensions, df, 0.01) == pytest.approx(0.9, abs=1e-4)


def test_of_two_settings_it_is_student_s() -> None:
    critical = float(stats.t.isf(0.005, 20))
    assert detectable_contrast(0.3, 1, 20, 0.01) == pytest.approx(
        detectable_by_pure_error(0.3, 20, critical, 0.0), rel=5e-3
    )


def test_lenth_agrees_with_a_simulation_of_whole_studies() -> None:
    critical = lenth_reference(31).critical(0.05, 31)
    effect = detectable_by_lenth(1.0, 31, critical, 0.0)
    rng = generator(11, "lenth power")
    z = rng.standard_normal((4000, 31))
    z[:, 4] += effect
    found = np.mean([abs(row[4]) > critical * adaptive_standard_error(row) for row in z])
    assert found == pytest.approx(0.8, abs=0.025)


@given(st.floats(0.0, 0.1), st.floats(0.0, 1.0))
def test_nothing_below_what_is_relevant_can_be_found(relevant: float, error: float) -> None:
    assert detectable_by_pure_error(error, 20, 3.0, relevant) >= relevant
    assert detectable_by_lenth(error, 15, 4.0, relevant) >= relevant


def test_without_noise_all_that_is_relevant_is_found() -> None:
    assert detectable_by_pure_error(0.0, 5, 3.0, 0.01) == detectable_by_lenth(0.0, 31, 4.0, 0.01) == 0.01


def test_it_scales_with_the_noise() -> None:
    one, four = (detectable_by_pure_error(error, 30, 3.0, 0.0) for error in (1.0, 4.0))
    assert four == pytest.approx(4.0 * one)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9, 0.99])
def test_power_is_the_inverse_of_what_is_detectable(power: float) -> None:
    for relevant in (0.0, 4.0):
        effect = detectable_by_pure_error(2.0, 12, 3.0, relevant, power)
        assert power_by_pure_error(effect, 2.0, 12, 3.0, relevant) == pytest.approx(power, abs=1e-3)
        effect = detectable_by_lenth(2.0, 31, 3.5, relevant, power)
        assert power_by_lenth(effect, 2.0, 31, 3.5, relevant) == pytest.approx(power, abs=2e-3)


def test_power_by_pure_error_is_that_of_the_noncentral_t() -> None:
    for effect in (1.0, 3.0, 6.0):
        expected = stats.nct.sf(3.0, 12, effect) + stats.nct.cdf(-3.0, 12, effect)
        assert power_by_pure_error(effect, 1.0, 12, 3.0, 0.0) == pytest.approx(expected, abs=2e-3)
        assert power_by_pure_error(-effect, 1.0, 12, 3.0, 0.0) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("df", [1.0, 4.0, 100.0, 1e5])
def test_the_noncentrality_of_a_far_limit_is_that_of_nearer_ones(df: float) -> None:
    near, far = (noncentrality_of_t(limit, df, 0.8) / limit for limit in (9_990.0, 10_010.0))
    assert far == pytest.approx(near, rel=1e-5)


def test_the_noncentrality_of_a_far_limit_takes_no_longer() -> None:
    began = process_time()
    assert noncentrality_of_t(1e5, 1.0, 0.8) == pytest.approx(1.2815515e5)
    assert process_time() - began < 0.1


def test_without_noise_what_is_relevant_is_found_for_certain() -> None:
    assert power_by_pure_error(0.02, 0.0, 5, 3.0, 0.01) == power_by_lenth(0.02, 0.0, 31, 3.0, 0.01) == 1.0
    assert power_by_pure_error(0.005, 0.0, 5, 3.0, 0.01) == power_by_lenth(0.005, 0.0, 31, 3.0, 0.01) == 0.0
