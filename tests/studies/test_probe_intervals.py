"""Intervals of one window in time: they cover where neighbours are alike, as a first-order autoregression is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hati.stats import proportion
from hati.studies.probe.intervals import (
    effective_number,
    median_property,
    median_ratio_property,
    rate_property,
    series_quantile_interval,
)

TRIALS = 2000


def autoregression(rng: np.random.Generator, phi: float, size: int) -> np.ndarray:
    """Series of a standard normal first-order autoregression, shape (2000, size)."""
    noise = rng.normal(size=(size, TRIALS))
    values = np.empty_like(noise)
    values[0] = noise[0]
    for place in range(1, size):
        values[place] = phi * values[place - 1] + np.sqrt(1.0 - phi**2) * noise[place]
    return values.T


def assert_covers(covered: Callable[[int], bool]) -> None:
    """Check that the upper limit of the coverage in 2,000 trials is at least 95 %."""
    count = sum(covered(trial) for trial in range(TRIALS))
    assert proportion(count, TRIALS).interval[1] >= 0.95, count / TRIALS


def within(interval: tuple[float, float] | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


@pytest.mark.parametrize(("phi", "size"), [(0.0, 10), (0.5, 20), (0.9, 50), (0.9, 200)])
def test_medians_of_a_series_are_covered(phi: float, size: int) -> None:
    series = np.exp(0.3 * autoregression(np.random.default_rng(1), phi, size))
    assert_covers(lambda trial: within(median_property("a", series[trial], "us").interval, 1.0))


@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_the_99th_percentile_of_a_series_is_covered(phi: float) -> None:
    series = autoregression(np.random.default_rng(2), phi, 500)
    assert_covers(lambda trial: within(series_quantile_interval(series[trial], 0.99), 2.3263479))


@pytest.mark.parametrize(("phi", "size"), [(0.0, 10), (0.5, 32), (0.9, 200)])
def test_rates_of_a_series_are_covered(phi: float, size: int) -> None:
    times = 1e5 * np.exp(0.3 * autoregression(np.random.default_rng(3), phi, size) - 0.045)
    assert_covers(lambda trial: within(rate_property("a", np.ones(size), times[trial], "1/s").interval, 1e4))


@pytest.mark.parametrize(("phi", "size"), [(0.5, 20), (0.9, 50)])
def test_ratios_of_medians_are_covered(phi: float, size: int) -> None:
    rng = np.random.default_rng(4)
    values = 30.0 * np.exp(0.3 * autoregression(rng, phi, size))
    reference = np.exp(0.1 * autoregression(rng, phi, size))
    assert_covers(lambda trial: within(median_ratio_property("a", values[trial], reference[trial]).interval, 30.0))


def test_a_series_is_worth_as_many_values_as_its_dependence_leaves() -> None:
    rng = np.random.default_rng(5)
    assert effective_number(np.ones(50)) == 50.0
    assert effective_number(rng.normal(size=2)) == 2.0
    for phi, least, most in ((0.0, 300.0, 1000.0), (0.5, 150.0, 400.0), (0.9, 20.0, 80.0)):
        found = [effective_number(series) for series in autoregression(rng, phi, 1000)[:200]]
        assert least < np.median(found) < most
    slow = np.repeat(rng.normal(size=8), 100) + 3.0 * rng.normal(size=800)  # hardly correlated with its neighbour
    assert effective_number(slow) < 200.0
