"""Intervals of conditional effects hold for settings that were chosen."""

from __future__ import annotations

import numpy as np
import pytest

from hati.space import Option, Space
from hati.studies.screening.conditional import _Model
from hati.studies.screening.option_summary import option_summaries

pytestmark = pytest.mark.statistical

STUDIES = 400


@pytest.mark.parametrize(("settings", "most"), [(2, 0.985), (6, 1.0)])
def test_where_no_setting_does_anything_intervals_hold_nothing(settings: int, most: float) -> None:
    """In at least 92.5 %, two standard errors below 95 %, though the lowest and the highest mean are chosen."""
    summaries = option_summaries(
        Space((Option("size", tuple(range(settings)), 0), Option("fast", (False, True), default=False)))
    )
    options = {option.name: option for option in summaries}
    cells = np.array([(i, j) for i in range(settings) for j in range(2) for _ in range(4)], dtype=np.float64)
    places = {"size": cells[:, 0], "fast": cells[:, 1]}
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(STUDIES):
        values = rng.standard_normal(len(cells))
        model = _Model(options, places, values, np.ones((len(cells), 1)), False, 1.0, 0.0)
        first, *_ = model.conditional("size", "fast", found=True)
        assert first.interval is not None
        held += first.interval[0] <= 0.0 <= first.interval[1]
    assert 0.925 <= held / STUDIES <= most
