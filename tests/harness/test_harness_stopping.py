"""When to stop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.harness import AnytimeValid, FixedSize
from hati.stats import anytime_critical, anytime_e_values


def test_the_fixed_rule_is_students_paired_test() -> None:
    values = 0.3 + np.random.default_rng(1).standard_normal(12)
    rule = FixedSize()
    assert rule.p_value(values, 0.01) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    assert rule.critical(12, 0.01) == pytest.approx(stats.t.isf(0.005, 11))
    assert rule.one_sided(12, 0.01) == pytest.approx(stats.t.isf(0.01, 11))
    assert rule.e_value(values) is None
    assert rule.fewest(0.01) == 2


def test_the_anytime_rule_keeps_the_largest_evidence_of_its_looks() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.2, 1.1, 0.8, 1.0, 1.1, -9.0])
    rule = AnytimeValid()
    found = anytime_e_values(values)
    assert rule.fewest(0.01) == 8
    assert rule.p_value(values, 0.01) == pytest.approx(1.0 / found[8])
    assert rule.e_value(values) == pytest.approx(found[-1])
    assert found[-1] < 2.0 < found[8]
    assert rule.critical(20, 0.01) == rule.one_sided(20, 0.01) == anytime_critical(20, 0.01)
