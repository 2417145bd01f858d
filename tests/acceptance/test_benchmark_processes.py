"""Simulations in several processes: their results are those of one, in the order of their seeds."""

from __future__ import annotations

from functools import partial

import pytest
from benchmarks import aliasing
from benchmarks.parallel import spread

WORLD = aliasing.World("mild", aliasing.MILD, 0.02, 6, 24)


@pytest.mark.acceptance
def test_results_are_those_of_one_process_in_order() -> None:
    study = partial(aliasing.study, WORLD, choose=aliasing.choose_followed)
    assert spread(study, range(1, 4)) == [study(seed) for seed in range(1, 4)]


def test_an_exception_of_a_simulation_ends_them() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        spread(int, ["1", "x"])
