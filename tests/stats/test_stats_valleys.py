"""One mode is never divided, two that are apart always are, and at a place where there is little."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gaussian_kde

from hati.core import FloatArray
from hati.stats.samples.clusters import valley

Draw = Callable[[np.random.Generator, int], FloatArray]


def outliers(share: float) -> Draw:
    return lambda rng, n: rng.normal(0.0, 0.02, n) + (rng.random(n) < share) * rng.uniform(0.0, 5.0, n)


def autocorrelated(rng: np.random.Generator, n: int) -> FloatArray:
    values = rng.normal(0.0, 0.02, n)
    for place in range(1, n):
        values[place] += 0.9 * values[place - 1]
    return values


ONE_MODE: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0.0, 0.02, n),
    "wide": lambda rng, n: rng.normal(0.0, 0.5, n),
    "t3": lambda rng, n: 0.02 * rng.standard_t(3, n),
    "nearly Cauchy": lambda rng, n: 0.02 * rng.standard_t(1.5, n),
    "exponential": lambda rng, n: np.log(1.0 + 0.1 * rng.exponential(size=n)),
    "uniform": lambda rng, n: rng.uniform(0.0, 1.0, n),
    "ticks of a clock": lambda rng, n: np.log(np.rint(rng.normal(100.0, 3.0, n))),
    "ticks as wide as the noise": lambda rng, n: np.log(np.maximum(np.rint(rng.normal(10.0, 1.2, n)), 1.0)),
    "1 % outliers": outliers(0.01),
    "5 % outliers": outliers(0.05),
    "autocorrelated": autocorrelated,
}


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [(1, 1000), (5, 200), (10, 1000), (20, 10)], ids=str)
@pytest.mark.parametrize("kind", ONE_MODE)
def test_one_mode_has_no_valley(kind: str, runs: tuple[int, int]) -> None:
    number, length = runs
    found = [
        valley([ONE_MODE[kind](rng, length) + rng.normal(0.0, shift) for _ in range(number)])
        for seed in range(8)
        for shift in (0.0, 0.03)
        if kind != "ticks as wide as the noise" or shift == 0.0
        for rng in [np.random.default_rng(seed)]
    ]
    assert found == [None] * len(found)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("apart", "share", "runs", "least"),
    [
        (5.0, 0.3, (5, 200), 1.0),
        (8.0, 0.1, (5, 200), 1.0),
        (8.0, 0.02, (10, 1000), 1.0),
        (5.0, 0.1, (10, 1000), 0.9),
        (4.0, 0.5, (10, 1000), 0.9),
    ],
)
def test_modes_that_are_apart_are_found(apart: float, share: float, runs: tuple[int, int], least: float) -> None:
    number, length = runs
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = [
            rng.normal(0.0, 1.0, length) + apart * (rng.random(length) < share) + rng.normal(0.0, 0.25)
            for _ in range(number)
        ]
        cut = valley(values)
        hits += cut is not None and 1.0 < cut < apart
    assert hits >= least * 20


def test_the_density_there_is_at_most_half_of_either_side() -> None:
    rng = np.random.default_rng(7)
    runs = [np.concatenate([rng.normal(0.0, 0.1, 300), rng.normal(0.6, 0.05, 100)]) for _ in range(5)]
    cut = valley(runs)
    assert cut is not None
    density = gaussian_kde(np.concatenate(runs), 0.1)
    assert density([cut])[0] <= 0.5 * min(density([0.0])[0], density([0.6])[0])


def test_what_differs_only_between_runs_is_no_valley() -> None:
    rng = np.random.default_rng(7)
    assert valley([rng.normal(place, 0.01, 500) for place in (0.0, 0.0, 1.0, 0.0, 1.0)]) is None


def test_few_or_equal_observations_have_none() -> None:
    assert valley([np.array([0.0, 1.0] * 10)]) is None
    assert valley([np.zeros(1000)]) is None
    assert valley([]) is None
    assert valley([np.array([]), np.zeros(50)]) is None


def test_the_fewest_on_a_side_are_counted() -> None:
    values = [np.concatenate([np.random.default_rng(1).normal(0.0, 0.01, 970), np.full(30, 5.0)])]
    assert valley(values, fewest=30) is not None
    assert valley(values, fewest=31) is None


@given(st.floats(-50.0, 50.0), st.floats(0.01, 100.0), st.integers(0, 3))
def test_it_moves_with_the_values(shift: float, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = [np.concatenate([rng.normal(0.0, 0.1, 70), rng.normal(2.0, 0.2, 50)]) for _ in range(3)]
    cut, moved = valley(runs), valley([shift + scale * values for values in runs])
    assert cut is not None
    assert moved is not None
    assert [np.sum(values < cut) for values in runs] == [np.sum(shift + scale * values < moved) for values in runs]
