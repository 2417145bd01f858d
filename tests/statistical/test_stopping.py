"""Campaigns that are looked at after every pair, as ``python -m benchmarks.stopping`` simulates them.

Thresholds: of 1,000 campaigns of two sides that are alike, at most 18 call them different at 1 % and 67 at 5 %, the
99 % binomial bounds; where all differences have one size at most 30 and 88, those of 1.9 % and 6.9 %. Where the sides
differ by the margin itself, at most 18 call them the same. A 5 % change among runs that vary by 3.3 % is found in 98 %
of campaigns, with a quarter fewer runs than the fixed number that finds it as often.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.stopping import CAMPAIGNS, KINDS, alarms, ended, fixed_pairs

pytestmark = pytest.mark.statistical

WITHIN_BOUND = {0.01: 18, 0.05: 67}
OF_ONE_SIZE = {0.01: 30, 0.05: 88}


@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_over_all_looks(kind: str) -> None:
    for alpha, most in (OF_ONE_SIZE if kind == "first of a pair slower" else WITHIN_BOUND).items():
        assert alarms(KINDS[kind], alpha, seed=7) <= most


def test_what_differs_by_the_margin_is_not_the_same() -> None:
    assert sum(how == "same" for _, how in ended(0.05, 0.02, 0.01, seed=7)) <= WITHIN_BOUND[0.01]


@pytest.mark.acceptance
def test_runs_are_saved_where_a_change_is_found() -> None:
    ends = ended(0.05, 0.033, 0.01, seed=7)
    power = sum(how == "different" for _, how in ends) / CAMPAIGNS
    assert power >= 0.98
    assert np.mean([pairs for pairs, _ in ends]) <= 0.75 * fixed_pairs(0.05, 0.033, 0.01, min(power, 0.99))
