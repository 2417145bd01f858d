"""Planning for an effect that has to be found: the cheapest design, refusals, and whether the power is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.core import Benchmark, InputError, Metric, Plan, Reader, ReaderKind, Run, StudyId, Task
from hati.design import Model
from hati.space import Option, Space
from hati.stats import contrasts
from hati.studies.screening import (
    AnyChoice,
    Choice,
    ModelChoice,
    Pilot,
    RunNoise,
    Shortfall,
    choose,
    plan_design,
    power_expected,
    precision,
    run_noise,
)
from hati.studies.screening.analysis import analyse
from hati.studies.screening.model_analysis import analyse_model
from hati.testing import FakeEngine, MemoryStore

MANY = 1_000_000_000


def switches(count: int) -> Space:
    return Space(tuple(Option(f"o{i}", ("off", "on"), default="off") for i in range(count)))


MIXED = Space(tuple(Option(f"o{i}", ("x", "y", "z")[: 2 + i % 2], default="x") for i in range(6)))


def planned(space: Space, runs: int, deviation: float, detect: float, df: int = MANY) -> AnyChoice | Shortfall:
    return plan_design(space, runs, RunNoise(deviation, df), detect, np.random.default_rng(1))


def test_of_all_fractions_and_repetitions_the_one_with_the_fewest_runs_is_taken() -> None:
    chosen = planned(switches(7), 4000, 0.02, 0.03)
    assert isinstance(chosen, Choice)
    noise = RunNoise(0.02, MANY)
    candidates = {c.runs: c for runs in range(16, 129) if (c := choose(7, runs)).resolution in {4, 5, 7, None}}
    enough = [runs for runs, c in candidates.items() if power_expected(precision(c), noise, 0.03) >= 0.9]
    assert chosen.runs <= min(enough)
    assert power_expected(precision(chosen), noise, 0.03) >= 0.9
    one_less = Choice(7, chosen.configurations, chosen.repetitions - 1, chosen.resolution, chosen.generators, "")
    assert power_expected(precision(one_less), noise, 0.03) < 0.9


@pytest.mark.parametrize("space", [switches(6), MIXED])
def test_larger_effects_less_noise_and_better_pilots_are_cheaper(space: Space) -> None:
    def runs(deviation: float, detect: float, df: int = MANY) -> int:
        chosen = planned(space, 10_000, deviation, detect, df)
        assert not isinstance(chosen, Shortfall)
        return chosen.runs

    assert runs(0.01, 0.10) <= runs(0.01, 0.03) < runs(0.04, 0.03)
    assert runs(0.04, 0.03) < runs(0.04, 0.03, df=3)


@pytest.mark.parametrize("space", [switches(7), MIXED])
def test_a_budget_that_does_not_suffice_is_told_what_it_finds_and_what_would_do(space: Space) -> None:
    short = planned(space, 40, 0.05, 0.03)
    assert isinstance(short, Shortfall)
    assert short.needed is not None
    assert short.found is not None
    assert short.needed > 40
    assert not isinstance(planned(space, round(1.15 * short.needed), 0.05, 0.03), Shortfall)
    assert not isinstance(planned(space, 40, 0.05, 1.15 * short.found), Shortfall)
    assert isinstance(planned(space, 40, 0.05, 0.9 * short.found), Shortfall)


def test_the_budget_that_is_said_to_be_needed_is_needed() -> None:
    short = planned(switches(7), 40, 0.05, 0.03)
    assert isinstance(short, Shortfall)
    assert short.needed is not None
    enough = planned(switches(7), short.needed, 0.05, 0.03)
    assert isinstance(enough, Choice)
    assert enough.runs == short.needed
    assert isinstance(planned(switches(7), short.needed - 1, 0.05, 0.03), Shortfall)


def test_too_few_runs_for_any_design_find_nothing() -> None:
    short = planned(switches(14), 10, 0.01, 0.05)
    assert isinstance(short, Shortfall)
    assert short.found is None
    assert short.needed == 32


def test_an_optimal_design_has_two_runs_for_a_parameter_however_little_noise_there_is() -> None:
    chosen = planned(MIXED, 1000, 0.0001, 0.03)
    assert isinstance(chosen, ModelChoice)
    assert chosen.runs == 2 * chosen.parameters
    assert isinstance(planned(MIXED, 19, 0.0001, 0.03), Shortfall)


def test_effects_that_are_never_important_are_refused() -> None:
    with pytest.raises(InputError, match="never important"):
        planned(switches(7), 100, 0.01, 0.01)


def test_the_noise_of_pilot_runs_is_pooled_over_their_configurations() -> None:
    metric = Metric("time", "s")
    benchmark = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (metric,))
    pilot = Pilot(StudyId.of("screening", {}, 1, "fake"), benchmark, metric, "1", switches(4), 12)
    rng = np.random.default_rng(3)
    levels = {c: float(i + 1) for i, c in enumerate(dict.fromkeys(t.configuration for t in pilot.tasks))}
    values = {t.id: levels[t.configuration] * math.exp(0.05 * rng.standard_normal()) for t in pilot.tasks}

    def measure(task: Task) -> dict[str, list[float]]:
        return {"time": [values[task.id]]}

    store = MemoryStore()
    runs: list[Run] = list(FakeEngine(measure).run(Plan(pilot.tasks)))
    for run in runs:
        store.record(run)
    noise = run_noise(pilot, store.evidence(pilot.id), metric)
    groups = [np.log([values[t.id] for t in pilot.tasks if t.configuration == c]) for c in levels]
    df = sum(len(group) - 1 for group in groups)
    expected = math.sqrt(sum(float(np.sum((group - group.mean()) ** 2)) for group in groups) / df)
    assert noise is not None
    assert (noise.df, noise.deviation) == (df, pytest.approx(expected))
    assert df == 9


@pytest.mark.statistical
@pytest.mark.parametrize(("deviation", "most"), [(0.01, 1.2), (0.02, 1.6)])
def test_the_planned_power_is_kept_and_not_dearly(deviation: float, most: float) -> None:
    """Pilots of 8 degrees of freedom, 7 options, 3 others and a pair active: 3 % is found in 85 % and more."""
    rng, space = np.random.default_rng(5), switches(7)
    oracle = planned(space, 4000, deviation, 0.03)
    assert isinstance(oracle, Choice)
    found, runs, known = [], [], {}
    for _ in range(60):
        pilot = deviation * math.sqrt(rng.chisquare(8) / 8)
        choice = planned(space, 4000, pilot, 0.03, df=8)
        assert isinstance(choice, Choice)
        key = choice.configurations, choice.repetitions
        if key not in known:
            matrix = np.asarray(choice.design(space.names).matrix, dtype=np.int8)
            known[key] = matrix, contrasts(matrix)
        matrix, columns = known[key]
        rows = np.tile(np.arange(len(matrix)), choice.repetitions)
        blocks = np.repeat(np.arange(choice.repetitions), len(matrix))
        half = np.array([math.log(1.03) / 2, 0.05, 0.05, 0.05, 0, 0, 0])
        truth = matrix @ half + 0.03 * matrix[:, 1] * matrix[:, 2]
        values = np.exp(truth[rows] + deviation * rng.standard_normal(len(rows)))
        told = analyse(columns, values, rows, blocks, alpha=0.05, relevant=0.01)
        found.append(any(e.important and e.term == (0,) for e in told.effects))
        runs.append(choice.runs)
    assert np.mean(found) >= 0.85
    assert np.mean(runs) <= most * oracle.runs


@pytest.mark.statistical
def test_the_planned_power_of_optimal_designs_is_kept() -> None:
    """3 options of two and 3 of three settings, two others and a pair active, noise 1 %."""
    choice = planned(MIXED, 1000, 0.01, 0.03, df=8)
    assert isinstance(choice, ModelChoice)
    levels = np.tile(choice.levels, (choice.repetitions, 1))
    blocks = np.repeat(np.arange(choice.repetitions), choice.configurations)
    first, third, fifth = (np.where(levels[:, i] == 1, 1, -1) for i in (0, 2, 4))
    truth = first * math.log(1.03) / 2 + 0.05 * (levels[:, 1] == 2) + 0.04 * third + 0.03 * third * fifth
    model = Model.of_order([len(option.settings) for option in MIXED.options], 2)
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = np.exp(truth + 0.01 * rng.standard_normal(len(truth)))
        told = analyse_model(model, levels, values, blocks, rng, alpha=0.05, relevant=0.01)
        found.append(any(e.important and e.term == (0,) for e in told.effects))
    assert np.mean(found) >= 0.85
