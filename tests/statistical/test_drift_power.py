"""The cost of the linear trend in the analysis of a screening, as ``python -m benchmarks.drift_power`` measures it."""

from __future__ import annotations

import pytest
from benchmarks.drift_power import ROBUST, WITH, WITHOUT, simulate

pytestmark = pytest.mark.statistical


def test_a_trend_takes_power_of_small_screenings_only() -> None:
    """In 25 studies each: large effects are found with it as well, and it adds no false ones."""
    large, small = simulate(24, 3.0, 25), simulate(16, 1.5, 25)
    assert min(large.found.values()) >= 0.95
    assert small.found[WITH] <= small.found[WITHOUT]
    assert max(*large.false.values(), *small.false.values()) <= 0.2


@pytest.mark.parametrize("shape", ["none", "settling", "step"])
def test_an_order_that_a_trend_disturbs_little_adds_no_false_effects(shape: str) -> None:
    assert simulate(16, 1.5, 25, ROBUST, shape, (WITH,)).false[WITH] <= 0.2
