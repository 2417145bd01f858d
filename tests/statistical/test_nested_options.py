"""Options that act only under another: no inert option is called important beyond the study-wise level.

Thresholds: false alarms in at most 9 of 80 studies, the 99 % binomial bound of 5 %; what acts is found in 95 %. A
two-level fraction on a space that does not say which options are nested alarms several times as often, which shows that
these programs can mislead.
"""

from __future__ import annotations

import pytest
from benchmarks.nested import declared, fraction, simulate

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]


def test_declared_nesting_keeps_to_the_study_wise_level() -> None:
    found = simulate(declared, 80)
    assert max(found.inert_option, found.inert_effect) * 80 <= 9
    assert found.credible
    assert found.nested >= 0.95
    assert found.parent >= 0.9


def test_a_fraction_that_does_not_know_of_it_is_misled() -> None:
    found = simulate(fraction, 100)
    assert found.inert_effect >= 0.25
    assert not found.credible
