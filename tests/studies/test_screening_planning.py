"""Planning for an effect that has to be found: the cheapest design, refusals, and whether the power is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.core import Benchmark, FloatArray, InputError, Metric, Reader, ReaderKind, Run, StudyId, Task
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
    plan_design,
    power_expected,
    precision,
    run_noise,
)
from hati.studies.screening.contrasts import analyse
from hati.studies.screening.model import analyse_model
from hati.testing import FakeEngine, MemoryStore

MANY = 1_000_000_000
_PAIR = 0.03


def switches(count: int) -> Space:
    return Space(tuple(Option(f"o{i}", ("off", "on"), default="off") for i in range(count)))


MIXED = Space(tuple(Option(f"o{i}", ("x", "y", "z")[: 2 + i % 2], default="x") for i in range(6)))


def planned(space: Space, runs: int, deviation: float, detect: float, df: int = MANY) -> AnyChoice | Shortfall:
    return plan_design(space, runs, RunNoise(deviation, df), detect, np.random.default_rng(1))


def test_a_full_factorial_or_fewer_configurations_are_taken_whichever_needs_fewer_runs() -> None:
    few = planned(switches(7), 4000, 0.02, 0.03)
    assert isinstance(few, ModelChoice)
    assert few.runs < 128
    assert power_expected(precision(few), RunNoise(0.02, MANY), 0.03) >= 0.9
    many = planned(switches(4), 4000, 0.02, 0.03)
    assert isinstance(many, Choice)
    assert (many.configurations, many.generators) == (16, ())
    one_less = Choice(4, 16, many.repetitions - 1, None, (), "")
    assert power_expected(precision(one_less), RunNoise(0.02, MANY), 0.03) < 0.9


@pytest.mark.parametrize("count", [4, 7])
def test_a_lower_level_needs_more_runs(count: int) -> None:
    usual, strict = (
        plan_design(switches(count), 4000, RunNoise(0.02, MANY), 0.03, np.random.default_rng(1), alpha=alpha)
        for alpha in (0.05, 0.001)
    )
    assert not isinstance(usual, Shortfall)
    assert not isinstance(strict, Shortfall)
    assert strict.runs > usual.runs
    assert power_expected(precision(strict, alpha=0.001), RunNoise(0.02, MANY), 0.03) >= 0.9


def test_what_configurations_vary_by_beyond_main_effects_costs_runs_unless_all_are_measured() -> None:
    def runs(count: int, interactions: float) -> float:
        noise, rng = RunNoise(0.01, MANY), np.random.default_rng(1)
        found = plan_design(switches(count), 4000, noise, 0.1, rng, interactions=interactions)
        return math.inf if isinstance(found, Shortfall) else found.runs

    assert runs(12, 0.0) < runs(12, 0.05**2) < runs(12, 0.1**2)
    assert runs(4, 0.0) < runs(4, 0.1**2) == 16


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


def test_too_few_runs_for_any_design_are_refused() -> None:
    with pytest.raises(InputError, match="10 runs are too few to screen 14 options"):
        planned(switches(14), 10, 0.01, 0.05)


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
    runs: list[Run] = list(FakeEngine(measure).run(pilot.tasks))
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
@pytest.mark.parametrize(("deviation", "most"), [pytest.param(0.01, 1.5, marks=pytest.mark.acceptance), (0.02, 1.6)])
def test_the_planned_power_is_kept_and_not_dearly(deviation: float, most: float) -> None:
    """Pilots of 8 degrees of freedom, 7 options, 3 others and a pair active: 3 % is found in 85 % and more."""
    rng, space = np.random.default_rng(5), switches(7)

    def chosen(noise: RunNoise) -> AnyChoice | Shortfall:
        return plan_design(space, 4000, noise, 0.03, np.random.default_rng(1), interactions=_PAIR**2)

    oracle = chosen(RunNoise(deviation, MANY))
    assert not isinstance(oracle, Shortfall)
    half = np.array([math.log(1.03) / 2, 0.05, 0.05, 0.05, 0, 0, 0])
    found, runs = [], []
    for _ in range(60):
        choice = chosen(RunNoise(deviation * math.sqrt(rng.chisquare(8) / 8), 8))
        assert not isinstance(choice, Shortfall)
        found.append(_found(choice, half, deviation, rng))
        runs.append(choice.runs)
    assert np.mean(found) >= 0.85
    assert np.mean(runs) <= most * oracle.runs


def _found(choice: AnyChoice, half: FloatArray, deviation: float, rng: np.random.Generator) -> bool:
    """Whether the first option is found to be important."""
    names = [f"o{i}" for i in range(len(half))]
    if isinstance(choice, Choice):
        matrix = np.asarray(choice.design(names).matrix, dtype=np.int8)
        rows = np.tile(np.arange(len(matrix)), choice.repetitions)
        blocks = np.repeat(np.arange(choice.repetitions), len(matrix))
        values = np.exp(
            matrix[rows] @ half
            + _PAIR * (matrix[:, 1] * matrix[:, 2])[rows]
            + deviation * rng.standard_normal(len(rows))
        )
        effects = analyse(contrasts(matrix), values, rows, blocks, alpha=0.05, relevant=0.01).effects
        return any(e.important and e.term == (0,) for e in effects)
    levels = np.vstack([choice.levels, choice.levels[: choice.replicated]])
    signs = 2 * levels - 1
    truth = signs @ half + _PAIR * signs[:, 1] * signs[:, 2]
    values = np.exp(truth + deviation * rng.standard_normal(len(levels)))
    blocks = np.zeros(len(levels), dtype=np.intp)
    told = analyse_model(Model.of_order([2] * len(half), 2), levels, values, blocks, rng, alpha=0.05, relevant=0.01)
    return any(e.important and e.term == (0,) for e in told.effects)


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
