"""Relations that are looked at after every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import FloatArray, InputError
from hati.formula import Comparator
from hati.logic.interpret import (
    AskedRelation,
    EstimateScale,
    FormulaVerdict,
    Limit,
    MeasuredSample,
    decide,
    decide_early,
    pairs_to_decide,
)
from hati.logic.interpret.anytime import Alone, Pairs, fewest_pairs
from hati.stats import anytime_critical, anytime_e_values, skewed_e_value, skewed_e_values

AT_MOST = AskedRelation(Comparator.AT_MOST, 0.02)


def of(means: FloatArray) -> MeasuredSample:
    return MeasuredSample(tuple(means[:, None]))


def normal(seed: int, number: int, mean: float = 10.0) -> FloatArray:
    return np.random.default_rng(seed).normal(mean, 0.1, number)


def test_it_is_the_anytime_valid_t_test_of_differences() -> None:
    left, right = normal(1, 12), normal(2, 12)
    found = decide_early(of(left), of(right), AT_MOST)
    size = pairs_to_decide(of(left), of(right), AT_MOST)
    assert size is not None
    e_values = anytime_e_values(left[:size] - 1.02 * right[:size])[6:]
    assert (found.verdict, found.runs_needed) == (FormulaVerdict.HOLDS, size)
    assert found.p_holds == pytest.approx(0.5 / e_values.max())
    assert e_values[:-1].max(initial=0.0) < 50.0 <= e_values[-1]


def test_the_interval_is_the_confidence_sequence() -> None:
    left, right = normal(1, 12), normal(2, 12)
    found = decide_early(of(left), of(right), AT_MOST)
    assert found.interval is not None
    for end in found.interval:
        differences = left - end * right
        statistic = abs(differences.mean()) / differences.std(ddof=1) * np.sqrt(12)
        assert statistic == pytest.approx(anytime_critical(12, 0.02), rel=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), ratio=st.sampled_from([0.99, 1.02, 1.05]), more=st.integers(0, 20))
def test_a_verdict_stays(seed: int, ratio: float, more: int) -> None:
    left, right = normal(seed, 40, 10.0 * ratio), normal(seed + 1, 40)
    size = pairs_to_decide(of(left), of(right), AT_MOST)
    if size is None:
        assert decide_early(of(left), of(right), AT_MOST).verdict is FormulaVerdict.INCONCLUSIVE
        return
    first, later = (decide_early(of(left[:n]), of(right[:n]), AT_MOST) for n in (size, min(40, size + more)))
    assert first.verdict is later.verdict is not FormulaVerdict.INCONCLUSIVE
    assert (first.p_holds, first.p_violated) == pytest.approx((later.p_holds, later.p_violated))


def test_the_pairs_that_it_needs_decide_in_four_of_five() -> None:
    left, right = normal(1, 8, 10.2), normal(2, 8, 10.1)
    found = decide_early(of(left), of(right), AT_MOST)
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert found.runs_needed is not None
    differences, rng = left - 1.02 * right, np.random.default_rng(7)

    def decides() -> bool:
        new = differences.mean() + differences.std(ddof=1) * rng.standard_normal(found.runs_needed)
        return pairs_to_decide(of(1.02 * right.mean() + new), of(np.full(len(new), right.mean())), AT_MOST) is not None

    assert 0.75 <= np.mean([decides() for _ in range(1000)]) <= 0.88


def test_few_pairs_decide_nothing() -> None:
    found = decide_early(of(normal(1, 6, 20.0)), of(normal(2, 6)), AT_MOST)
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert found.remark == "fewer than 7 pairs"
    assert decide_early(of(normal(1, 1)), of(normal(2, 1)), AT_MOST).runs_needed == 7


def test_on_the_bound_no_number_of_pairs_decides() -> None:
    right = normal(1, 10)
    assert decide_early(of(right), of(right), AskedRelation(Comparator.AT_MOST)).runs_needed is None
    assert decide_early(of(right), of(right), AskedRelation(Comparator.EQUAL, 0.02)).verdict is FormulaVerdict.HOLDS


def test_a_limit() -> None:
    found = decide_early(of(normal(1, 13)), Limit(11.0), AskedRelation(Comparator.AT_MOST))
    assert (found.verdict, found.scale, found.runs) == (FormulaVerdict.HOLDS, EstimateScale.MEAN, (13, 0))
    assert found.p_holds == pytest.approx(0.7**13)
    assert found.interval is not None
    few = decide_early(of(normal(1, 12)), Limit(11.0), AskedRelation(Comparator.AT_MOST))
    assert (few.verdict, few.runs_needed, few.remark) == (FormulaVerdict.INCONCLUSIVE, 13, "fewer than 13 runs")
    assert (few.interval, few.detectable) == (None, None)


def test_a_p_value_beside_a_limit_is_of_one_look() -> None:
    """Of e-values that are large at once it is not less than what so few runs can show, until they are so later."""
    values = np.concatenate((np.full(15, 10.0), np.full(15, 30.0)))
    found = [
        decide_early(of(values[:size]), Limit(20.0), AskedRelation(Comparator.LESS)).p_holds for size in (13, 15, 30)
    ]
    assert found == pytest.approx([0.7**13] * 3)  # of the first look that decides
    assert Alone(values, 20.0, 13).at(30).below(1.0) == pytest.approx(0.7**15)
    assert 1.0 / skewed_e_values(20.0 - values)[14] < 1e-6


@pytest.mark.parametrize("sign", [Comparator.LESS, Comparator.MORE])
def test_of_equal_values_rounding_tells_nothing(sign: Comparator) -> None:
    left, right = (MeasuredSample(tuple(np.full(size, 0.1) for _ in range(20))) for size in (3, 7))
    assert decide_early(left, right, AskedRelation(sign)).verdict is FormulaVerdict.INCONCLUSIVE
    assert decide_early(left, Limit(0.1), AskedRelation(sign)).verdict is FormulaVerdict.INCONCLUSIVE


def test_on_the_bound_rounding_tells_nothing() -> None:
    """1.15 times 100 is a little less than 115 to a computer."""
    high, low = (of(np.full(20, mean)) for mean in (115.0, 100.0))
    for right in (low, Limit(100.0)):
        assert decide_early(high, right, AskedRelation(Comparator.AT_MOST, 0.15)).verdict is FormulaVerdict.INCONCLUSIVE
        assert decide_early(high, right, AskedRelation(Comparator.AT_MOST, 0.149)).verdict is FormulaVerdict.VIOLATED


def told_of_all_signs(pairs: int, alpha: float) -> FloatArray:
    """The p-values of every order of equally large differences, of which each is as probable."""
    signs = 1.0 - 2.0 * (np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1)
    return np.array([Pairs(1.0 + each, np.ones(pairs), fewest_pairs(alpha)).above(1.0) for each in signs])


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_no_p_value_of_the_first_look_is_less_than_that_of_signs(alpha: float) -> None:
    told = told_of_all_signs(fewest_pairs(alpha), alpha)
    assert told.min() == 0.5 ** fewest_pairs(alpha)
    assert all(np.mean(told <= p_value) <= p_value for p_value in np.unique(told))


def test_twelve_differences_of_one_size_are_told_apart_a_little_too_often() -> None:
    assert np.mean(told_of_all_signs(12, 0.01) <= 0.01) == 46 / 4096


def test_looks_before_the_first_show_nothing() -> None:
    values = np.full(20, 10.0)
    assert Alone(values, 20.0, 13).at(12).below(1.0) == Pairs(values, 2.0 * values, 7).at(6).below(1.0) == 1.0


@pytest.mark.parametrize("sign", [Comparator.LESS, Comparator.MORE])
def test_beside_a_limit_a_tail_toward_it_is_allowed_for(sign: Comparator) -> None:
    """As far from it as a tail away from it, and as long; two sides see no difference."""
    drawn = np.random.default_rng(1).exponential(1.0, 20)
    tail = drawn - drawn.mean()
    beyond = -1.5 if sign is Comparator.LESS else 1.5
    toward, fled = (of(10.0 + 0.1 * (beyond - way * np.sign(beyond) * tail)) for way in (1.0, -1.0))
    p_values = [decide_early(side, Limit(10.0), AskedRelation(sign)).p_holds for side in (toward, fled)]
    assert p_values[0] > 5.0 * p_values[1]
    fixed = [
        decide(side, Limit(10.0), AskedRelation(sign), np.random.default_rng(1)).p_holds for side in (toward, fled)
    ]
    assert fixed[0] == pytest.approx(fixed[1])
    rightly = [decide_early(side, of(np.full(20, 10.0)), AskedRelation(sign)).p_holds for side in (toward, fled)]
    assert rightly[0] == pytest.approx(rightly[1], rel=0.5)


@pytest.mark.parametrize("skew", [1.0, -1.0])
def test_the_interval_beside_a_limit_is_of_all_that_the_last_look_does_not_refute(skew: float) -> None:
    values = 10.0 + skew * np.random.default_rng(3).exponential(0.1, 20)
    found = decide_early(of(values), Limit(10.0), AskedRelation(Comparator.EQUAL, 0.02))
    assert found.interval is not None
    for end, direction in zip(found.interval, (1.0, -1.0), strict=True):
        for way, refuted in ((-1e-3, direction > 0.0), (1e-3, direction < 0.0)):
            beyond = direction * (values - end - way * 0.1)
            assert (skewed_e_value(beyond, 20) >= 100.0) == refuted
    below, above = (abs(end - values.mean()) for end in found.interval)
    assert (above > below) == (skew > 0.0)


def test_runs_needed_beside_a_limit_decide_in_four_of_five() -> None:
    values = normal(4, 14, 10.2)
    found = decide_early(of(values), Limit(10.16), AskedRelation(Comparator.AT_MOST))
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert found.runs_needed is not None
    assert found.detectable is not None
    rng = np.random.default_rng(7)

    def decides() -> bool:
        new = values.mean() + values.std(ddof=1) * rng.standard_normal(found.runs_needed)
        return pairs_to_decide(of(new), Limit(10.16), AskedRelation(Comparator.AT_MOST)) is not None

    assert 0.72 <= np.mean([decides() for _ in range(200)]) <= 0.94


@pytest.mark.parametrize("relation", [AT_MOST, AskedRelation(Comparator.EQUAL)])
def test_what_is_refused(relation: AskedRelation) -> None:
    with pytest.raises(InputError):
        decide_early(of(normal(1, 8)), of(normal(2, 9)), relation)
