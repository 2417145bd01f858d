from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hati.core import FloatArray
from hati.stats import Positions, alternation, lag_one, normal_scores, position_steps, t_quantile
from hati.stats.dependence import (
    WANDERING,
    contrast_variance,
    equal_persistence,
    likely_step,
    log_likelihoods,
    running_median,
    sum_variance,
    whitened_products,
    without_bursts,
)


def correlations(size: int, phi: float) -> FloatArray:
    places = np.arange(size)
    return np.asarray(phi ** np.abs(np.subtract.outer(places, places)))


def autoregressive(size: int, phi: float, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=size)
    for place in range(1, size):
        values[place] = phi * values[place - 1] + np.sqrt(1.0 - phi**2) * values[place]
    return values


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.4, 0.9])
def test_the_variance_of_a_sum_is_that_of_the_correlation_matrix(phi: float) -> None:
    sizes = np.arange(13)
    expected = [correlations(size, phi).sum() for size in sizes]
    assert sum_variance(sizes, np.array(phi)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.4, 0.9])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (0, 7), (3, 9), (5, 6), (8, 11)])
def test_the_variance_of_a_contrast_is_that_of_the_correlation_matrix(phi: float, start: int, stop: int) -> None:
    size = 12
    weights = np.full(size, -1.0 / (size - (stop - start)))
    weights[start:stop] = 1.0 / (stop - start)
    expected = weights @ correlations(size, phi) @ weights / (weights @ weights)
    found = contrast_variance(np.array([start]), np.array([stop]), size, np.array(phi))
    assert found == pytest.approx([expected])


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("step", [0.0, 4.0])
def test_steps_hardly_inflate_the_autocorrelation(phi: float, step: float) -> None:
    rng = np.random.default_rng(3)
    groups = np.zeros(400, dtype=np.intp)
    levels = step * (np.arange(400) // 100 % 2)
    found = [lag_one(normal_scores(autoregressive(400, phi, rng) + levels, groups)) for _ in range(60)]
    assert np.mean(found) == pytest.approx(phi, abs=0.06)


def test_equal_values_have_none() -> None:
    assert lag_one(np.zeros(9)) == 0.0


def test_normal_scores_are_those_of_blom() -> None:
    from scipy import stats

    values = np.array([3.0, 1.0, 2.0, 2.0, 9.0, -4.0, 8.0])
    blom = stats.norm.ppf((stats.rankdata(values) - 0.375) / 7.25)
    blom -= blom.mean()
    assert normal_scores(values, np.zeros(7, dtype=np.intp)) == pytest.approx(blom / blom.std())


def test_groups_have_levels_and_noise_of_their_own() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(60) % 3
    values = rng.normal(size=60)
    scores = normal_scores(values, groups)
    assert normal_scores(values + 100.0 * groups, groups) == pytest.approx(scores)
    assert normal_scores(values * (1.0 + 9.0 * groups), groups) == pytest.approx(scores)
    assert np.bincount(groups, scores) == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("size", [1, 5, 40])
def test_likelihoods_are_those_of_a_multivariate_normal_distribution(size: int) -> None:
    values = np.random.default_rng(1).normal(size=size)
    products = whitened_products(values[:, None])
    distances = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    found = log_likelihoods(np.concatenate([products, products], axis=2).repeat(2, axis=1), [], size)
    for kind, (phi, part) in enumerate(WANDERING):
        covariance = part * phi**distances + (1.0 - part) * np.eye(size)
        variance = float(values @ np.linalg.solve(covariance, values)) / size
        wanted = stats.multivariate_normal(cov=variance * covariance).logpdf(values)
        assert found[kind] - 0.5 * size * (1.0 + np.log(2.0 * np.pi)) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_a_burst_goes_and_a_step_stays() -> None:
    values = np.random.default_rng(2).normal(size=60)
    burst = values.copy()
    burst[20:27] += 30.0
    assert np.abs(without_bursts(burst)).max() < 5.0
    step = values + 30.0 * (np.arange(60) >= 41)
    assert (without_bursts(step)[41:] > 20.0).all()
    assert (without_bursts(step)[:41] < 10.0).all()


def test_persistence_is_that_of_what_wanders_under_white_noise() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=2000)
    assert equal_persistence(noise) == 0.0
    wandering = noise.copy()
    for place in range(1, 2000):
        wandering[place] = 0.95 * wandering[place - 1] + np.sqrt(1.0 - 0.95**2) * wandering[place]
    found = equal_persistence(wandering + rng.normal(size=2000))
    inflation = 0.5 + 0.5 * 1.95 / 0.05
    assert found == pytest.approx((inflation - 1.0) / (inflation + 1.0), abs=0.05)


def test_a_step_is_the_harder_to_show_the_more_the_noise_wanders() -> None:
    steps = [likely_step(200, phi, 14.0) for phi in (0.0, 0.6, 0.9)]
    assert steps == sorted(step for step in steps if step is not None)
    short, long = likely_step(50, 0.0, 14.0), likely_step(500, 0.0, 14.0)
    assert short is not None
    assert long is not None
    assert short > long


def _cost(values: FloatArray, errors: FloatArray, places: tuple[int, ...], penalty: float) -> float:
    left = 0.0
    for own, error in zip(np.split(values, places), np.split(errors, places), strict=True):
        weights = 1.0 / error**2
        left += float(weights @ np.square(own - np.average(own, weights=weights)))
    return left + penalty * len(places)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_steps_are_those_of_the_best_of_all_partitions(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=size) + 4.0 * np.cumsum(rng.random(size) < 0.3)
    errors = rng.uniform(0.5, 1.5, size)
    penalty = t_quantile(1.0 - 0.025 / (size - 1), 30.0) ** 2
    found = position_steps(Positions(values, errors, 30.0, np.ones(size, dtype=np.bool_)), 0.05)
    if found.slope == 0.0:
        best = min(
            (chosen for number in range(size) for chosen in combinations(range(1, size), number)),
            key=lambda chosen: _cost(values, errors, chosen, penalty),
        )
        assert tuple(step.index for step in found.steps) == best
    assert all(step.p_value <= 0.05 * 1.0001 for step in found.steps if found.slope == 0.0)
    assert all(step.indexes[0] <= step.index <= step.indexes[1] for step in found.steps)


def test_a_step_between_two_positions_is_students_t() -> None:
    values, errors = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    [step] = position_steps(Positions(values, errors, 7.0, np.ones(2, dtype=np.bool_)), 0.05).steps
    error = np.hypot(0.1, 0.2)
    assert step.p_value == pytest.approx(2.0 * stats.t.sf(1.0 / error, 7.0))
    assert step.interval == pytest.approx(
        (1.0 - stats.t.ppf(0.975, 7.0) * error, 1.0 + stats.t.ppf(0.975, 7.0) * error)
    )


@pytest.mark.parametrize(("returns", "recurs"), [(2, False), (3, True)])
def test_a_level_recurs_from_the_third_return_on(returns: int, recurs: bool) -> None:
    states = np.repeat(np.arange(2 * returns + 1) % 2, 15)
    values = 10.0 + 5.0 * states + np.random.default_rng(4).normal(size=len(states))
    found = alternation(np.asarray(values))
    assert (found is not None) is recurs
    if found is not None:
        assert found.regained == returns
        assert np.mean(found.above == (states == 1)) > 0.95


def test_noise_has_no_levels_that_recur() -> None:
    rng = np.random.default_rng(5)
    assert all(alternation(rng.normal(size=100)) is None for _ in range(50))


@pytest.mark.filterwarnings("error")
def test_levels_without_noise_recur_as_others_do() -> None:
    assert alternation(np.zeros(60)) is None
    assert alternation(np.repeat([0.0, 1.0], 30)) is None
    found = alternation(np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 10))
    assert found is not None
    assert (found.low, found.high, found.regained) == (0.0, 1.0, 3)


@pytest.mark.filterwarnings("error")
def test_ticks_have_no_levels_that_recur() -> None:
    rng = np.random.default_rng(6)
    assert all(alternation(np.asarray(rng.random(100) < 0.1, dtype=np.float64)) is None for _ in range(50))


def test_each_is_the_median_of_those_around_it_and_the_ends_go_on() -> None:
    values = np.array([1.0, 9.0, 2.0, 3.0, 4.0])
    assert running_median(values, 3).tolist() == [1.0, 2.0, 3.0, 3.0, 4.0]


def test_statistics_are_there_without_what_is_slow_to_load() -> None:
    script = "import sys, hati.stats; print([m for m in ('scipy.ndimage', 'scipy.optimize') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
