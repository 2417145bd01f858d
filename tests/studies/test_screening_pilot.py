"""Pilot runs: cost and noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, screening, space

from hati.campaign import campaign
from hati.core import Binding, Budget, Evidence, InputError, MeasurementError, replace
from hati.studies.screening import Pilot, PilotResult, affordable_runs
from hati.testing import FakeEngine, MemoryStore

STUDY = screening(6, 32)


def pilot(runs: int = 5, options: int = 6) -> Pilot:
    return Pilot(STUDY.id, BENCHMARK, LATENCY, "1", space(options), runs)


def evidence_of(study: Pilot, values: Sequence[float | str]) -> Evidence:
    found = iter(values)

    def measure(task: object) -> dict[str, list[float]] | str:
        value = next(found)
        return value if isinstance(value, str) else {"latency": [value]}

    store = MemoryStore()
    engine = FakeEngine(measure, seconds=0.5)
    while plan := study.plan(store.evidence(study.id)):
        for run in engine.run(plan.tasks):
            store.record(run)
    return store.evidence(study.id)


def test_the_default_is_repeated_in_turn_with_others() -> None:
    tasks = pilot().tasks
    default = space(6).default
    assert [task.configuration == default for task in tasks] == [True, False, True, False, True]
    assert tasks[1].configuration != tasks[3].configuration
    assert all(tasks[1].configuration.values())
    assert len({task.id for task in tasks}) == 5
    assert {task.stage for task in tasks} == {"pilot"}
    assert {task.study for task in tasks} == {STUDY.id.key}


def test_cost_and_noise() -> None:
    evidence = evidence_of(pilot(), [1.0, 5.0, 1.1, 9.0, 1.21])
    slow = replace(evidence.runs[0], seconds=60.0)  # the first pays for the build
    found = pilot().conclude(Evidence((slow, *evidence.runs[1:])))
    assert found.seconds_per_run == pytest.approx(0.5)
    assert found.seconds == pytest.approx(62.0)
    assert found.noise == pytest.approx(np.std(np.log([1.0, 1.1, 1.21]), ddof=1))
    assert (found.runs, found.failed) == (5, 0)


def test_builds_are_no_part_of_what_a_run_costs() -> None:
    name = space(6).names[0]
    built = replace(pilot(), benchmark=replace(BENCHMARK, build=(("make",),), bindings=(Binding(name, build=True),)))
    evidence = evidence_of(built, [1.0, 1.1, 1.0, 1.1, 1.0])
    first_of_each = {0: 15.5, 1: 15.5}
    runs = [replace(run, seconds=first_of_each.get(place, 0.5)) for place, run in enumerate(evidence.runs)]
    found = built.conclude(Evidence(tuple(runs)))
    assert (found.seconds_per_run, found.seconds_per_build) == (pytest.approx(0.5), pytest.approx(15.0))
    assert found.builds_left == 0
    assert affordable_runs(Budget(seconds=100.0), found) == 125  # (95 - 32.5) / 0.5


def test_a_time_buys_no_more_runs_than_a_design_can_have() -> None:
    found = PilotResult(0.001, None, 5, 0, 0.005)
    assert affordable_runs(Budget.parse("999999999h"), found) == 10_000


def test_builds_that_are_left_are_paid_from_the_budget() -> None:
    cost = PilotResult(0.5, 0.01, 5, 0, 7.0, seconds_per_build=10.0, builds_left=2)
    assert affordable_runs(Budget(seconds=60.0), cost) == 60  # (57 - 7 - 20) / 0.5
    assert affordable_runs(Budget(seconds=60.0), replace(cost, builds_left=50)) == 4  # (57 - 7) / 10.5


def test_it_ends_after_three_failures() -> None:
    evidence = evidence_of(pilot(), ["broken"] * 5)
    assert len(evidence.runs) == 3
    with pytest.raises(MeasurementError, match="broken"):
        pilot().conclude(evidence)


def test_some_failures_are_counted() -> None:
    found = pilot().conclude(evidence_of(pilot(), ["broken", 1.0, "broken", 1.0, 1.0]))
    assert (found.runs, found.failed, found.noise) == (5, 2, None)


def test_noise_of_values_around_zero_is_relative_to_their_size() -> None:
    found = pilot().conclude(evidence_of(pilot(), [-1.0, 5.0, 1.0, 5.0, 1.0]))
    assert found.noise == pytest.approx(np.std([-1.0, 1.0, 1.0], ddof=1))


def test_one_option_has_few_configurations_to_spread() -> None:
    assert len(pilot(4, options=1).tasks) == 4


def test_it_is_a_study() -> None:
    store = MemoryStore()
    found = campaign(pilot(3), FakeEngine(lambda task: {"latency": [1.0]}), store, Budget(seconds=60.0))
    assert found == PilotResult(pytest.approx(0.01), 0.0, 3, 0, pytest.approx(0.03))


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InputError, match="at least 3"):
        pilot(2)


def test_the_pilot_is_paid_from_the_budget() -> None:
    cost = PilotResult(seconds_per_run=0.5, noise=0.01, runs=5, failed=0, seconds=3.0)
    assert affordable_runs(Budget(seconds=60.0), cost) == 108  # (57 - 3) / 0.5
    assert affordable_runs(Budget(runs=37), cost) == 32


@pytest.mark.parametrize("budget", [Budget(seconds=3.0), Budget(runs=5)])
def test_a_budget_that_the_pilot_uses_up_is_refused(budget: Budget) -> None:
    with pytest.raises(InputError, match="no run left"):
        affordable_runs(budget, PilotResult(0.5, 0.01, 5, 0, 3.0))


def test_a_budget_without_end_is_refused() -> None:
    with pytest.raises(InputError, match="no end"):
        affordable_runs(Budget(math.inf, math.inf), PilotResult(0.5, 0.01, 5, 0, 3.0))
