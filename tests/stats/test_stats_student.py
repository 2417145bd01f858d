"""Student's t against scipy's."""

from __future__ import annotations

import pytest
from scipy import stats

from hati.stats import t_margin


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 10, 31, 64, 199, 200, 201, 499, 5000])
def test_it_is_scipys(confidence: float, df: int) -> None:
    assert t_margin(confidence, df) == pytest.approx(stats.t.ppf(0.5 + confidence / 2, df), rel=1e-9)
