"""When to stop, and in which order a pair is run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.harness import AnytimeValid, FixedSize, first_of_pair
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


def test_the_side_that_is_first_is_a_coin_of_the_seed() -> None:
    firsts = [first_of_pair(7, pair) for pair in range(400)]
    assert firsts == [first_of_pair(7, pair) for pair in range(400)]
    assert firsts != [first_of_pair(8, pair) for pair in range(400)]
    assert 160 <= sum(firsts) <= 240  # four standard deviations
