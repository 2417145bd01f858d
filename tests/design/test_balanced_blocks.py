"""Blocks of designs that no words divide: balanced, as orthogonal to main effects as can be found."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import InputError, generator
from hati.design import blocked, blocks_of, by_runs, full_factorial, letters, plackett_burman


@pytest.mark.parametrize("number", [2, 3, 4])
def test_other_designs_get_balanced_blocks(number: int) -> None:
    design = plackett_burman(letters(8), 24)
    blocks = blocks_of(design, number, generator(1, "blocks"))
    assert [blocks.of_runs.count(block) for block in range(1, number + 1)] == [24 // number] * number
    assert (blocks.generators, blocks.confounded) == ((), ())
    indicators = np.array(blocks.of_runs)[:, None] == np.arange(1, number + 1)[None, :]
    explained = np.sum((indicators.T @ design.matrix) ** 2 / (24 / number), axis=0) / 24
    assert blocks.explained is not None
    assert blocks.explained[0] == pytest.approx(explained.max())
    by_chance = (number - 1) / 23
    assert explained.max() <= by_chance / 2


def test_a_regular_design_in_a_power_of_two_is_blocked_by_words() -> None:
    design = by_runs(letters(7), 32)
    assert blocks_of(design, 4, generator(1, "blocks")) == blocked(design, 4)
    assert blocks_of(full_factorial(letters(4)), 3, generator(1, "blocks")).explained is not None


def test_blocks_of_one_run_are_refused() -> None:
    with pytest.raises(InputError, match="7 blocks of 12 runs have fewer"):
        blocks_of(plackett_burman(letters(11)), 7, generator(1, "blocks"))


def test_blocks_of_many_runs_take_little_memory() -> None:
    blocks = blocks_of(full_factorial(letters(14)), 3, generator(1, "blocks"))
    assert sorted(blocks.of_runs.count(block) for block in (1, 2, 3)) == [5461, 5461, 5462]
    assert blocks.explained is not None
    assert max(blocks.explained) < 0.005
