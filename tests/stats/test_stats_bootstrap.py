"""Bootstrap intervals, beside scipy's, and how often they hold the truth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hati.stats import bootstrap_interval

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
