"""The anytime-valid t-test: its e-value by integration, its interval its inverse, its errors over all looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from hati.stats import anytime_critical, anytime_e_values, fewest_signs

VALUES = st.lists(st.floats(-10.0, 10.0).map(lambda x: round(x, 3)), min_size=2, max_size=30)


def integrated(values: np.ndarray) -> float:
    """The noncentral over the central density of Student's t, over a standard normal effect."""
    size = len(values)
    t = float(np.mean(values) / (np.std(values, ddof=1) / math.sqrt(size)))

    def weighted(effect: float) -> float:
        return float(stats.nct.pdf(t, size - 1, effect * math.sqrt(size)) * stats.norm.pdf(effect))

    peak = t / math.sqrt(size)
    parts = [(-8.0, min(peak, 0.0)), (min(peak, 0.0), max(peak, 0.0)), (max(peak, 0.0), 8.0)]
    total = sum(integrate.quad(weighted, *part, epsabs=0.0, epsrel=1e-10)[0] for part in parts)
    return float(total / stats.t.pdf(t, size - 1))


@pytest.mark.parametrize(("mean", "size"), [(0.0, 2), (0.4, 5), (-1.0, 8), (0.3, 30)])
def test_the_e_value_is_the_ratio_of_the_densities_of_t(mean: float, size: int) -> None:
    values = mean + np.random.default_rng(size).standard_normal(size)
    assert anytime_e_values(values)[-1] == pytest.approx(integrated(values), rel=1e-6)


@given(VALUES, st.floats(1e-3, 1e3), st.sampled_from([-1.0, 1.0]))
def test_neither_unit_nor_direction_matters(values: list[float], unit: float, sign: float) -> None:
    given_values = np.array(values)
    assert anytime_e_values(unit * sign * given_values) == pytest.approx(anytime_e_values(given_values), rel=1e-6)


@given(VALUES, st.floats(0.001, 0.2))
def test_the_interval_has_zero_in_it_until_the_e_value_is_large(values: list[float], alpha: float) -> None:
    given_values = np.array(values)
    size, deviation = len(values), float(np.std(given_values, ddof=1))
    t = math.sqrt(size) * abs(float(np.mean(given_values))) / deviation if deviation > 1e-9 else math.nan
    critical = anytime_critical(size, alpha)
    if abs(t - critical) > 1e-6 * critical:
        assert (anytime_e_values(given_values)[-1] >= 1.0 / alpha) == (t > critical)


def test_values_that_tell_nothing_or_everything() -> None:
    assert anytime_e_values(np.zeros(3)).tolist() == pytest.approx([2**-0.5, 3**-0.5, 4**-0.5])
    assert anytime_e_values(np.full(9, 1e200))[-1] == pytest.approx(10.0**4)  # the most that nine values can say
    assert np.isfinite(anytime_e_values(np.ones(10_000))).all()
    assert len(anytime_e_values(np.zeros(0))) == 0
    assert anytime_critical(1, 0.01) == math.inf


def test_few_signs() -> None:
    assert [fewest_signs(alpha) for alpha in (0.5, 0.1, 0.05, 0.01, 0.001)] == [2, 5, 6, 8, 11]


@pytest.mark.statistical
def test_an_e_value_is_one_in_the_mean() -> None:
    """Of 5,000 null samples of five values, within four standard errors; larger ones have too heavy a tail."""
    rng = np.random.default_rng(3)
    found = np.array([anytime_e_values(values)[-1] for values in rng.standard_normal((5_000, 5))])
    assert abs(found.mean() - 1.0) <= 4.0 * found.std() / math.sqrt(5_000)
