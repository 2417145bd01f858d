"""Replays as tables: a line for each revision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.studies.replay.document import box_plot


def test_a_box_has_its_quantiles_in_their_places() -> None:
    assert box_plot((0.0, 8.0, 16.0, 24.0, 31.0), 0.0, 31.0) == "--------========|========-------"
    assert box_plot((10.0, 10.0, 10.0, 10.0, 10.0), 0.0, 31.0) == " " * 10 + "|"


@pytest.mark.parametrize("level", [0.0, -3.5, 1e-300])
def test_one_value_is_drawn_at_the_left(level: float) -> None:
    assert box_plot((level,) * 5, level, level) == "|"


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=5).map(sorted), st.floats(0, 10), st.floats(0, 10))
def test_a_box_stays_within_its_line(quantiles: list[float], below: float, above: float) -> None:
    drawn = box_plot(quantiles, quantiles[0] - below, quantiles[-1] + above)
    assert len(drawn) <= 32
    assert drawn.count("|") == 1
    assert drawn == drawn.rstrip()
