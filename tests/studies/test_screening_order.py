"""Runs that were not made in random order, or on several machines."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, multiplying, screening, signs, space

from hati.core import Evidence, StudyId, Task, generator, replace
from hati.design import Model
from hati.stats import adjusted_for_trend, block_cells, contrasts, least_squares, pure_error
from hati.stats.linear_models import within_residuals
from hati.studies.screening import (
    FlipEvidence,
    FlipVerdict,
    ModelScreening,
    Screening,
    choose,
    choose_design,
    choose_followed,
)
from hati.studies.screening import screening as any_screening
from hati.studies.screening.runs import model_units
from hati.testing import FakeEngine, MemoryStore

DRIFT = 0.002
"""Per run, on the logarithm."""


def by_model(options: int, runs: int, seed: int = 1) -> ModelScreening:
    place = space(options)
    study = StudyId.of("screening", {"model": 1}, seed, "fake")
    made = any_screening(
        study=study,
        subject="simulated",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=place,
        choice=choose_design(place, runs, generator(seed, "design")),
    )
    assert isinstance(made, ModelScreening)
    return made


def sorted_runs(study: Screening | ModelScreening, sizes: dict[str, float], noise: float = 0.01) -> Evidence:
    """The runs in the order of their settings, while every one takes .2 % longer than the one before."""
    tasks = sorted(study.tasks, key=lambda task: tuple(signs(task).values()))
    places = {task.id: place for place, task in enumerate(tasks)}
    value = multiplying(sizes, noise)
    store = MemoryStore()
    for run in FakeEngine(lambda task: {"latency": [value(task) * math.exp(DRIFT * places[task.id])]}).run(tasks):
        store.record(run)
    return store.evidence(study.id)


STUDIES = {
    "32 x 1": lambda: screening(6, 32),
    "32 x 3": lambda: screening(6, 96),
    "64 x 2": lambda: screening(14, 128),
    "model": lambda: by_model(8, 96),
}
EVERY = pytest.mark.parametrize("study", [pytest.param(made, id=name) for name, made in STUDIES.items()])
Made = Callable[[], Screening | ModelScreening]


@EVERY
def test_of_a_sorted_plan_drift_makes_no_option_important(study: Made) -> None:
    made = study()
    found = made.conclude(sorted_runs(made, {"d": 0.1}))
    assert {*found.important, *found.important_or_aliased} <= {"d"}
    assert any("confounded with the order of runs" in warning for warning in found.warnings)


@EVERY
def test_a_slower_machine_does_not_hide_an_effect(study: Made) -> None:
    """Every other run is on a machine that takes 30 % longer."""
    made = study()
    value = multiplying({"d": 0.05}, 0.005)
    store = MemoryStore()
    for place, task in enumerate(made.tasks):
        slower = 1.3 if place % 2 else 1.0
        engine = FakeEngine(lambda task, slower=slower: {"latency": [slower * value(task)]}, machine=f"m{place % 2}")
        for run in engine.run((task,)):
            store.record(replace(run, started=run.started + timedelta(seconds=place)))
    found = made.conclude(store.evidence(made.id))
    assert {*found.important, *found.important_or_aliased} == {"d"}
    effect = next(effect for effect in found.effects if effect.options == ("d",))
    assert effect.contrast == pytest.approx(0.05, abs=0.012)


def test_effects_beside_a_trend_are_least_squares() -> None:
    """With repetitions: of the contrast in question, of the large one, and of the trend."""
    columns = contrasts(choose(4, 32).design("abcd").matrix)
    rows, blocks = np.tile(np.arange(16), 2), np.repeat([0, 1], 16)
    rng = np.random.default_rng(3)
    order = rng.permutation(32).astype(np.float64)
    values = columns.columns[rows, 1] + 0.05 * order + 0.1 * rng.standard_normal(32)
    found = adjusted_for_trend(least_squares(columns, rows, blocks), values, order, rows, blocks)
    means = np.column_stack([blocks == 0, blocks == 1])
    for place in (0, 1, 2):
        design = np.column_stack([means, columns.columns[rows][:, sorted({1, place})], order])
        coefficients = np.linalg.lstsq(design, values, rcond=None)[0]
        own = 2 + sorted({1, place}).index(place)
        assert found.effects(values)[place] == pytest.approx(2.0 * coefficients[own])
        assert found.variances[place] == pytest.approx(4.0 * np.linalg.inv(design.T @ design)[own, own])


def test_pure_error_beside_a_trend_is_least_squares() -> None:
    rows, blocks = np.tile(np.arange(16), 3), np.repeat([0, 1, 2], 16)
    rng = np.random.default_rng(4)
    order, values = rng.permutation(48).astype(np.float64), rng.standard_normal(48)
    trend, _ = within_residuals(order - order.mean(), rows, blocks)
    design = np.column_stack([rows[:, None] == np.arange(16), blocks[:, None] == np.arange(3), order])
    _, left, rank, _ = np.linalg.lstsq(design[:, np.r_[0:18, 19]], values, rcond=None)
    assert pure_error(values, rows, blocks, trend) == (pytest.approx(float(left[0]) / (48 - rank)), 48 - rank)


def followed() -> ModelScreening:
    place = space(8)
    made = any_screening(
        study=StudyId.of("screening", {"followed": 1}, 1, "fake"),
        subject="simulated",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=place,
        choice=choose_followed(place, 96, generator(1, "design")),
    )
    assert isinstance(made, ModelScreening)
    return made


def flips_of_d(factor: Callable[[Task, int], tuple[float, str]]) -> FlipEvidence:
    """What the flips of an option that adds 5 % show; ``factor`` is what a run at a place takes longer, and where."""
    study, value, store = followed(), multiplying({"d": 0.05}, 0.005), MemoryStore()
    while plan := study.plan(store.evidence(study.id)):
        for task in plan.tasks:
            longer, machine = factor(task, len(store.kept))
            engine = FakeEngine(lambda task, longer=longer: {"latency": [longer * value(task)]}, machine=machine)
            store.record(next(engine.run((task,))))
    found = study.conclude(store.evidence(study.id))
    assert found.important == ("d",)
    flips = next(effect for effect in found.effects if effect.options == ("d",)).flips
    assert flips is not None
    return flips


def test_flips_confirm_under_drift_since_their_two_runs_are_one_after_the_other() -> None:
    flips = flips_of_d(lambda _, place: (math.exp(DRIFT * place), "fake"))
    assert flips.verdict is FlipVerdict.CONFIRMED
    assert flips.change == pytest.approx(0.05, abs=0.01)


def test_flips_are_compared_within_machines() -> None:
    def factor(task: Task, _: int) -> tuple[float, str]:
        second = generator(13, task.id).integers(2)
        return (1.3, "m1") if second else (1.0, "m0")

    flips = flips_of_d(factor)
    assert flips.verdict is FlipVerdict.CONFIRMED
    assert flips.change == pytest.approx(0.05, abs=0.01)


def repaired(study: ModelScreening, factor: Callable[[int], tuple[float, str]], seed: int) -> tuple[int, bool]:
    """The number of reruns where three early runs are eightfold, and whether an effect of 2 % is found.

    ``factor`` is what a run at a place takes longer, and its machine.
    """
    store = MemoryStore()
    while plan := study.plan(store.evidence(study.id)):
        for task in plan.tasks:
            place = len(store.kept)
            longer, machine = factor(place)
            noise = 0.01 * float(generator(seed, task.id).standard_normal())
            value = math.exp(0.02 * bool(task.configuration["a"]) + noise) * longer * (8.0 if place in (1, 3, 5) else 1)
            engine = FakeEngine(lambda _, value=value: {"latency": [value]}, machine=machine)
            store.record(next(engine.run((task,))))
    evidence = store.evidence(study.id)
    return len(evidence.stage("again").runs), "a" in study.conclude(evidence).important


def without_flips(seed: int) -> ModelScreening:
    place = space(10)
    choice = replace(choose_followed(place, 128, generator(1, "design")), follow_up=0, flips_held_back=0)
    study = StudyId.of("screening", {"again": 1}, seed, "fake")
    made = any_screening(
        study=study, subject="s", benchmark=BENCHMARK, metric=LATENCY, revision="1", space=place, choice=choice
    )
    assert isinstance(made, ModelScreening)
    return made


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_outliers_are_repaired_under_drift(seed: int) -> None:
    """Fresh runs are made after the design, when all runs take 20 % longer than at its start."""
    assert repaired(without_flips(seed), lambda place: (math.exp(DRIFT * place), "fake"), seed) == (6, True)


def test_outliers_are_repaired_on_another_machine() -> None:
    """Fresh runs are on one that takes 30 % longer, as are the last runs of the design."""

    def slower(place: int) -> tuple[float, str]:
        return (1.3, "m1") if place >= 70 else (1.0, "m0")

    assert repaired(without_flips(1), slower, 1) == (6, True)


def test_a_true_value_under_drift_ends_the_search() -> None:
    """A configuration that is eightfold in each of its runs, in spite of drift between these."""
    study, store = without_flips(1), MemoryStore()
    far = study.tasks[3].configuration
    while plan := study.plan(store.evidence(study.id)):
        for task in plan.tasks:
            noise = 0.01 * float(generator(1, task.id).standard_normal())
            value = math.exp(DRIFT * len(store.kept) + noise) * (8.0 if task.configuration == far else 1.0)
            engine = FakeEngine(lambda _, value=value: {"latency": [value]})
            store.record(next(engine.run((task,))))
    assert len(store.evidence(study.id).stage("again").runs) == 2


def test_the_run_that_is_used_is_in_the_repetition_of_the_one_that_it_replaces() -> None:
    """Of a fraction that is run twice, on two machines by turns; the fresh runs are on the second one."""
    study = screening(6, 68)
    again = replace(study, choice=replace(study.choice, again=2))
    assert again.choice.repetitions == 2
    value, store = multiplying({"d": 0.05}), MemoryStore()
    while plan := again.plan(store.evidence(again.id)):
        for task in plan.tasks:
            place = len(store.kept)
            longer = (8.0 if place == 4 else 1.0) * (1.3 if place % 2 or place >= 64 else 1.0)
            engine = FakeEngine(
                lambda task, longer=longer: {"latency": [longer * value(task)]},
                machine=f"m{int(place % 2 or place >= 64)}",
            )
            store.record(next(engine.run((task,))))
    found = again.measured(store.evidence(again.id))
    ((place, used),) = [(place, run) for place, run in enumerate(found.runs) if run.task.stage == "again"]
    cells = block_cells(found.blocks)
    same = [
        cells[other]
        for other, run in enumerate(found.runs)
        if run.task.stage == "design" and (run.task.repetition, run.machine) == (0, used.machine)
    ]
    assert {*same} == {cells[place]}
    assert found.order[place] >= 64


@pytest.mark.parametrize("usable", [1, 2, 3])
@EVERY
def test_of_few_usable_runs_there_is_a_conclusion(study: Made, usable: int) -> None:
    made = study()
    value = multiplying({"d": 0.1})
    runs = FakeEngine(lambda task: {"latency": [value(task)]}).run(made.tasks[:usable])
    found = made.conclude(Evidence(tuple(runs)))
    assert (found.done, found.important, found.warnings != ()) == (usable, (), True)


def test_units_whose_places_in_time_are_all_the_same_have_no_order() -> None:
    """Each configuration is run once early and once late, so that the means of its places are equal."""
    model = Model.of_order([2] * 4, 1)
    levels = np.array([*product(range(2), repeat=4)] * 2, dtype=np.int16)
    order = np.concatenate([np.arange(16.0), np.arange(31.0, 15.0, -1.0)])
    blocks = np.repeat([0, 1], 16)
    assert model_units(model, levels, blocks, order=np.arange(32.0)).order is not None
    assert model_units(model, levels, blocks, order=order).order is None


def dominated(task: Task) -> float:
    """Option d takes 4.5 times as long, c 22 % longer; b 22 % longer where d is off, and nothing where it is on."""
    sign = signs(task)
    noise = 0.01 * float(generator(5, task.id).standard_normal())
    return math.exp(0.75 * sign["d"] + 0.05 * (1 - sign["d"]) * sign["b"] + 0.1 * sign["c"] + noise)


def by_turns(place: int) -> tuple[float, str]:
    """Every other run is on a machine that takes 4.5 times as long."""
    return (math.exp(1.5), "m1") if place % 2 else (1.0, "m0")


def drifting(place: int) -> tuple[float, str]:
    """Every run takes 2 % longer than the one before."""
    return math.exp(10 * DRIFT * place), "fake"


def still(place: int) -> tuple[float, str]:
    return 1.0, "fake"


def measured_under(study: Screening | ModelScreening, factor: Callable[[int], tuple[float, str]]) -> Evidence:
    store = MemoryStore()
    for place, task in enumerate(study.tasks):
        longer, machine = factor(place)
        engine = FakeEngine(lambda task, longer=longer: {"latency": [longer * dominated(task)]}, machine=machine)
        for run in engine.run((task,)):
            store.record(replace(run, started=run.started + timedelta(seconds=place)))
    return store.evidence(study.id)


UNDER = pytest.mark.parametrize("factor", [still, by_turns, drifting])


@UNDER
@EVERY
def test_effects_at_settings_are_within_machines_and_beside_drift(
    study: Made, factor: Callable[[int], tuple[float, str]]
) -> None:
    made = study()
    found = made.conclude(measured_under(made, factor))
    off, on = (each for each in found.conditional_effects if each.option == "b")
    assert [(dict(each.at), each.found) for each in (off, on)] == [({"d": False}, True), ({"d": True}, True)]
    assert off.relative == pytest.approx(math.expm1(0.2), abs=0.02)
    assert on.relative == pytest.approx(0.0, abs=0.02)
    for each, truth in ((off, math.expm1(0.2)), (on, 0.0)):
        assert each.interval is not None
        assert each.interval[1] - each.interval[0] < 0.1
        assert each.interval[0] - 0.01 < truth < each.interval[1] + 0.01


@UNDER
@EVERY
def test_an_option_dominates_within_machines_and_beside_drift(
    study: Made, factor: Callable[[int], tuple[float, str]]
) -> None:
    made = study()
    found = made.conclude(measured_under(made, factor)).dominating
    assert found is not None
    assert (found.name, found.default) == ("d", False)
    assert found.share > 0.97


def test_places_of_repeated_configurations_in_time_are_cleared_as_their_values_are() -> None:
    """Values that are nothing but the place in time: no line is left of them, however blocks fell."""
    rng = np.random.default_rng(1)
    levels = np.array(list(product((0, 1), repeat=6)), dtype=np.intp)
    rows = np.concatenate([rng.permutation(64), rng.permutation(64)[:40]])
    machines = np.zeros(len(rows), dtype=np.intp)
    blocks = np.repeat([0, 1], [64, 40]).astype(np.intp)
    order = np.arange(len(rows), dtype=np.float64)
    units = model_units(Model.of_order([2] * 6, 1), levels[rows], blocks, machines, order)
    assert not units.are_runs
    assert units.order == pytest.approx(units.values(order))


@lru_cache
def one_design(options: int, runs: int) -> ModelScreening:
    return by_model(options, runs)


def drawn(options: int, runs: int, seed: int) -> ModelScreening:
    """The same design in another order."""
    return replace(one_design(options, runs), id=StudyId.of("screening", {"model": 1}, seed, "fake"))


def warns_of_drift(options: int, runs: int, seed: int, total: float = 0.0) -> bool:
    """Whether a study with one effect warns; ``total`` is the drift from its first run to its last, of noise of 2 %."""
    study, effect = drawn(options, runs, seed), multiplying({"d": 0.2}, 0.0)
    rng, store = np.random.default_rng([seed, 5]), MemoryStore()
    for place, task in enumerate(study.tasks):
        value = effect(task) * math.exp(0.02 * float(rng.standard_normal()) + total * place / len(study.tasks))
        for run in FakeEngine(lambda _, value=value: {"latency": [value]}).run((task,)):
            store.record(replace(run, started=run.started + timedelta(seconds=place)))
    found = study.conclude(store.evidence(study.id))
    return any("over the order of runs (rank correlation" in warning for warning in found.warnings)


@pytest.mark.acceptance
def test_without_drift_there_is_rarely_a_warning_of_it() -> None:
    """One in a hundred: terms that were selected to fit the runs do not cause one."""
    assert sum(warns_of_drift(14, 24, seed) for seed in range(20)) <= 1


@pytest.mark.acceptance
@pytest.mark.parametrize("runs", [24, 48, 96])
def test_drift_of_four_standard_deviations_is_reported(runs: int) -> None:
    """Few configurations of the larger designs are repeated."""
    assert sum(warns_of_drift(14, runs, seed, 0.08) for seed in range(4)) >= 3
