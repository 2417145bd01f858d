"""The suite study: its tasks, what it concludes, and what it says when runs are missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Evidence,
    InputError,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Task,
    generator,
    replace,
)
from hati.space import Option, Space, count, enumerate_configurations, parse_formula
from hati.studies.suite import FULL, RANDOM, SuiteConclusion, SuitePlan, SuiteScale, SuiteStudy, suite_id
from hati.studies.suite.document import suite_answer
from hati.testing.fakes import FakeEngine, MemoryStore

Value = Callable[[Task], float | str]
LATENCY = Metric("latency", "s")
BENCHMARK = Benchmark("orders", ("true",), Reader(ReaderKind.HATI), (LATENCY,))
SPACE = Space(
    (
        Option("kind", ("a", "b", "c"), "a"),
        *(Option(name, (False, True), default=False) for name in "uvwxyz"),
    ),
    (parse_formula("kind != 'c' or u"),),
)


def study(plan: SuitePlan, seed: int = 1, **others: object) -> SuiteStudy:
    made = suite_id(
        subject="simulated", revision="1", benchmark=BENCHMARK, space=SPACE, plan=plan, seed=seed, machine="fake"
    )
    return SuiteStudy(made, "simulated", BENCHMARK, LATENCY, "1", SPACE, plan, **others)  # type: ignore[arg-type]  # keywords of several types


def latency(task: Task) -> float:
    c = task.configuration
    log = (
        {"a": 0.0, "b": 0.5, "c": -0.4}[str(c["kind"])] + 0.2 * bool(c["u"]) + 0.03 * bool(c["v"]) - 0.02 * bool(c["z"])
    )
    noise = float(generator(3, task.id).standard_normal())
    return 0.002 * math.exp(log + 0.01 * noise)


def evidence(of: SuiteStudy, value: Value = latency, runs: float = math.inf) -> Evidence:
    store = MemoryStore()

    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        found = value(task)
        return found if isinstance(found, str) else {"latency": [found]}

    campaign(_Silent(of), FakeEngine(measured), store, Budget(runs=runs))
    return store.evidence(of.id)


class _Silent:
    def __init__(self, of: SuiteStudy) -> None:
        self.id, self.plan = of.id, of.plan

    def conclude(self, found: Evidence) -> None:
        return None


def concluded(
    of: SuiteStudy, value: Callable[[Task], float | str] = latency, runs: float = math.inf
) -> SuiteConclusion:
    return of.conclude(evidence(of, value, runs))


def population() -> np.ndarray:
    """Every configuration's value, without noise of its own."""
    tasks = [Task("p", "p", "orders", c, "1", BENCHMARK.workload, 0) for c in enumerate_configurations(SPACE)]
    return np.array([latency(task) for task in tasks])


PLAN = SuitePlan(("kind", "u"), ("kind", "u", "v", "z"), 20)


def test_tasks_are_the_suites_configurations_in_random_order() -> None:
    made = study(replace(PLAN, repetitions=2))
    assert Counter(task.configuration for task in made.tasks) == dict.fromkeys(made.suite.configurations, 2)
    assert [task.repetition for task in made.tasks] == [0] * 20 + [1] * 20
    first, second = ([task.configuration for task in made.tasks[start : start + 20]] for start in (0, 20))
    assert first != second
    assert first != list(made.suite.configurations)
    assert made.tasks == study(replace(PLAN, repetitions=2)).tasks
    assert made.tasks != study(replace(PLAN, repetitions=2), seed=2).tasks


def test_each_stratum_is_measured_before_any_is_measured_again() -> None:
    """A budget of as many runs as there are strata leaves none out."""
    for seed in range(1, 21):
        made = study(SuitePlan(("kind", "u"), (), 20, 2, 0), seed)
        strata = [(task.configuration["kind"], task.configuration["u"]) for task in made.tasks]
        assert len(set(strata[:5])) == len(set(strata)) == 5


def test_a_random_sample_is_interleaved() -> None:
    made = study(replace(PLAN, sampled=20))
    stages = [task.stage for task in made.tasks]
    assert Counter(stages) == {"suite": 20, "random": 20}
    assert sum(one != other for one, other in pairwise(stages)) > 8
    assert len(set(made.sampled)) == 20
    assert all(SPACE.valid(configuration) for configuration in made.sampled)


def test_nothing_is_planned_twice_and_a_hopeless_study_ends() -> None:
    made = study(PLAN)
    assert not made.plan(evidence(made))
    assert len(made.plan(evidence(made, runs=7))) == 13
    assert len(evidence(made, lambda task: "broken").runs) == 5
    with pytest.raises(MeasurementError, match="nothing was measured; broken"):
        concluded(made, lambda task: "broken")


def test_estimates_hold_the_truth() -> None:
    values = population()
    found = concluded(study(PLAN))
    assert (found.scale, found.configurations, found.size) == (SuiteScale.LOG, count(SPACE), 20)
    weights = {tuple(stratum.setting.values()): stratum.weight for stratum in found.strata}
    assert weights == {("a", False): 32, ("a", True): 32, ("b", False): 32, ("b", True): 32, ("c", True): 32}
    assert found.mean.interval is not None
    assert found.mean.interval[0] < values.mean() < found.mean.interval[1]
    assert found.mean.interval[1] - found.mean.interval[0] < 0.05 * values.mean()
    total = sum(stratum.weight for stratum in found.strata)
    assert found.mean.estimate == pytest.approx(sum(s.weight * (s.estimate or 0) for s in found.strata) / total)
    assert found.geometric_mean is not None
    assert found.geometric_mean.estimate == pytest.approx(math.exp(np.log(values).mean()), rel=0.01)
    assert [q.level for q in found.quantiles] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert [q.estimate for q in found.quantiles] == sorted(q.estimate for q in found.quantiles)
    assert found.quantiles[2].estimate == pytest.approx(float(np.median(values)), rel=0.15)
    assert not found.warnings


def test_against_the_whole_population_the_suite_is_near() -> None:
    found = concluded(study(PLAN, population=population())).against
    assert found is not None
    assert (found.kind, found.values) == (FULL, 160)
    assert found.ks < 0.2
    assert found.range > 0.8
    assert found.equivalence is not None
    assert found.equivalence.equivalent
    assert found.equivalence.margin == pytest.approx(math.log(1.05))
    assert found.mann_whitney.p_value > 0.05
    assert found.pairs.shape == (60, 2)


def test_against_a_part_of_the_population_there_is_a_sampling_error() -> None:
    found = concluded(study(PLAN, population=population()[:40])).against
    assert found is not None
    assert found.kind == "partial data set"
    assert found.equivalence is not None
    assert not found.equivalence.equivalent


def test_against_a_random_sample() -> None:
    found = concluded(study(replace(PLAN, sampled=20)))
    assert found.against is not None
    assert (found.against.kind, found.against.values, found.done) == (RANDOM, 20, 40)
    assert any("Mann-Whitney" in sentence for sentence in found.warnings)


def test_values_that_are_not_positive_are_compared_as_they_are() -> None:
    found = concluded(study(PLAN, population=population() - 0.003), lambda task: latency(task) - 0.003)
    assert (found.scale, found.geometric_mean) == (SuiteScale.RAW, None)
    assert found.against is not None
    assert found.against.equivalence is not None


def test_failed_strata_are_said() -> None:
    found = concluded(study(PLAN), lambda task: "no c" if task.configuration["kind"] == "c" else latency(task))
    assert [stratum.estimate is None for stratum in found.strata] == [False] * 4 + [True]
    assert (found.done, found.failed, found.failures) == (16, 4, ("no c (4 runs)",))
    assert "1 of 5 strata" in found.warnings[0]
    assert "20 %" in found.warnings[0]


def test_an_unfinished_suite_and_single_runs_are_said() -> None:
    found = concluded(study(SuitePlan(("kind", "u"), (), 6), levels=(0.5,)))
    assert any("--runs 10" in sentence for sentence in found.warnings)
    assert found.mean.interval is not None
    assert any("12 of 20 runs" in sentence for sentence in concluded(study(PLAN), runs=12).warnings)


def test_strata_without_runs_are_not_said_to_have_failed() -> None:
    made = study(SuitePlan(("kind", "u"), (), 20, 1, 0))
    found = made.conclude(evidence(made, runs=3))
    [said] = [text for text in found.warnings if "have no value" in text]
    assert said.endswith("a larger budget makes their runs")
    assert " of the space: " in suite_answer(found)
    assert "whole space" not in suite_answer(found)


def shifted(task: Task) -> float:
    """A deterministic value that v shifts by 9 %, and z by less."""
    configuration = task.configuration
    kind = {"a": 1.0, "b": 1.5, "c": 0.7}[str(configuration["kind"])]
    return kind * (1.09 if configuration["v"] else 1.0) * (1.002 if configuration["z"] else 1.0)


@pytest.mark.parametrize("size", [10, 20])
def test_strata_are_spread_over_options_that_were_left_out(size: int) -> None:
    """Means within half of the shift by the option, in no stratum its setting; intervals that are shown cover."""
    plan = SuitePlan(("kind", "u"), ("kind", "u", "v", "z"), size, left_out=("v",), including=20)
    for seed in range(1, 9):
        for stratum in concluded(study(plan, seed), shifted).strata:
            exact = {"a": 1.0, "b": 1.5, "c": 0.7}[str(stratum.setting["kind"])] * 1.045 * 1.001
            assert stratum.estimate == pytest.approx(exact, rel=0.002)
            if stratum.interval is None:
                assert stratum.no_interval == "2 configurations: too few"
            else:
                assert stratum.interval[0] <= exact <= stratum.interval[1]


def test_a_stratum_whose_runs_share_a_setting_says_so() -> None:
    plan = SuitePlan(("kind", "u"), ("kind", "u", "v"), 20, left_out=("v",), including=20)

    def failing(task: Task) -> float | str:
        return "broken" if task.configuration["v"] and task.configuration["kind"] == "b" else shifted(task)

    for stratum in concluded(study(plan), failing).strata:
        assert (stratum.no_interval == "all runs have v=false") is (stratum.setting["kind"] == "b")


def test_strata_of_constant_settings_are_not_said_to_share_them() -> None:
    """In kind c, u is always on."""
    plan = SuitePlan(("kind",), ("kind", "u"), 15, left_out=("u",), including=10)
    assert [s.no_interval for s in concluded(study(plan)).strata] == [None] * 3


def test_options_that_were_left_out_are_part_of_the_identity() -> None:
    plain = SuitePlan(("kind", "u"), (), 10)
    assert study(plain).id.key != study(replace(plain, left_out=("v",))).id.key
    assert "left_out" not in study(plain).id.parameters


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="quantile"):
        study(PLAN, levels=(1.0,))
    with pytest.raises(InputError, match="margin"):
        study(PLAN, margin=0.0)
    with pytest.raises(InputError, match="nothing to run"):
        SuitePlan((), (), 0)
    with pytest.raises(InputError, match="cannot cover the 5 valid combinations"):
        study(replace(PLAN, size=4))
