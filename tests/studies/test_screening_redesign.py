"""Screenings whose design was chosen again after runs were made, since a setting does not work."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import Evidence, Setting, StudyId, Task, generator, replace
from hati.space import Option, Space, narrowed, parse_formula
from hati.studies.screening import ModelChoice, ModelScreening, choose_followed, is_flip
from hati.testing import FakeEngine, MemoryStore

ID = StudyId.of("screening", {}, 1, "fake")
WITHOUT_J = parse_formula("j != true")


def by_design(place: Space, runs: int, *, again: int | None = None) -> ModelScreening:
    choice = choose_followed(place, runs, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    choice = choice if again is None else replace(choice, again=again, held_back=0)
    return ModelScreening(ID, "s", BENCHMARK, LATENCY, "1", place, choice)


def latency(task: Task) -> dict[str, list[float]]:
    """Options a and j act; where j is true, more than all else."""
    on: Mapping[str, Setting] = task.configuration
    noise = 0.01 * float(generator(3, task.id).standard_normal())
    return {"latency": [math.exp(0.2 * bool(on["a"]) + 1.0 * bool(on["j"]) + noise)]}


def finished(study: ModelScreening, made: Evidence) -> Evidence:
    """The evidence of the whole campaign, which goes on from the runs that are made."""
    store = MemoryStore()
    for run in made.runs:
        store.record(run)
    while plan := study.plan(store.evidence(study.id)):
        for run in FakeEngine(latency).run(plan.tasks):
            store.record(run)
    return store.evidence(study.id)


def abandoned(runs: int = 16) -> Evidence:
    """The first runs of the design of all ten options."""
    return Evidence(tuple(FakeEngine(latency).run(by_design(space(10), 64).tasks[:runs])))


def test_rows_of_an_abandoned_design_are_in_no_analysis() -> None:
    study = by_design(narrowed(space(10), (WITHOUT_J,)), 48)
    evidence = finished(study, abandoned())
    assert any(is_flip(run.task) for run in evidence.runs)
    assert any(run.task.configuration["j"] for run in evidence.runs), "the abandoned design's"
    found = study.measured(evidence)
    assert not any(run.task.configuration["j"] for run in found.runs)
    effect = next(effect for effect in study.analysis(found).effects if effect.term == (0,))
    assert effect.decided.standard_error == pytest.approx(0.0025, abs=0.001)
    concluded = study.conclude(evidence)
    assert concluded.important == ("a",)
    assert concluded.dominating is not None
    assert (concluded.dominating.name, concluded.dominating.fixed) == ("a", (("j", False),))


def test_suspect_runs_of_an_abandoned_design_are_not_reported() -> None:
    first = by_design(space(10), 64)
    task = next(task for task in first.tasks if task.configuration["j"])
    fresh = (replace(task, stage="again", repetition=number) for number in (0, 1))
    made = Evidence(tuple(FakeEngine(latency).run((*first.tasks[:16], task, *fresh))))
    study = by_design(narrowed(space(10), (WITHOUT_J,)), 48, again=0)
    assert study.conclude(finished(study, made)).suspects == ()


def test_flips_with_a_setting_that_is_excluded_are_in_no_analysis() -> None:
    """Of an option with three settings, one of which worked in some flips before it was excluded."""
    place = Space((Option("event", ("epoll", "select", "poll"), "epoll"), *space(10).options))
    event = {"epoll": 0.0, "select": 0.1, "poll": 0.3}

    def by_event(task: Task) -> dict[str, list[float]]:
        return {"latency": [latency(task)["latency"][0] * math.exp(event[str(task.configuration["event"])])]}

    study = by_design(narrowed(place, (parse_formula("event != 'poll'"),)), 64)
    first = by_design(place, 64)
    flips = tuple(
        replace(
            task, stage="follow-up event", repetition=number // 2, configuration=place.canonical({"event": setting})
        )
        for number, (task, setting) in enumerate(zip(first.tasks, ("epoll", "poll") * 2, strict=False))
    )
    design = tuple(FakeEngine(by_event).run(study.tasks))
    made = Evidence((*design, *FakeEngine(by_event).run(flips)))
    assert {str(run.task.configuration["event"]) for run in study.measured(made).runs} == {"epoll", "select"}
    assert {*study.conclude(made).important} == {"a", "event", "j"}
