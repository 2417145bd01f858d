"""How often gates err, and what they find, by simulation; with early stopping on.

``python -m benchmarks.gating`` simulates 1,000 checks a row. Here they end when the rate is clear: checks that keep
their level are refused in 1 %, and those that alarm in 7 % at a level of 1 %, or in 15 % at 5 %, in 95 %; changes that
are found in 95 % are called missed in 1 %, and those found in 85 % in 95 %.
"""

from __future__ import annotations

import pytest
from benchmarks.gating import NOISES, Change, alarmed, everywhere, gated, in_one_stratum, slower, unchanged
from benchmarks.sequential import Kept, keeps

pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]

NORMAL = next(iter(NOISES))
MOST = 300


def alarms(noise: str, alpha: float, too_high: float) -> Kept:
    """Whether checks of what did not change keep their level."""
    return keeps((alarmed(gated(seed, NOISES[noise], unchanged, alpha)) for seed in range(MOST)), alpha, too_high)


@pytest.mark.parametrize(("alpha", "too_high"), [(0.01, 0.07), (0.05, 0.15)])
def test_checks_of_what_did_not_change_alarm_no_more_often_than_they_say(alpha: float, too_high: float) -> None:
    found = alarms(NORMAL, alpha, too_high)
    assert found.held, found


@pytest.mark.parametrize("noise", [name for name in NOISES if name != NORMAL])
def test_neither_do_they_where_noise_is_of_other_kinds(noise: str) -> None:
    found = alarms(noise, 0.05, 0.15)
    assert found.held, found


@pytest.mark.parametrize("change", [everywhere(1.05), in_one_stratum(1.3)], ids=["5 % in all strata", "30 % in one"])
def test_what_checks_find(change: Change) -> None:
    missed = (not slower(gated(seed, NOISES[NORMAL], change, 0.01)) for seed in range(MOST))
    found = keeps(missed, 0.05, 0.15)
    assert found.held, found
