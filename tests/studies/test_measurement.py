"""Measuring without a question: plans, summaries, giving up."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.campaign import campaign, measured
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Run,
    Task,
    replace,
)
from hati.studies import measurement
from hati.studies.measurement import MOST_AT_ONCE, Measurement, measurement_id, measurement_table
from hati.testing import FakeEngine, MemoryStore

BENCHMARK = Benchmark("b", ("true",), Reader(ReaderKind.HATI), (Metric("latency", "s"),))
CONFIGURATIONS = (Configuration({"o": 1}), Configuration({"o": 2}))


def a_measurement(budget: Budget, configurations: tuple[Configuration, ...] = CONFIGURATIONS) -> Measurement:
    study = measurement_id(BENCHMARK, configurations, "r", "any", 1, "m")
    return Measurement(study, BENCHMARK, configurations, "r", budget)


def values(task: Task) -> dict[str, list[float]]:
    base = float(task.configuration["o"])
    return {"latency": [base * 10, base + task.repetition, base + task.repetition + 0.5]}


@given(st.integers(1, 40))
def test_the_budget_in_runs_is_met_exactly_and_evenly(runs: int) -> None:
    engine = FakeEngine(values)
    conclusion = campaign(a_measurement(Budget(runs=runs)), engine, MemoryStore(), Budget(runs=runs))
    assert conclusion.done == runs == len({task.id for task in engine.tasks})
    counts = [sum(task.configuration == c for task in engine.tasks) for c in CONFIGURATIONS]
    assert abs(counts[0] - counts[1]) <= 1


def test_a_budget_in_time_is_overrun_by_one_run_at_most() -> None:
    engine, budget = FakeEngine(values, seconds=0.3), Budget(seconds=20)
    conclusion = campaign(a_measurement(budget), engine, MemoryStore(), budget)
    assert conclusion.done == math.ceil(20 / 0.3)
    assert conclusion.seconds < 20.3


def test_a_summary_is_of_runs_not_of_observations() -> None:
    budget = Budget(runs=10)
    engine = FakeEngine(values, warmup=1)
    conclusion = campaign(a_measurement(budget, CONFIGURATIONS[:1]), engine, MemoryStore(), budget)
    (summary,) = conclusion.summaries
    means = np.array([1.25 + repetition for repetition in range(10)])
    low, high = stats.t.interval(0.95, 9, means.mean(), means.std(ddof=1) / math.sqrt(10))
    assert summary.runs == 10
    assert summary.observations == 20
    assert summary.mean == pytest.approx(means.mean())
    assert summary.interval == pytest.approx((low, high))
    assert summary.deviation == pytest.approx(means.std(ddof=1))
    assert summary.within == pytest.approx(0.5 / math.sqrt(2))


class DisturbedEngine(FakeEngine):
    """The first, third and fifth run of the first configuration have little of the CPU."""

    def completed(self) -> Iterator[Run]:
        for run in super().completed():
            disturbed = run.task.configuration == CONFIGURATIONS[0] and run.task.repetition in {0, 2, 4}
            assert run.resources
            yield replace(run, resources=replace(run.resources, user_time=0.001)) if disturbed else run


class StolenEngine(FakeEngine):
    """All runs of the first configuration lost half of their time to another guest of the machine."""

    def completed(self) -> Iterator[Run]:
        for run in super().completed():
            assert run.resources
            steal = 0.5 if run.task.configuration == CONFIGURATIONS[0] else 0.0
            yield replace(run, resources=replace(run.resources, steal=steal))


def test_nothing_is_repeated_within_a_budget_too_small_to_tell_what_is_usual() -> None:
    for runs, even in ((9, True), (40, False)):
        budget = Budget(runs=runs)
        conclusion = campaign(a_measurement(budget), StolenEngine(values, seconds=1.0), MemoryStore(), budget)
        first, second = conclusion.summaries
        assert len(first.disturbed) == first.runs
        assert (abs(first.runs - second.runs) <= 1) == even


def test_disturbed_runs_are_repeated_within_the_budget_and_counted() -> None:
    engine, store, budget = DisturbedEngine(values, seconds=1.0), MemoryStore(), Budget(runs=40)
    conclusion = campaign(a_measurement(budget), engine, store, budget)
    first, second = conclusion.summaries
    assert conclusion.done == len({task.id for task in engine.tasks}) == 40
    assert abs(first.runs - len(first.disturbed) - second.runs) <= 1
    assert first.runs in {21, 22}
    assert (len(first.disturbed), second.disturbed) == (3, ())
    assert "s of CPU time a second, usually 0.75" in first.disturbed[0]
    means = [1 / 3 * (10 + 2 * repetition + 2.5) for repetition in range(first.runs)]
    assert first.mean == pytest.approx(np.mean(means))
    assert first.undisturbed == pytest.approx(np.mean([m for i, m in enumerate(means) if i not in {0, 2, 4}]))
    assert second.undisturbed == second.mean
    (note,) = (note for note in measurement_table(conclusion).notes if "disturbed" in note)
    assert note.startswith(f"latency of o=1: 3 of {first.runs} runs were disturbed (the first: 0.251 s of CPU time")
    assert "and counted; the mean without them: " in note


def test_metrics_of_the_same_runs_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    benchmark = replace(BENCHMARK, metrics=(Metric("latency", "s"), Metric("throughput", "1/s")))
    study, budget = replace(a_measurement(Budget(runs=40)), benchmark=benchmark), Budget(runs=40)
    engine = DisturbedEngine(lambda _: {"latency": [1.0], "throughput": [2.0]}, seconds=1.0)
    evidence = measured(study, engine, MemoryStore(), budget)
    monkeypatch.setattr(measurement, "disturbances", lambda used: judged.append(len(used)) or ("",) * len(used))
    assert len(study.conclude(evidence).summaries) == 4
    assert len(judged) == 2


def test_what_fails_is_not_repeated() -> None:
    engine, budget = FakeEngine(lambda t: "no" if t.configuration["o"] == 1 else {"latency": [1.0]}), Budget(runs=40)
    assert campaign(a_measurement(budget), engine, MemoryStore(), budget).failed == 20


def test_what_always_fails_is_given_up() -> None:
    engine, budget = FakeEngine(lambda task: "exit status 1"), Budget(runs=1000)
    with pytest.raises(MeasurementError, match="all 5 runs failed"):
        campaign(a_measurement(budget), engine, MemoryStore(), budget)


def test_nothing_planned_is_nothing_measured() -> None:
    with pytest.raises(MeasurementError, match="before the first run"):
        a_measurement(Budget(runs=1)).conclude(Evidence())


def test_a_large_budget_is_planned_a_part_at_a_time() -> None:
    study = a_measurement(Budget(runs=10_000_000))
    planned = study.planned()
    assert (len(planned), planned.expected_total) == (MOST_AT_ONCE, 10_000_000)
    assert study.plan(Evidence()).expected_total == 10_000_000


def test_parts_of_a_budget_are_the_tasks_that_would_be_planned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = a_measurement(Budget(runs=90))
    whole = study.planned().tasks
    monkeypatch.setattr("hati.studies.measurement.MOST_AT_ONCE", 7)
    store, parts = MemoryStore(), list[int]()
    while plan := study.plan(store.evidence(study.id)):
        parts.append(len(plan))
        for run in FakeEngine(lambda task: {"latency": [1.0]}).run(plan.tasks):
            store.record(run)
    assert [run.task for run in store.evidence(study.id).runs] == list(whole)
    assert parts[:4] == [5, 7, 12, 24]
