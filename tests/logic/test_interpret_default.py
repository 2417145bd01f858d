"""The default interpretation: bounds, margins, limits, and what is told beside a verdict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from hati.core import InputError, generator
from hati.formula import Comparator
from hati.logic.interpret import (
    AskedRelation,
    EstimateScale,
    FormulaVerdict,
    Limit,
    MeasuredSample,
    RelationEvidence,
    decide,
    fewest_alone,
)


def of_means(*means: float) -> MeasuredSample:
    return MeasuredSample(tuple(np.array([mean]) for mean in means))


def normal(seed: int, number: int, mean: float = 10.0, deviation: float = 0.1) -> MeasuredSample:
    return of_means(*np.random.default_rng(seed).normal(mean, deviation, number))


def told(
    left: MeasuredSample, right: MeasuredSample | Limit, sign: str, margin: float = 0.0, alpha: float = 0.01
) -> RelationEvidence:
    return decide(left, right, AskedRelation(Comparator(sign), margin, alpha), generator(1, "test"))


def test_at_most_is_welchs_test_of_run_means() -> None:
    left, right = normal(1, 6), normal(2, 9)
    found = told(left, right, "<=", 0.02)
    for p_value, side in ((found.p_violated, "greater"), (found.p_holds, "less")):
        wanted = stats.ttest_ind(left.means, 1.02 * right.means, equal_var=False, alternative=side)
        assert p_value == pytest.approx(wanted.pvalue, rel=1e-9)


def test_a_limit_is_a_test_of_one_sample_that_may_be_skewed() -> None:
    """The share of 200,000 exponential samples that are so far beyond their mean as these are beyond the limit."""
    left = normal(1, 13)
    limit = float(left.means.mean()) + 2.5 * float(left.means.std(ddof=1)) / np.sqrt(13)
    found = told(left, Limit(limit), "<=")
    statistic, normally = stats.ttest_1samp(left.means, limit, alternative="less")
    skewed = np.random.default_rng(1).exponential(1.0, (200_000, 13))
    share = float(np.mean(stats.ttest_1samp(skewed, 1.0, axis=1).statistic <= statistic))
    assert normally < share == pytest.approx(found.p_holds, rel=0.12)
    assert (found.scale, found.runs) == (EstimateScale.MEAN, (13, 0))


@pytest.mark.parametrize(("limit", "sign"), [(10.1, "<="), (9.9, ">="), (10.1, "="), (9.7, "<=")])
def test_what_is_told_beside_a_limit_agrees(limit: float, sign: str) -> None:
    """The interval ends where the test does, and the runs that are needed decide."""
    left = normal(1, 16)
    ends = told(left, Limit(10.0), "<").interval
    assert ends is not None
    assert told(left, Limit(ends[1]), "<").p_holds == pytest.approx(0.01, rel=1e-6)
    assert told(left, Limit(ends[0]), "<").p_violated == pytest.approx(0.01, rel=1e-6)
    found = told(left, Limit(limit), sign, 0.001 if sign == "=" else 0.0)
    assert found.detectable is not None
    assert found.detectable > (ends[1] - ends[0]) / 2.0
    if found.verdict is FormulaVerdict.INCONCLUSIVE:
        assert found.runs_needed is not None
        assert found.runs_needed > 16


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_no_p_value_beside_a_limit_is_less_than_that_a_kind_of_run_is_unseen(alpha: float) -> None:
    """Of three in ten, so that no number of equal runs tells more; the interval says no more than the verdict."""
    fewest = fewest_alone(alpha)
    for left in (normal(1, fewest), of_means(*[10.0] * fewest)):
        found = told(left, Limit(1e6), "<=", alpha=alpha)
        assert (found.verdict, found.p_holds) == (FormulaVerdict.HOLDS, pytest.approx(0.7**fewest))
        assert (told(left, Limit(1.0), "<=", alpha=alpha).p_violated) == pytest.approx(0.7**fewest)
        few = told(MeasuredSample(left.runs[1:]), Limit(1e6), "<=", alpha=alpha)
        assert (few.verdict, few.runs_needed) == (FormulaVerdict.INCONCLUSIVE, fewest)
        assert (few.interval, few.detectable, few.remark) == (None, None, f"fewer than {fewest} runs")


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001, 0.0001])
def test_of_two_kinds_of_runs_holds_is_told_at_most_at_the_level(alpha: float) -> None:
    """Three in ten are slower, the truth is the limit, and runs of a kind are all alike: exact, by the slower ones."""
    for runs in range(fewest_alone(alpha), 60):
        falsely = 0.0
        for slow in range(runs):
            means = of_means(*[1.0] * slow, *[0.0] * (runs - slow))
            if told(means, Limit(0.3), "<=", alpha=alpha).verdict is not FormulaVerdict.HOLDS:
                break
            falsely += stats.binom.pmf(slow, runs, 0.3)
        assert 0.0 < falsely <= alpha


def test_that_equality_with_a_limit_is_violated_takes_more_runs() -> None:
    """It is one of two, each at half the level, of which 14 runs tell nothing."""
    few = told(normal(1, 14), Limit(20.0), "=", 0.02)
    assert (few.verdict, few.runs_needed, few.detectable) == (FormulaVerdict.INCONCLUSIVE, 15, None)
    assert few.p_violated == pytest.approx(2.0 * 0.7**14)
    assert told(normal(1, 15), Limit(20.0), "=", 0.02).verdict is FormulaVerdict.VIOLATED
    assert told(normal(1, 13), Limit(10.0), "=", 0.5).verdict is FormulaVerdict.HOLDS


def test_an_interval_ends_where_a_test_does() -> None:
    left, right = normal(1, 6, deviation=0.4), normal(2, 9)
    found = told(left, right, "<=", 0.02)
    assert found.interval is not None
    for end, side in zip(found.interval, ("greater", "less"), strict=True):

        def beyond(ratio: float, side: str = side) -> float:
            test = stats.ttest_ind(left.means, ratio * right.means, equal_var=False, alternative=side)
            return float(test.pvalue) - 0.01

        assert end == pytest.approx(optimize.brentq(beyond, 0.8, 1.2), rel=1e-6)


def test_equality_is_shown_by_two_tests() -> None:
    left, right = normal(1, 10, deviation=0.02), normal(2, 10, deviation=0.02)
    found = told(left, right, "=", 0.02)
    assert found.verdict is FormulaVerdict.HOLDS
    above = stats.ttest_ind(left.means, right.means / 1.02, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(left.means, 1.02 * right.means, equal_var=False, alternative="less").pvalue
    assert found.p_holds == pytest.approx(max(above, below), rel=1e-9)


@pytest.mark.parametrize(
    ("ratio", "sign", "margin", "verdict"),
    [
        (1.0, "<=", 0.02, "HOLDS"),
        (1.0, ">=", 0.02, "HOLDS"),
        (1.0, "=", 0.02, "HOLDS"),
        (1.0, "<=", 0.0, "INCONCLUSIVE"),
        (1.01, "<=", 0.0, "VIOLATED"),
        (1.01, "<=", 0.02, "HOLDS"),
        (1.05, "<=", 0.02, "VIOLATED"),
        (1.05, "=", 0.02, "VIOLATED"),
        (0.95, "=", 0.02, "VIOLATED"),
        (0.95, ">=", 0.02, "VIOLATED"),
        (0.95, "<", 0.0, "HOLDS"),
        (0.95, ">", 0.0, "VIOLATED"),
        (1.05, ">", 0.0, "HOLDS"),
    ],
)
def test_verdicts(ratio: float, sign: str, margin: float, verdict: str) -> None:
    right = of_means(9.99, 10.0, 10.01, 9.995, 10.005)
    found = told(of_means(*(ratio * right.means)), right, sign, margin)
    assert found.verdict == verdict
    assert found.estimate == pytest.approx(ratio)


def test_on_the_bound_no_number_of_runs_decides() -> None:
    right = of_means(9.9, 10.0, 10.1, 9.95, 10.05)
    assert told(right, right, "<=").runs_needed is None
    assert told(of_means(*(1.02 * right.means)), right, "<=", 0.02).runs_needed is None
    assert told(right, right, "<=", 0.02).runs_needed is not None


def test_the_runs_that_it_needs_decide_in_four_of_five() -> None:
    left, right = normal(1, 5, 10.1), normal(2, 5)
    found = told(left, right, "<=", 0.02)
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert found.runs_needed is not None
    rng = np.random.default_rng(7)

    def decides() -> bool:
        new = [
            side.means.mean() + side.means.std(ddof=1) * rng.standard_normal(found.runs_needed)
            for side in (left, right)
        ]
        return told(*(of_means(*values) for values in new), "<=", 0.02).verdict is not FormulaVerdict.INCONCLUSIVE

    assert 0.72 <= np.mean([decides() for _ in range(300)]) <= 0.88


def test_what_is_detectable_is_found_in_four_of_five() -> None:
    left, right = normal(1, 6), normal(2, 6)
    found = told(left, right, "<=")
    assert found.detectable is not None
    parts = left.means.var(ddof=1) / 6, right.means.var(ddof=1) / 6
    df = sum(parts) ** 2 / sum(part**2 / 5 for part in parts)
    away = found.detectable * right.means.mean() / np.sqrt(sum(parts))
    assert stats.nct.sf(stats.t.isf(0.01, df), df, away) == pytest.approx(0.8, abs=0.005)


def test_few_runs_decide_nothing() -> None:
    found = told(of_means(20.0, 20.1, 20.2, 20.3), normal(2, 9), "<=", 0.02)
    assert (found.verdict, found.runs_needed, found.interval) == (FormulaVerdict.INCONCLUSIVE, 5, None)
    assert "fewer than 5 runs" in found.remark


def test_what_does_not_vary_is_decided_by_orders() -> None:
    right = of_means(*[100.0] * 5)
    assert told(of_means(*[104.0] * 5), right, "<=", 0.02).p_violated == pytest.approx(1 / 252)
    assert told(right, right, "=", 0.02).verdict is FormulaVerdict.HOLDS
    assert told(right, right, "<=").verdict is FormulaVerdict.INCONCLUSIVE
    assert told(of_means(*[99.0] * 2000), of_means(*[100.0] * 2000), "<=").verdict is FormulaVerdict.HOLDS


def test_a_margin_makes_room_below_zero_too() -> None:
    right = of_means(-9.99, -10.0, -10.01, -9.995, -10.005)
    for sign in ("<=", ">=", "="):
        found = told(right, right, sign, 0.02)
        assert (found.verdict, found.scale) == (FormulaVerdict.HOLDS, EstimateScale.DIFFERENCE)


def test_history_decides_with_two_runs() -> None:
    history = tuple(np.array([mean]) for mean in np.random.default_rng(7).normal(10.0, 0.1, 40))
    left, right = MeasuredSample((np.array([10.5]), np.array([10.6])), history), of_means(10.0, 10.05)
    found = told(left, right, "<=", 0.02)
    assert (found.verdict, found.remembered) == (FormulaVerdict.VIOLATED, 40)
    assert found.interval is not None
    assert found.interval[0] > 1.02
    assert told(MeasuredSample(left.runs), right, "<=", 0.02).verdict is FormulaVerdict.INCONCLUSIVE


def test_a_smaller_level_takes_a_longer_history() -> None:
    history = tuple(np.array([mean]) for mean in np.random.default_rng(7).normal(10.0, 0.1, 100))
    right, five = of_means(10.0, 10.05, 9.95, 10.1, 9.9), tuple(np.array([10.0 + 0.05 * n]) for n in range(5))
    for size, alpha, remembered in ((100, 0.001, 100), (99, 0.001, 0), (10, 0.01, 10), (9, 0.01, 0), (10, 0.05, 10)):
        assert told(MeasuredSample(five, history[:size]), right, "<=", alpha=alpha).remembered == remembered


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_at_a_smaller_level_a_history_spares_no_runs(runs: int) -> None:
    history = tuple(np.array([mean]) for mean in np.random.default_rng(7).normal(10.0, 0.1, 200))
    left, right = MeasuredSample(tuple(np.array([12.5]) for _ in range(runs)), history), of_means(*[10.0] * runs)
    assert told(left, right, "<=", alpha=0.01).verdict is FormulaVerdict.VIOLATED
    few = told(left, right, "<=", alpha=0.0099)
    assert (few.verdict, few.runs_needed) == (FormulaVerdict.INCONCLUSIVE, 5)
    assert few.remark == "fewer than 5 runs of a side"


@pytest.mark.parametrize("alpha", [1e-12, 1e-310, 5e-324])
def test_a_level_that_is_all_but_nothing(alpha: float) -> None:
    history = tuple(np.array([mean]) for mean in np.random.default_rng(7).normal(10.0, 0.1, 40))
    for left in (of_means(12.5, 12.6), MeasuredSample(of_means(9.0, 9.1, 9.2, 9.1, 9.0).runs, history)):
        assert (
            told(left, of_means(10.0, 10.05, 9.95, 10.1, 9.9), "<=", alpha=alpha).verdict is FormulaVerdict.INCONCLUSIVE
        )


def test_a_history_of_normal_runs_is_worth_students_t() -> None:
    history = tuple(np.array([mean]) for mean in stats.norm.ppf((np.arange(400) + 0.5) / 400, 10.0, 0.1))
    left, right = MeasuredSample((np.array([10.1]), np.array([10.2])), history), of_means(10.0, 10.1)
    found = told(left, right, "<=")
    assert found.p_violated == pytest.approx(stats.norm.sf(0.1 / 0.1), abs=0.02)
    assert found.interval == pytest.approx(tuple(10.15 / 10.05 + np.array([-1, 1]) * 0.02337), abs=0.002)


def test_either_side_may_bring_the_history_or_both() -> None:
    history = tuple(np.array([mean]) for mean in np.random.default_rng(7).normal(10.0, 0.1, 40))
    pair, other = (np.array([10.1]), np.array([10.2])), (np.array([10.0]), np.array([10.15]))
    sides = [
        (MeasuredSample(pair, history), MeasuredSample(other)),
        (MeasuredSample(pair), MeasuredSample(other, history)),
        (MeasuredSample(pair, history), MeasuredSample(other, history)),
    ]
    assert len({told(left, right, "<=").p_violated for left, right in sides}) == 1
    assert (
        told(MeasuredSample(pair, history), MeasuredSample(other, history[:9]), "<=").verdict
        is FormulaVerdict.INCONCLUSIVE
    )


def test_a_history_that_never_varied() -> None:
    history = tuple(np.array([10.0]) for _ in range(40))
    left = MeasuredSample((np.array([10.5]), np.array([10.5])), history)
    found = told(left, of_means(10.0, 10.0), "<=")
    assert found.p_violated == pytest.approx(1 / 45)


@pytest.mark.parametrize(
    "deviations",
    [[0.0] * 29 + [0.1], [-0.1, 0.1] * 15, [0.0, 1e-9] * 20, list(np.random.default_rng(1).pareto(3, 40) / 10)],
)
def test_an_interval_ends_where_a_test_with_a_history_does(deviations: list[float]) -> None:
    history = tuple(np.array([10.0 + deviation]) for deviation in deviations)
    for second in (10.0, 10.001, 10.5):
        left = MeasuredSample((np.array([10.2]), np.array([10.3])), history)
        found = told(left, of_means(10.0, second), "<=")
        assert found.interval is not None
        assert (found.interval[0] > 1.0) == (found.verdict is FormulaVerdict.VIOLATED)


means = st.lists(st.floats(1.0, 100.0).map(lambda v: round(v, 3)), min_size=5, max_size=8).map(lambda v: of_means(*v))


@pytest.mark.parametrize("value", [0.1, 0.7, 1.1])
@pytest.mark.parametrize("sizes", [((5, 1), (6, 3)), ((20, 7), (7, 1000))])
@pytest.mark.parametrize("history", [0, 30])
def test_of_equal_values_rounding_tells_nothing(
    value: float, sizes: tuple[tuple[int, int], tuple[int, int]], history: int
) -> None:
    """Means of so many equal values differ in their last digits."""
    left, right = (
        MeasuredSample(
            tuple(np.full(size, value) for _ in range(runs)), tuple(np.full(3, value) for _ in range(history))
        )
        for runs, size in sizes
    )
    assert [told(left, right, sign).verdict for sign in ("<", ">")] == [FormulaVerdict.INCONCLUSIVE] * 2
    beside = MeasuredSample((left.runs[0],) * 100)
    assert [told(beside, Limit(value), sign).verdict for sign in ("<", ">")] == [FormulaVerdict.INCONCLUSIVE] * 2


@pytest.mark.parametrize("history", [0, 130])
def test_on_the_bound_rounding_tells_nothing(history: int) -> None:
    """1.15 times 100 is a little less than 115 to a computer."""
    earlier = (np.array([100.0]),) * history
    high, low = MeasuredSample((np.array([115.0]),) * 20, earlier), MeasuredSample((np.array([100.0]),) * 20, earlier)
    assert told(high, low, "<=", 0.15).verdict is FormulaVerdict.INCONCLUSIVE
    assert told(low, high, ">=", 0.15).verdict is FormulaVerdict.INCONCLUSIVE
    assert told(high, Limit(100.0), "<=", 0.15).verdict is FormulaVerdict.INCONCLUSIVE
    assert told(high, low, "<=", 0.149).verdict is FormulaVerdict.VIOLATED


@settings(max_examples=25)
@given(left=means, right=means, margin=st.sampled_from([0.0, 0.02, 0.2]))
def test_at_least_is_at_most_with_the_sides_exchanged(
    left: MeasuredSample, right: MeasuredSample, margin: float
) -> None:
    """Axiom (5), its second half."""
    found, exchanged = told(left, right, ">=", margin), told(right, left, "<=", margin)
    assert found.verdict is exchanged.verdict
    assert found.p_holds == pytest.approx(exchanged.p_holds, rel=1e-6, abs=1e-12)


@settings(max_examples=25)
@given(left=means, right=means, margin=st.sampled_from([0.02, 0.2]))
def test_equality_is_both(left: MeasuredSample, right: MeasuredSample, margin: float) -> None:
    """Axiom (5): it holds where both do; what is violated at half the level is so at the level."""
    parts = [told(left, right, sign, margin).verdict for sign in ("<=", ">=")]
    found = told(left, right, "=", margin).verdict
    assert (found is FormulaVerdict.HOLDS) == (set(parts) == {FormulaVerdict.HOLDS})
    assert found is not FormulaVerdict.VIOLATED or FormulaVerdict.VIOLATED in parts


@settings(max_examples=25)
@given(side=means, shift=st.floats(0.0, 10.0))
def test_axiom_4_is_never_violated(side: MeasuredSample, shift: float) -> None:
    assert told(side, of_means(*(side.means + shift)), "<=").verdict is not FormulaVerdict.VIOLATED


@pytest.mark.parametrize(
    "make",
    [
        lambda: AskedRelation(Comparator.AT_MOST, alpha=0.5),
        lambda: AskedRelation(Comparator.AT_MOST, margin=1.0),
        lambda: AskedRelation(Comparator.LESS, margin=0.02),
        lambda: Limit(float("inf")),
        lambda: MeasuredSample(()),
        lambda: MeasuredSample((np.array([]),)),
        lambda: MeasuredSample((np.array([np.nan]),)),
        lambda: told(normal(1, 5), normal(2, 5), "="),
    ],
)
def test_what_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()
