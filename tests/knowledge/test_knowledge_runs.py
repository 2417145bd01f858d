"""Variances of interactions and of noise are what they were made of.

The warm-up that runs show.
"""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import Configuration, FloatArray, InputError, generator, replace
from hati.knowledge import KnownWarmUp, SumsOfSquares, Variation, variation, warm_up_of

NAMES = tuple("abcdef")


def sums(seed: int, interactions: float, noise: float, configurations: int, repetitions: int) -> SumsOfSquares:
    rng = np.random.default_rng(seed)
    rows = np.array([list(map(int, f"{place:06b}")) for place in rng.permutation(64)[:configurations]])
    logs = rows @ np.array([0.5, -0.4, 0.3, 0.2, 0.1, 0.0]) + rng.normal(0.0, interactions, configurations)
    made = np.repeat(logs, repetitions) + rng.normal(0.0, noise, configurations * repetitions)
    told = [Configuration(dict(zip(NAMES, row, strict=True))) for row in rows.tolist() for _ in range(repetitions)]
    return SumsOfSquares.of(told, np.exp(made))


@pytest.mark.parametrize(("interactions", "noise"), [(0.1, 0.05), (0.0, 0.05), (0.2, 0.01)])
def test_both_components_are_found_beside_main_effects(interactions: float, noise: float) -> None:
    found = [variation([sums(seed, interactions, noise, 40, 2)]) for seed in range(1, 41)]
    assert all(one is not None for one in found)
    means = np.mean([[one.interactions, one.noise] for one in found if one is not None], axis=0)
    assert means == pytest.approx([interactions**2, noise**2], rel=0.15, abs=0.15 * noise**2)


def test_without_repetitions_all_that_is_left_counts_as_interactions() -> None:
    found = variation([sums(seed, 0.1, 0.05, 40, 1) for seed in range(20)])
    assert found is not None
    assert (found.noise, found.interactions) == (0.0, pytest.approx(0.0125, rel=0.15))
    assert found.deviation(4) == pytest.approx(2.0 * found.deviation(1))


def test_few_degrees_of_freedom_tell_nothing() -> None:
    assert variation([]) is None
    assert variation([sums(1, 0.1, 0.05, 4, 2)]) is None
    assert variation([sums(1, 0.1, 0.05, 8, 2)], fewest=4) is None
    with pytest.raises(InputError, match="for every value"):
        SumsOfSquares.of([Configuration()], np.ones(2))
    assert Variation(0.09, 0.16).deviation(1) == pytest.approx(0.5)


SIZE = 200


def drawn(runs: int, warming: float = 0.0, drift: float = 0.0, size: int = SIZE) -> list[FloatArray]:
    """Runs with noise of 1 % whose warm-up of some 20 observations begins so much above their level."""
    rng, places = generator(1, "warm-up"), np.arange(size)
    shape = 1.0 + warming * np.exp(-places / 5.0) + drift * places
    return [shape * np.exp(0.01 * rng.standard_normal(size)) for _ in range(runs)]


def test_it_is_that_of_nine_in_ten_runs() -> None:
    found = warm_up_of(drawn(20, warming=1.0))
    assert found is not None
    assert (found.steady, found.runs) == (20, 20)
    assert 8 <= found.observations <= 40


def test_a_run_that_is_steady_later_is_not_steady_after_it() -> None:
    usual = drawn(20, warming=1.0)
    late = np.concatenate([np.full(80, 2.0), usual[0]])
    assert warm_up_of([*usual, late]) == replace(some(warm_up_of(usual)), runs=21)


def some(found: KnownWarmUp | None) -> KnownWarmUp:
    assert found is not None
    return found


@pytest.mark.parametrize(
    "runs",
    [
        drawn(20),
        drawn(7, warming=1.0),
        drawn(20, warming=1.0, size=29),
        drawn(20, warming=1.0, drift=0.01),
        [*drawn(16, warming=1.0), *drawn(4, drift=0.01)],
        [*drawn(20, warming=1.0), *drawn(1, size=30)],
    ],
    ids=["steady", "few", "short", "drifting", "some drift", "one is short"],
)
def test_it_is_not_known_of(runs: list[FloatArray]) -> None:
    assert warm_up_of(runs) is None


def test_none_is_no_warm_up() -> None:
    with pytest.raises(InputError, match="one observation or more"):
        KnownWarmUp(0, 8, 8)
