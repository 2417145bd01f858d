"""The test that ends simulations early: exactly as many trials as its bounds say, and few mistakes."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from benchmarks.sequential import MISSED, MISTAKEN, Kept, keeps

pytestmark = pytest.mark.statistical


def test_trials_end_when_the_rate_is_clear() -> None:
    assert keeps(repeat(False), 0.05, 0.15) == Kept(True, 0, 27)
    assert keeps(repeat(True), 0.05, 0.15) == Kept(False, 5, 5)
    assert keeps([False] * 26, 0.05, 0.15) == Kept(False, 0, 26)


@pytest.mark.parametrize(("level", "too_high"), [(0.05, 0.15), (0.01, 0.07)])
def test_mistakes_are_as_rare_as_is_said(level: float, too_high: float) -> None:
    """Of 2,000 tests, within three standard errors."""
    rng = np.random.default_rng(1)
    for rate, most in ((level, MISTAKEN), (too_high, MISSED)):
        found = [keeps((rng.random(300) < rate).tolist(), level, too_high).held for _ in range(2_000)]
        wrong = sum(found) if rate == too_high else len(found) - sum(found)
        assert wrong <= 2_000 * most + 3 * (2_000 * most * (1 - most)) ** 0.5
