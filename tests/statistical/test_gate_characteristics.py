"""How often gates err, and what they find, by simulation; with confirmation and early stopping on."""

from __future__ import annotations

import pytest
from benchmarks.gating import NOISES, Change, alike, everywhere, gated, in_one_stratum, slower
from scipy import stats

pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]

NORMAL = next(iter(NOISES))
CHECKS = 120
"""`python -m benchmarks.gating` simulates 1,000."""


@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_checks_of_what_did_not_change_alarm_no_more_often_than_they_say(alpha: float) -> None:
    alarms, _ = alike(NOISES[NORMAL], alpha, CHECKS)
    assert alarms <= stats.binom.ppf(0.99, CHECKS, alpha)


@pytest.mark.parametrize("noise", [name for name in NOISES if name != NORMAL])
def test_neither_do_they_where_noise_is_of_other_kinds(noise: str) -> None:
    alarms, _ = alike(NOISES[noise], 0.05, CHECKS)
    assert alarms <= stats.binom.ppf(0.99, CHECKS, 0.05)


@pytest.mark.parametrize("change", [everywhere(1.05), in_one_stratum(1.3)], ids=["5 % in all strata", "30 % in one"])
def test_what_checks_find(change: Change) -> None:
    found = sum(slower(gated(seed, NOISES[NORMAL], change, 0.01)) for seed in range(100))
    assert found >= 90
