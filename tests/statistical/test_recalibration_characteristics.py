"""How often residuals are said to have shifted where nothing but the level changed, and what shifts are found."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from benchmarks.recalibration import LEVEL, PROGRAMS, TRUE, alarms
from scipy import stats

CAMPAIGNS = 120
"""`python -m benchmarks.recalibration` simulates 500."""

pytestmark = pytest.mark.statistical


@pytest.mark.acceptance
@pytest.mark.parametrize("beside", [True, False], ids=["suite beside", "model alone"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_false_alarms_at_the_least_tolerance(name: str, beside: bool) -> None:
    found = alarms(name, CAMPAIGNS, beside=beside)
    assert found <= stats.binom.ppf(0.99, CAMPAIGNS, LEVEL)


@pytest.mark.acceptance
def test_shifts_at_the_tolerance_alarm_no_more_often_either() -> None:
    """An option of no effect that has one now whose root mean square is the tolerance."""
    now = {**TRUE, "d": 2.0 * math.log1p(0.05)}
    found = sum(PROGRAMS["repeated"].p_value(seed, now, 0.05, beside=True) <= LEVEL for seed in range(CAMPAIGNS))
    assert found <= stats.binom.ppf(0.99, CAMPAIGNS, LEVEL)


@pytest.mark.parametrize(
    ("now", "tolerance", "needed"),
    [
        ({**TRUE, "d": 0.4}, 0.05, 0.9),
        ({**TRUE, "b": 0.2}, 0.05, 0.9),
        ({"a": 0.3, "b": -0.2, "ab": -0.3, "c": 0.05}, 0.05, 0.9),
        ({**TRUE, "d": 0.12}, 0.01, 0.9),
    ],
    ids=["another option", "an effect turned round", "an interaction", "a small effect at a small tolerance"],
)
def test_what_is_found(now: Mapping[str, float], tolerance: float, needed: float) -> None:
    found = [PROGRAMS["repeated"].p_value(seed, now, tolerance, beside=True) <= LEVEL for seed in range(12)]
    assert sum(found) >= needed * len(found)
