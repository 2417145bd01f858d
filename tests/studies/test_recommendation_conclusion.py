"""What is called confirmed."""

from __future__ import annotations

import pytest

from hati.core import Better, Metric
from hati.studies.recommendation.conclusion import MetricChange

BELOW, AROUND, ABOVE, TOUCHING = (-0.2, -0.1), (-0.1, 0.1), (0.1, 0.2), (-0.1, 0.0)


@pytest.mark.parametrize(
    ("better", "interval", "confirmed"),
    [
        (Better.LOWER, BELOW, True),
        (Better.LOWER, AROUND, False),
        (Better.LOWER, ABOVE, False),
        (Better.LOWER, TOUCHING, False),
        (Better.HIGHER, BELOW, False),
        (Better.HIGHER, AROUND, False),
        (Better.HIGHER, ABOVE, True),
        (Better.HIGHER, TOUCHING, False),
        (Better.LOWER, None, False),
        (Better.HIGHER, None, False),
    ],
)
def test_confirmed_is_an_interval_wholly_on_the_good_side(
    better: Better, interval: tuple[float, float] | None, confirmed: bool
) -> None:
    change = MetricChange(Metric("m", "s", better), None, None, 1.0, 1.0, 0.0, interval, pairs=5)
    assert change.confirmed is confirmed
