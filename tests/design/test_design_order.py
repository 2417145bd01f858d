"""The randomised order of runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError, generator
from hati.design import run_order


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
