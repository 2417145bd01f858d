"""Samples fall into the clusters they were made of, and those of two samples are matched.

One mode is never divided, two that are apart always are, and at a place where there is little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gaussian_kde

from hati.core import FloatArray
from hati.stats import cluster_cuts, clusters, common_shift, matched_clusters
from hati.stats.clustering import valley

Part = tuple[float, float, float]
"""Centre, standard deviation on the logarithmic scale, and share."""

HIT, MISS = (1e-4, 0.05, 0.3), (0.08, 0.0005, 0.7)


def drawn(parts: list[Part], seed: int, runs: int = 8, length: int = 300) -> list[FloatArray]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        kinds = rng.choice(len(parts), length, p=[share for *_, share in parts])
        centres, spreads, _ = np.array(parts).T
        found.append(np.log(centres[kinds]) + rng.normal(0.0, 1.0, length) * spreads[kinds])
    return found


def test_clusters_of_widths_far_apart() -> None:
    runs = drawn([(1e-4, 0.05, 0.3), (2e-4, 0.02, 0.2), (0.08, 0.0005, 0.5)], seed=1)
    cuts = cluster_cuts(runs)
    found = clusters(runs, cuts)
    assert np.exp([part.centre for part in found]) == pytest.approx([1e-4, 2e-4, 0.08], rel=0.01)
    assert [part.share for part in found] == pytest.approx([0.3, 0.2, 0.5], abs=0.03)


def test_one_cluster_has_no_cut() -> None:
    assert cluster_cuts(drawn([(1.0, 0.3, 1.0)], seed=1)) == ()


@pytest.mark.statistical
def test_resampled_runs_have_the_same_clusters() -> None:
    runs = drawn([HIT, MISS], seed=2)
    rng = np.random.default_rng(3)
    counts = [len(cluster_cuts([runs[i] for i in rng.integers(0, len(runs), len(runs))])) for _ in range(50)]
    assert np.mean(np.array(counts) == 1) >= 0.95


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.1, 3.0])
def test_a_cluster_that_moved_is_still_one(factor: float) -> None:
    pairs = matched_clusters(drawn([HIT, MISS], 4), drawn([(factor * HIT[0], *HIT[1:]), MISS], 5))
    assert len(pairs) == 2
    fast, slow = (second.centre - first.centre for first, second in pairs)
    assert np.exp(fast) == pytest.approx(factor, rel=0.02)
    assert np.exp(slow) == pytest.approx(1.0, rel=0.001)


def test_a_cluster_of_one_sample_only_has_no_share_in_the_other() -> None:
    pairs = matched_clusters(drawn([HIT, MISS], 6), drawn([MISS, (5.0, 0.1, 0.3)], 7))
    assert [(round(first.share, 1), round(second.share, 1)) for first, second in pairs] == [
        (0.3, 0.0),
        (0.7, 0.7),
        (0.0, 0.3),
    ]
    assert len(pairs[0][1].medians) == len(pairs[2][0].medians) == 0


def test_two_samples_of_one_cluster_are_one_pair() -> None:
    ((first, second),) = matched_clusters(drawn([(1.0, 0.1, 1.0)], 8), drawn([(9.0, 0.1, 1.0)], 9))
    assert first.share == second.share == 1.0


def test_a_run_without_a_cluster_has_a_share_of_none_but_no_median() -> None:
    ((low, high),) = [clusters([np.array([0.0, 0.0, 5.0]), np.array([0.1])], [2.0])]
    assert low.medians.tolist() == [0.0, 0.1]
    assert high.medians.tolist() == [5.0]
    assert high.shares.tolist() == pytest.approx([1 / 3, 0.0])


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 99))
def test_shares_of_a_run_sum_to_one(cuts: list[float], runs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = clusters([rng.normal(0.0, 2.0, 9) for _ in range(runs)], sorted(cuts))
    assert np.sum([part.shares for part in found], axis=0) == pytest.approx(np.ones(runs))


@given(st.floats(-3.0, 3.0), st.integers(0, 99))
def test_a_common_shift_moves_every_cluster_by_it(shift: float, seed: int) -> None:
    """Whatever clusters are found, with the shift they are the same ones, in the same shares."""
    first, second = drawn([HIT, MISS], seed, length=60), drawn([HIT, MISS], seed + 100, length=60)
    before = matched_clusters(first, second)
    after = matched_clusters(first, [values + shift for values in second])
    assert len(before) == len(after)
    for (a, b), (c, d) in zip(before, after, strict=True):
        assert a.medians.tolist() == c.medians.tolist()
        assert d.medians == pytest.approx(b.medians + shift, abs=1e-9)
        assert d.shares.tolist() == b.shares.tolist()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_fractions_that_moved_are_no_common_shift(share: float) -> None:
    second = drawn([(HIT[0], HIT[1], share), (*MISS[:2], 1.0 - share)], 5)
    assert common_shift(drawn([HIT, MISS], 4), second) == pytest.approx(0.0, abs=0.01)


def test_one_observation_in_a_hundred_is_no_cluster() -> None:
    assert cluster_cuts(drawn([(1.0, 0.01, 0.98), (9.0, 0.01, 0.02)], 6)) == ()


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
