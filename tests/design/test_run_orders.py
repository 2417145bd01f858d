"""Orders of runs: random ones, and those that a linear trend disturbs little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import FloatArray, InputError, generator
from hati.design import Model, full_factorial, run_order, trend_robust_order


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32))
def test_each_repetition_is_a_block_of_all_configurations(count: int, repetitions: int, seed: int) -> None:
    order = run_order(count, repetitions, generator(seed, "order"))
    assert order.shape == (count * repetitions,)
    for block in order.reshape(repetitions, count):
        assert sorted(block) == list(range(count))
    assert np.array_equal(order, run_order(count, repetitions, generator(seed, "order")))


def test_blocks_are_shuffled_anew() -> None:
    first, second = run_order(32, 2, generator(1, "order")).reshape(2, 32)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(32))


def test_every_place_is_equally_likely() -> None:
    # 4,000 orders of 5: each place's count has mean 800 and sd 25.3; 4.5 sd bounds all 25 cells (p < 2e-4).
    rng = generator(7, "order")
    counts = np.zeros((5, 5))
    for _ in range(4000):
        counts[run_order(5, 1, rng), np.arange(5)] += 1
    assert np.abs(counts - 800).max() < 4.5 * np.sqrt(4000 * 0.2 * 0.8)


@pytest.mark.parametrize(("count", "repetitions"), [(0, 1), (3, 0), (-1, 2)])
def test_nothing_to_run_is_refused(count: int, repetitions: int) -> None:
    with pytest.raises(InputError, match="nothing to run"):
        run_order(count, repetitions, generator(1, "order"))


def columns(settings: FloatArray) -> tuple[FloatArray, FloatArray]:
    matrix = Model.of_order([2] * settings.shape[1], 2).matrix((settings > 0).astype(np.int16))[:, 1:]
    return matrix[:, : settings.shape[1]], matrix[:, settings.shape[1] :]


def explained(order: np.ndarray, effects: FloatArray, repetitions: int) -> float:
    """The fraction of a trend within repetitions that the effects explain together, by least squares."""
    trend = np.tile(np.arange(len(effects)) - (len(effects) - 1) / 2.0, repetitions)
    rows = effects[order]
    rest = trend - rows @ np.linalg.lstsq(rows, trend, rcond=None)[0]
    return 1.0 - float(rest @ rest) / float(trend @ trend)


SETTINGS = full_factorial(tuple("abcd")).matrix.astype(np.float64)


@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_robust_order_minimises_what_effects_explain_of_a_trend(repetitions: int) -> None:
    mains, pairs = columns(SETTINGS)

    def measure(order: np.ndarray) -> float:
        return explained(order, mains, repetitions) + max(
            explained(order, pairs[:, [place]], repetitions) for place in range(pairs.shape[1])
        )

    for seed in range(5):
        rng = generator(seed, "order")
        random = [run_order(16, repetitions, rng) for _ in range(30)]
        chosen = trend_robust_order(mains, pairs, repetitions, 30, generator(seed, "order"))
        assert measure(chosen) == pytest.approx(min(map(measure, random)))
        assert np.array_equal(
            np.sort(chosen.reshape(repetitions, 16), axis=1), np.tile(np.arange(16), (repetitions, 1))
        )


@pytest.mark.parametrize("seed", range(20))
def test_of_equally_good_orders_the_first_drawn_is_taken(seed: int) -> None:
    mains, pairs = columns(full_factorial(tuple("ab")).matrix.astype(np.float64))
    # Two main effects and their interaction explain all of the trend, in any order.
    assert np.array_equal(
        trend_robust_order(mains, pairs, 1, 100, generator(seed, "order")), run_order(4, 1, generator(seed, "order"))
    )


@pytest.mark.parametrize("repetitions", [1, 2])
def test_rounding_does_not_decide_the_order(repetitions: int) -> None:
    mains, pairs = columns(SETTINGS[SETTINGS.prod(axis=1) > 0])  # 2^(4-1)
    pairs = pairs[:, :3]
    rng = generator(1, "rounding")
    for seed in range(20):
        noise = 1.0 + 1e-12 * rng.standard_normal(mains.shape)
        assert np.array_equal(
            trend_robust_order(mains * noise, pairs, repetitions, 100, generator(seed, "order")),
            trend_robust_order(mains, pairs, repetitions, 100, generator(seed, "order")),
        )


def test_one_order_is_the_random_one() -> None:
    chosen = trend_robust_order(*columns(SETTINGS), 2, 1, generator(7, "order"))
    assert np.array_equal(chosen, run_order(16, 2, generator(7, "order")))


def test_constant_and_repeated_columns_have_no_part() -> None:
    mains, pairs = columns(SETTINGS)
    more = np.column_stack([mains, np.ones(16), mains[:, 0]])
    assert np.array_equal(
        trend_robust_order(more, pairs, 1, 20, generator(1, "order")),
        trend_robust_order(mains, pairs, 1, 20, generator(1, "order")),
    )
    assert len(trend_robust_order(mains[:, :1], pairs[:, :0], 1, 20, generator(1, "order"))) == 16


def test_an_order_is_chosen_among_at_least_one() -> None:
    with pytest.raises(InputError, match="among 0"):
        trend_robust_order(*columns(SETTINGS), 1, 0, generator(1, "order"))
