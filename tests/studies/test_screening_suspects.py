"""Suspect runs of a screening: how many may be repeated, in which order, and what the analysis has of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import Evidence, StudyId, Task, generator, replace
from hati.space import Option, Space
from hati.studies.screening import (
    AnyChoice,
    AnyScreening,
    FractionRequest,
    ModelChoice,
    asked_fraction,
    choose_design,
    choose_followed,
    read_choice,
    screening,
    with_reruns,
)
from hati.testing import FakeEngine, MemoryStore

Off = Callable[[Task], float]


def small(again: int = 2) -> AnyScreening:
    """A default design of 32 runs, of which two are held back."""
    return study(replace(choose_followed(space(8), 32, generator(1, "design")), again=again, held_back=again))


def study(choice: AnyChoice) -> AnyScreening:
    return screening(
        study=StudyId.of("screening", {}, 1, "fake"),
        subject="s",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=space(8),
        choice=choice,
    )


def measured_as(off: Off) -> Callable[[Task], dict[str, list[float]]]:
    """Noise of 1 % by the task, a is 20 %; ``off`` is added to the logarithm."""

    def measure(task: Task) -> dict[str, list[float]]:
        noise = 0.01 * np.random.default_rng(int(task.id[:8], 16)).standard_normal()
        return {"latency": [math.exp(0.2 * bool(task.configuration["a"]) + noise + off(task))]}

    return measure


def run(made: AnyScreening, off: Off, at_once: int = 10_000) -> Evidence:
    return run_by(made, measured_as(off), at_once)


def run_by(made: AnyScreening, measure: Callable[[Task], Any], at_once: int = 10_000) -> Evidence:
    store = MemoryStore()
    engine = FakeEngine(measure)
    while ahead := made.plan(store.evidence(made.id)).at_most(at_once):
        for each in engine.run(ahead.tasks):
            store.record(each)
    return store.evidence(made.id)


def eightfold(*places: int, again: float = 0.0) -> tuple[AnyScreening, Off]:
    made = small()
    ids = {made.tasks[place].id for place in places}
    configurations = {made.tasks[place].configuration for place in places}

    def off(task: Task) -> float:
        if task.id in ids:
            return math.log(8.0)
        return again if task.configuration in configurations else 0.0

    return made, off


def test_a_suspect_run_is_made_again_twice_in_the_place_of_those_held_back() -> None:
    made, off = eightfold(3)
    evidence = run(made, off)
    again = evidence.stage("again").runs
    assert [each.task.configuration for each in again] == [made.tasks[3].configuration] * 2
    assert len(evidence.runs) == 32
    found = made.conclude(evidence)
    assert found.important == ("a",)
    (suspect,) = found.suspects
    assert (suspect.order, suspect.used in suspect.fresh, found.robust) == (3, True, None)
    assert not any("not made" in warning for warning in found.warnings)


def test_without_a_suspect_run_those_held_back_are_made() -> None:
    made = small()
    evidence = run(made, lambda task: 0.0)
    assert {each.task.id for each in evidence.runs} == {task.id for task in made.tasks}
    assert made.conclude(evidence).suspects == ()


def test_fresh_values_that_agree_stand() -> None:
    made, off = eightfold(3, again=math.log(8.0))
    evidence = run(made, off)
    (suspect,) = made.conclude(evidence).suspects
    assert suspect.used == pytest.approx(suspect.value, rel=0.1)
    assert len(evidence.stage("again").runs) == 2


def test_values_that_stand_end_the_search() -> None:
    made = study(choose_followed(space(8), 96, generator(1, "design")))
    far = {made.tasks[place].configuration for place in (3, 10, 20)}
    evidence = run(made, lambda task: math.log(8.0) if task.configuration in far else 0.0)
    again = evidence.stage("again").runs
    assert (len(again), len({each.task.configuration for each in again})) == (2, 1)


@pytest.mark.parametrize("at_once", [1, 5])
def test_a_campaign_that_is_interrupted_makes_the_same_runs(at_once: int) -> None:
    made, off = eightfold(3)
    whole, parts = run(made, off), run(made, off, at_once)
    assert [each.task.id for each in parts.runs] == [each.task.id for each in whole.runs]
    assert made.conclude(parts) == made.conclude(whole)


@pytest.mark.parametrize("broken", [{1}, {0, 1}])
def test_where_a_fresh_run_fails_the_run_stays_suspect_beside_a_robust_fit(broken: set[int]) -> None:
    made, off = eightfold(3)
    plain = measured_as(off)
    evidence = run_by(made, lambda task: "x" if task.stage == "again" and task.repetition in broken else plain(task))
    found = made.conclude(evidence)
    (suspect,) = found.suspects
    assert (suspect.order, suspect.fresh, suspect.used) == (3, (), None)
    assert found.robust is not None
    assert found.robust.added == ("a",)


def test_a_fresh_run_that_fails_ends_no_search_for_others() -> None:
    made = study(choose_followed(space(8), 96, generator(1, "design")))
    far = {made.tasks[place].id for place in (3, 10)}
    plain = measured_as(lambda task: math.log(8.0) if task.id in far else 0.0)
    failing = list[str]()

    def measure(task: Task) -> dict[str, list[float]] | str:
        if task.stage == "again" and not failing:
            failing.append(task.id)
        return "broken" if task.id in failing else plain(task)

    evidence = run_by(made, measure)
    assert len({each.task.configuration for each in evidence.stage("again").runs}) == 2
    assert sorted(each.used is None for each in made.conclude(evidence).suspects) == [False, True]


def test_the_run_that_is_used_has_its_own_place_in_time() -> None:
    made, off = eightfold(3)
    evidence = run(made, off)
    found = made.conclude(evidence)
    places = [point.order for point in found.points]
    assert places[:3] + places[4:] == [0, 1, 2, *range(4, 30)]
    (suspect,) = found.suspects
    values = [evidence.runs[place].of("latency") for place in (30, 31)]
    assert values[places[3] - 30] is not None
    assert suspect.used == suspect.fresh[places[3] - 30]
    assert len(made.due(evidence)) == 30
    assert len(made.due(run(made, lambda task: 0.0))) == 32


def test_values_that_stand_need_no_larger_budget() -> None:
    made = study(choose_followed(space(8), 96, generator(1, "design")))
    far = {made.tasks[place].configuration for place in (3, 10, 20)}
    found = made.conclude(run(made, lambda task: math.log(8.0) if task.configuration in far else 0.0))
    assert any(each.used is None for each in found.suspects)
    assert not any("to repeat" in warning for warning in found.warnings)


def test_no_run_is_held_back_that_main_effects_need() -> None:
    place = Space(tuple(Option(name, tuple(range(8)), default=0) for name in "ab"))
    chosen = [choose_followed(place, runs, generator(1, "design")) for runs in (18, 19, 20, 21)]
    assert [each.held_back for each in chosen if isinstance(each, ModelChoice)] == [0, 0, 2, 2]


def test_a_stored_choice_without_such_runs_makes_none_and_shows_a_robust_fit_beside() -> None:
    _, off = eightfold(3)
    text = small(0).choice.to_json().replace('"again":0,', "").replace('"held_back":0,', "")
    assert "again" not in text
    before = study(read_choice(text))
    evidence = run(before, off)
    assert {each.task.stage for each in evidence.runs} == {"design"}
    found = before.conclude(evidence)
    assert found.important == ()
    assert found.robust is not None
    assert (found.robust.shown, found.robust.added, found.robust.differs) == (("a",), ("a",), True)


def test_how_many_may_be_made_again() -> None:
    place, rng = space(8), generator(1, "design")
    assert with_reruns(choose_design(place, 32, rng), 32).again == 2
    followed = choose_followed(place, 96, rng)
    assert (followed.again, followed.runs) == (10, 76)
    fraction = asked_fraction(FractionRequest(runs=32), 8, 40, rng)
    assert [with_reruns(fraction, runs).again for runs in (32, 33, 34, 36, 60)] == [0, 0, 2, 4, 4]
