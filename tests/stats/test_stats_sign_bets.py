"""Bets on signs: their level, intervals, equivalence, and the numbers of values that decide, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hati.core import FloatArray
from hati.stats import (
    detectable_by_sign_bets,
    fewest_sign_bets,
    looks_of_sign_bets,
    sign_bet_e_values,
    sign_bet_interval,
    sign_bets,
    within_by_sign_bets,
)

SEQUENCES, ROUNDS = 1_000, 24
Runs = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
"""The runs of sequences in the order of time, shape (sequences, runs)."""

NOISES: dict[str, Runs] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t2": lambda rng, shape: rng.standard_t(2, shape),
    "bimodal": lambda rng, shape: 10.0 * rng.integers(0, 2, shape) + rng.standard_normal(shape),
    "skewed": lambda rng, shape: np.exp(rng.standard_normal(shape)),
    "outliers": lambda rng, shape: rng.standard_normal(shape) + 200.0 * (rng.random(shape) < 0.03),
    "drift": lambda rng, shape: 0.07 * np.arange(shape[1]) + rng.standard_normal(shape),
    "random walk": lambda rng, shape: np.cumsum(rng.standard_normal(shape), axis=1),
    "alternating": lambda rng, shape: 50.0 * (np.arange(shape[1]) % 2) + rng.standard_normal(shape),
}


def differences(runs: Runs, cells: int, seed: int) -> FloatArray:
    """The mean differences of rounds of pairs in a drawn order, shape (sequences, rounds)."""
    rng = np.random.default_rng(seed)
    pairs = runs(rng, (SEQUENCES, 2 * ROUNDS * cells)).reshape(SEQUENCES, ROUNDS, cells, 2)
    return np.asarray(((pairs[..., 1] - pairs[..., 0]) * rng.choice([-1.0, 1.0], pairs.shape[:3])).mean(axis=2))


@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("noise", NOISES)
def test_false_alarms_at_any_time_are_at_most_alpha(noise: str, cells: int) -> None:
    largest = sign_bet_e_values(differences(NOISES[noise], cells, 1)).max(axis=1)
    for alpha in (0.01, 0.05):
        assert np.sum(largest >= 1.0 / alpha) <= stats.binom.ppf(0.999, SEQUENCES, alpha)


@pytest.mark.parametrize("noise", NOISES)
def test_a_difference_at_the_margin_is_within_it_in_at_most_alpha(noise: str) -> None:
    for beyond in (0.0, 0.5):
        apart = differences(NOISES[noise], 1, 2)
        limit = 3.0 * float(np.median(np.abs(apart)))
        moved = apart + limit + beyond * limit
        within = sum(within_by_sign_bets(values, limit, 0.05) for values in moved)
        assert within <= stats.binom.ppf(0.999, SEQUENCES, 0.05)


def test_both_directions_are_alike_and_scales_do_not_matter() -> None:
    values = np.random.default_rng(1).standard_normal(20)
    up, down = sign_bets(values)
    again = sign_bets(-1e-200 * values)
    np.testing.assert_allclose(again[1], up)
    np.testing.assert_allclose(again[0], down)
    np.testing.assert_allclose(sign_bet_e_values(values), (np.exp(up) + np.exp(down)) / 2.0)


def test_equal_sides_bet_nothing() -> None:
    assert sign_bet_e_values(np.zeros(30)).tolist() == pytest.approx([1.0] * 30)
    assert sign_bet_e_values(np.array([1.0, 0.0, 0.0]))[2] == pytest.approx(sign_bet_e_values(np.ones(1))[0])


def test_many_values_have_a_finite_e_value() -> None:
    found = sign_bet_e_values(np.ones(5_000))
    assert np.all(np.isfinite(found))
    assert np.all(sign_bets(-np.ones(5_000))[0] < 0.0)


@pytest.mark.parametrize(("alpha", "fewest"), [(0.01, 9), (0.05, 7)])
def test_the_fewest_values(alpha: float, fewest: int) -> None:
    assert fewest_sign_bets(alpha) == fewest
    assert sign_bet_e_values(np.ones(fewest))[-1] >= 1.0 / alpha > sign_bet_e_values(np.ones(fewest - 1))[-1]


@pytest.mark.parametrize("noise", ["normal", "t2", "bimodal", "alternating"])
def test_intervals_hold_the_difference(noise: str) -> None:
    apart = differences(NOISES[noise], 1, 3)[:150, :16] + 7.0
    held = 0
    for values in apart:
        low, high = sign_bet_interval(values, 0.05)
        assert low <= values.mean() <= high
        held += low <= 7.0 <= high
    assert held >= stats.binom.ppf(0.001, len(apart), 0.95)


def outliers(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.normal(0.0, 0.01, 29), rng.choice([-10.0, 10.0], 1)])[rng.permutation(30)]


def ties(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([np.zeros(21), rng.standard_normal(3)])[rng.permutation(24)]


@pytest.mark.parametrize("noise", [outliers, ties])
def test_intervals_hold_the_difference_beside_outliers_and_ties(
    noise: Callable[[np.random.Generator], np.ndarray],
) -> None:
    """What is not refuted is narrow beside the range of the values."""
    found = [sign_bet_interval(noise(np.random.default_rng(seed)), 0.01) for seed in range(200)]
    assert sum(low <= 0.0 <= high for low, high in found) >= stats.binom.ppf(0.001, len(found), 0.99)


def test_an_interval_without_zero_is_a_rejection() -> None:
    for values in np.random.default_rng(5).normal(0.7, 1.0, (60, 14)):
        low, high = sign_bet_interval(values, 0.05)
        assert (low > 0.0 or high < 0.0) <= (sign_bet_e_values(values).max() >= 20.0)


def test_intervals_of_few_and_of_equal_values() -> None:
    assert sign_bet_interval(np.arange(6.0), 0.05) == (-math.inf, math.inf)
    assert sign_bet_interval(np.full(7, 0.25), 0.05) == (0.25, 0.25)
    assert within_by_sign_bets(np.full(9, 0.01), 0.05, 0.01)
    assert not within_by_sign_bets(np.full(9, 0.05), 0.05, 0.01)


def test_a_detectable_difference_is_found_with_that_power() -> None:
    size = detectable_by_sign_bets(16, 0.05, 0.8)
    values = np.random.default_rng(6).standard_normal((1_000, 16)) + size
    assert 0.74 <= np.mean(sign_bet_e_values(values)[:, 6:].max(axis=1) >= 20.0) <= 0.86
    assert math.isinf(detectable_by_sign_bets(6, 0.05, 0.8))


@pytest.mark.parametrize(("difference", "limit"), [(1.0, 0.2), (0.5, 0.2), (0.0, 0.8)])
def test_as_many_looks_as_are_needed_decide_with_that_power(difference: float, limit: float) -> None:
    needed = looks_of_sign_bets(difference, limit, 0.05, 0.05, 0.8)
    assert needed is not None
    values = np.random.default_rng(7).standard_normal((600, needed)) + difference
    decided = [
        sign_bet_e_values(each)[6:].max() >= 20.0
        or any(within_by_sign_bets(each[:size], limit, 0.05) for size in range(7, needed + 1))
        for each in values
    ]
    assert 0.74 <= np.mean(decided) <= 0.9


def test_what_too_many_values_would_decide_has_no_number() -> None:
    assert looks_of_sign_bets(0.01, 0.01, 0.01, 0.01, 0.8) is None
    assert looks_of_sign_bets(0.1, 1e-9, 0.01, None, 0.8) is None
