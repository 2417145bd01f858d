"""Measuring without a question: plans, summaries, giving up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.campaign import campaign
from hati.core import Benchmark, Budget, Configuration, Evidence, MeasurementError, Metric, Reader, ReaderKind, Task
from hati.studies.measurement import Measurement, measurement_id
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


def test_what_always_fails_is_given_up() -> None:
    engine, budget = FakeEngine(lambda task: "exit status 1"), Budget(runs=1000)
    with pytest.raises(MeasurementError, match="all 5 runs failed"):
        campaign(a_measurement(budget), engine, MemoryStore(), budget)


def test_nothing_planned_is_nothing_measured() -> None:
    with pytest.raises(MeasurementError, match="before the first run"):
        a_measurement(Budget(runs=1)).conclude(Evidence())
