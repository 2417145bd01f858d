"""The confirmation of what is recommended: its runs, its verdicts, and how often these are wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from hati.campaign import campaign
from hati.core import Benchmark, Budget, Configuration, Evidence, Metric, Reader, ReaderKind, Task, generator
from hati.space import Option, Space
from hati.studies.recommendation import (
    Predicted,
    Recommendation,
    RecommendationConclusion,
    RecommendationPlan,
    paired_change,
    recommendation_id,
)
from hati.testing import FakeEngine, MemoryStore

TIME, SIZE = Metric("time", "s"), Metric("size", "B")
BENCHMARK = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME, SIZE))
SPACE = Space(tuple(Option(name, ("off", "on"), default="off") for name in "ab"))
BETTER = Configuration({"a": "on", "b": "off"})
OTHER = Configuration({"a": "on", "b": "on"})


def study(pairs: int, *recommended: Configuration, looked_up: bool = False, seed: int = 1) -> Recommendation:
    told = tuple(Predicted(c, "time", {"time": 0.9, "size": None}, {"time": -0.1, "size": None}) for c in recommended)
    return Recommendation(
        id=recommendation_id(
            screening="screening-1", metric="time", relevant=0.01, budget="40", seed=seed, machine="fake"
        ),
        screening="screening-1",
        subject="program",
        benchmark=BENCHMARK,
        metrics=(TIME, SIZE),
        revision="1",
        space=SPACE,
        wanted=RecommendationPlan(SPACE.default, told, pairs),
        looked_up=looked_up,
    )


def times(task: Task) -> dict[str, list[float]]:
    """A better configuration by a tenth, noise of 1 %, and a machine that gets slower from block to block."""
    noise = float(generator(7, task.id).standard_normal())
    value = (0.9 if task.configuration["a"] == "on" else 1.0) * math.exp(0.01 * noise + 0.3 * task.repetition)
    return {"time": [value], "size": [100.0 if task.configuration["a"] == "on" else 80.0]}


def concluded(
    made: Recommendation, measure: Callable[[Task], dict[str, list[float]] | str]
) -> RecommendationConclusion:
    return campaign(made, FakeEngine(measure, {"size": "B"}), MemoryStore(), Budget())


def test_every_block_runs_the_default_and_each_recommended_once_in_an_order_drawn_anew() -> None:
    made = study(20, BETTER, OTHER)
    blocks = [made.tasks[i : i + 3] for i in range(0, 60, 3)]
    assert all({t.configuration for t in block} == {SPACE.default, BETTER, OTHER} for block in blocks)
    assert all({t.repetition for t in block} == {number} for number, block in enumerate(blocks))
    first = Counter(block[0].configuration for block in blocks)
    assert len(first) == 3
    assert made.tasks == study(20, BETTER, OTHER).tasks
    assert made.tasks != study(20, BETTER, OTHER, seed=2).tasks


def test_a_better_configuration_is_confirmed_in_spite_of_drift_and_what_it_costs_is_told() -> None:
    conclusion = concluded(study(8, BETTER), times)
    (one,) = conclusion.recommended
    time, size = one.changes
    assert one.set == (("a", "on"),)
    assert one.confirmed
    assert time.interval is not None
    assert time.interval[0] < -0.1 < time.interval[1]
    assert time.change == pytest.approx(-0.1, abs=0.02)
    assert size.change == pytest.approx(0.25)
    assert not size.confirmed
    assert (conclusion.planned, conclusion.done, conclusion.failed) == (16, 16, 0)


def test_what_is_no_better_is_not_confirmed() -> None:
    conclusion = concluded(
        study(8, BETTER), lambda task: {**times(task), "time": [2.0 - 0.9 * (times(task)["time"][0])]}
    )
    assert not conclusion.recommended[0].confirmed


def test_a_killed_campaign_goes_on_with_the_same_tasks() -> None:
    made, store = study(4, BETTER), MemoryStore()
    campaign(made, FakeEngine(times, {"size": "B"}), store, Budget(runs=3))
    engine = FakeEngine(times, {"size": "B"})
    whole = campaign(made, engine, store, Budget())
    assert [task.id for task in engine.tasks] == [task.id for task in made.tasks[3:]]
    assert whole.recommended == concluded(made, times).recommended


def test_a_block_without_one_of_its_values_does_not_count() -> None:
    def failing(task: Task) -> dict[str, list[float]] | str:
        return "it crashed" if task.repetition == 1 and task.configuration == BETTER else times(task)

    conclusion = concluded(study(5, BETTER), failing)
    assert conclusion.recommended[0].leading.pairs == 4
    assert conclusion.failures == ("it crashed",)


def test_where_all_fail_it_ends_after_five_runs() -> None:
    conclusion = concluded(study(9, BETTER), lambda task: "no such file")
    assert conclusion.failed == 5
    assert conclusion.recommended[0].leading.change is None
    assert not conclusion.recommended[0].confirmed


def test_one_look_into_a_table_confirms_nothing_and_says_so() -> None:
    conclusion = concluded(study(1, BETTER, looked_up=True), times)
    assert conclusion.recommended[0].leading.interval is None
    assert not conclusion.recommended[0].confirmed
    assert "looked up" in conclusion.warnings[0]


def test_few_pairs_are_warned_of() -> None:
    assert "2 pairs" in concluded(study(2, BETTER), times).warnings[0]


def test_without_evidence_nothing_is_told() -> None:
    assert study(3, BETTER).conclude(Evidence()).recommended[0].leading.change is None


def test_the_change_of_pairs_by_hand() -> None:
    found = paired_change(np.array([2.0, 4.0]), np.array([1.0, 1.0]))
    assert found.change == pytest.approx(math.sqrt(8.0) - 1.0)
    half = 12.706204736 * (math.log(2.0) / math.sqrt(2.0)) / math.sqrt(2.0)  # t of 1 degree of freedom
    assert found.interval == pytest.approx((math.sqrt(8) * math.exp(-half) - 1, math.sqrt(8) * math.exp(half) - 1))
    signed = paired_change(np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    assert signed.change == pytest.approx(-1.0)
    assert paired_change(np.array([2.0]), np.array([1.0])).interval is None


def test_the_interval_agrees_with_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(4)
    one, other = rng.lognormal(0.0, 0.1, 9), rng.lognormal(0.1, 0.1, 9)
    expected = stats.ttest_rel(np.log(one), np.log(other)).confidence_interval(0.95)
    assert paired_change(one, other).interval == pytest.approx((math.expm1(expected.low), math.expm1(expected.high)))


@pytest.mark.statistical
def test_what_is_equal_is_rarely_confirmed_and_intervals_cover_the_truth() -> None:
    """2,000 studies of 5 pairs: equal ones are confirmed in 2.5 % (99 % bound), intervals cover 95 %."""
    rng = np.random.default_rng(11)
    false = covered = 0
    for _ in range(2000):
        drift = rng.normal(0.0, 0.2, 5)
        base, same = (np.exp(drift + rng.normal(0.0, 0.02, 5)) for _ in range(2))
        interval = paired_change(same, base).interval
        better = paired_change(0.9 * same, base).interval
        assert interval is not None
        assert better is not None
        false += interval[1] < 0.0
        covered += better[0] <= -0.1 <= better[1]
    assert 0.016 < false / 2000 < 0.034
    assert 0.937 < covered / 2000 < 0.963
