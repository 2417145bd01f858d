"""Differences of pairs by a statistic, the mean keeping a part of alpha."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import Stopping, replace
from hati.harness import RULES
from hati.stats import proportion
from hati.studies.comparison import MEAN, MEDIAN, ChoiceBasis, StatisticChoice, StatisticChoices
from hati.studies.paired.judging import JudgedPairs, JudgedWithMean, among, judge, slight

ANYTIME = RULES[Stopping.ANYTIME]
LIMIT = float(np.log(1.05))


def test_where_the_mean_is_the_statistic_it_has_all_of_alpha() -> None:
    values = np.random.default_rng(1).normal(0.1, 0.01, 20)
    for means in (None, values, values * (1.0 + 1e-15)):
        assert isinstance(judge(values, means, ANYTIME, 0.01, LIMIT), JudgedPairs)


def test_the_statistic_the_tail_and_equality_of_both() -> None:
    rng = np.random.default_rng(2)
    calm, other = rng.normal(0.0, 0.005, (2, 30))
    shifted = judge(calm + 0.1, calm + 0.1 + other, ANYTIME, 0.01, LIMIT)
    assert isinstance(shifted, JudgedWithMean)
    assert not shifted.of_tail
    assert shifted.estimate == pytest.approx(0.1, abs=0.005)
    tail = judge(calm, calm + other + 0.1, ANYTIME, 0.01, LIMIT)
    assert isinstance(tail, JudgedWithMean)
    assert tail.of_tail
    assert tail.estimate == pytest.approx(0.1, abs=0.005)
    assert tail.p_value is not None
    assert tail.p_value <= 0.01
    assert not tail.same
    assert judge(calm, calm + other, ANYTIME, 0.01, LIMIT).same
    assert not judge(calm, calm + 20.0 * other, ANYTIME, 0.01, LIMIT).same


def test_what_is_within_the_margin_is_slight_though_the_means_are_not_known_to_be() -> None:
    """A statistic that is .6 % larger in every pair, a tail that varies by 10 %, and a margin of 5 %."""
    own, noise = np.full(20, 0.006), np.random.default_rng(3).normal(0.0, 0.1, 20)
    within = judge(own, own + noise, ANYTIME, 0.01, LIMIT)
    assert within.p_value is not None
    assert within.p_value <= 0.01
    assert slight(within)
    assert not within.same
    assert not slight(judge(own + 0.1, own + 0.1 + noise, ANYTIME, 0.01, LIMIT))


def test_a_tail_beside_a_slight_change_is_of_the_tail() -> None:
    own = np.full(20, 0.006)
    tail = judge(own, own + np.random.default_rng(3).normal(0.5, 0.05, 20), ANYTIME, 0.01, LIMIT)
    assert isinstance(tail, JudgedWithMean)
    assert tail.of_tail
    assert not slight(tail)


def test_among_several_questions_a_change_is_of_the_tail_where_only_that_is_left() -> None:
    """The statistic alone has p = .004, which is enough for one question and not for five."""
    noise = np.random.default_rng(4).normal(0.0, 1.0, 20)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    own = noise + 3.3 / 20**0.5
    one = judge(own, own + noise + 10.0, RULES[Stopping.FIXED], 0.01, 0.0)
    assert isinstance(one, JudgedWithMean)
    assert one.own.p_value == pytest.approx(0.004, abs=0.001)
    assert not one.of_tail
    five = among(one, 5.0)
    assert isinstance(five, JudgedWithMean)
    assert five.of_tail
    assert five.estimate == pytest.approx(10.0)


@pytest.mark.statistical
def test_looks_at_both_err_in_alpha() -> None:
    """Of 2,000 campaigns of 40 pairs in which nothing changed, means having outliers, at most 1 % have a p-value up to
    1 % at the last look, which is of all looks: the lower 95 % limit does not exceed it.
    """
    rng = np.random.default_rng(1)
    told = 0
    for _ in range(2000):
        own = rng.normal(0.0, 0.02, 40)
        means = own + 0.1 * rng.standard_t(3, 40)
        p_value = judge(own, means, ANYTIME, 0.01, LIMIT).p_value
        told += p_value is not None and p_value <= 0.01
    assert proportion(float(told), 2000).interval[0] <= 0.01


def test_choices_are_kept() -> None:
    chosen = StatisticChoice(MEDIAN, ChoiceBasis.HISTORY, 3, 0.25)
    choices = StatisticChoices((("b", "time", chosen), ("b", "memory", replace(chosen, statistic=MEAN))))
    read = StatisticChoices.from_json(choices.to_json())
    assert read == choices
    assert read.of("b", "time") == chosen
    assert read.of("c", "time") == StatisticChoice(MEAN, ChoiceBasis.ASKED)
