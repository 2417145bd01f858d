from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hati.core import FloatArray
from hati.stats import drawn_in, segments
from hati.stats.levels import _partition


def cost(values: FloatArray, starts: tuple[int, ...], penalty: float) -> float:
    parts = [values[a:b] for a, b in pairwise([*starts, len(values)])]
    return sum(float(np.sum((part - part.mean()) ** 2)) for part in parts) + penalty * len(parts)


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(-10, 10)), st.floats(0.1, 20))
def test_no_other_division_costs_less(values: FloatArray, penalty: float) -> None:
    found = tuple(_partition(values, penalty).tolist())
    places = range(1, len(values))
    every = [(0, *chosen) for number in range(len(values)) for chosen in combinations(places, number)]
    assert cost(values, found, penalty) <= min(cost(values, one, penalty) for one in every) + 1e-9


def test_levels_and_where_they_start() -> None:
    values = np.repeat([2.0, 1.0, 3.0], [200, 400, 400]) + 0.01 * np.random.default_rng(1).normal(size=1_000)
    found = segments(values)
    assert found.levels == pytest.approx([2.0, 1.0, 3.0], abs=0.05)
    assert [found.start(place) for place in range(3)] == [0, 200, 600]
    assert found.deviation == pytest.approx(0.01, rel=0.3)
    assert found.mean(700, 1_000) == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize(("period", "largest"), [(2, 3.0), (4, 3.0)])
def test_a_level_is_found_where_observations_take_turns(period: int, largest: float) -> None:
    """Each second or fourth observation takes three times as long, and the first two hundred of 800 a fifth longer."""
    places = np.arange(800)
    values = np.where(places % period, 1.0, largest) * np.where(places < 200, 1.2, 1.0)
    found = segments(values + 0.01 * np.random.default_rng(4).normal(size=800))
    assert [found.start(place) for place in range(len(found.levels))] == [0, pytest.approx(200, abs=10)]


def test_outliers_are_drawn_in_and_levels_stay() -> None:
    values = 1.0 + 0.01 * np.random.default_rng(2).normal(size=400)
    values[[50, 200, 201]] = 9.0
    values[300:] += 1.0
    made = drawn_in(values)
    assert made[:300].max() < 1.1
    assert made[300:].min() > 1.9
    turns = 1.0 + (np.random.default_rng(3).random(400) < 0.3)
    assert drawn_in(turns).mean() == pytest.approx(turns.mean(), rel=0.03)
