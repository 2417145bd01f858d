"""What a screening promises by its pilot."""

from __future__ import annotations

import math

import pytest
from simulated_subject import BENCHMARK, LATENCY, measure, multiplying, screening, space

from hati.core import Budget, Evidence, Plan, Run, StudyId, Task, generator, replace
from hati.studies.screening import (
    ModelChoice,
    ModelScreening,
    Pilot,
    PilotResult,
    choose_design,
    choose_followed,
    read_choice,
)
from hati.studies.screening.conclusion import FollowUpSummary
from hati.studies.screening.model_conclusion import follow_up_warnings
from hati.studies.screening.warnings import Remedies
from hati.testing import FakeEngine
from hati.wiring.screening.campaign import with_budget
from hati.wiring.screening.promises import Goal, correcting, planned, promise_by_pilot


def test_a_pilot_whose_configurations_differ_by_far_promises_no_single_figure() -> None:
    choice = choose_design(space(10), 64, generator(1, "design"))
    apart = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 0, 5.0, spread=2.0), 0.01)
    near = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 0, 5.0, spread=0.02), 0.01)
    assert apart.detectable is None
    assert "(if options do not interact) to" in apart.sentence
    assert "5 pilot runs do not show which; 16 runs of the design will" in apart.sentence
    assert near.detectable is not None
    assert "as far as 5 pilot runs show" in near.sentence


def test_a_pilot_promises_less_at_a_lower_level() -> None:
    choice, pilot = choose_design(space(10), 64, generator(1, "design")), PilotResult(1.0, 0.01, 5, 0, 5.0, spread=0.02)
    usual, strict = (promise_by_pilot(choice, pilot, 0.01, alpha).detectable for alpha in (0.05, 0.001))
    assert usual is not None
    assert strict is not None
    assert strict > 1.1 * usual


def test_a_pilot_that_shows_no_variation_between_configurations_promises_nothing_of_it() -> None:
    choice = choose_design(space(10), 64, generator(1, "design"))
    found = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 2, 5.0, spread=None), 0.01)
    assert found.detectable is None
    assert "if options do not interact: 5 pilot runs do not show whether they do" in found.sentence


def test_a_budget_that_is_spent_is_named_in_the_warning_of_runs_that_were_not_made() -> None:
    study = screening(6, 32)
    evidence = measure(study, multiplying({"a": 0.5}), runs=30)

    def warning(limit: str) -> str:
        (found,) = [
            each
            for each in with_budget(study, limit, evidence, evidence).conclude(evidence).warnings
            if "planned runs" in each
        ]
        return found

    spent = f"{max(1, int(evidence.seconds * 1000))}ms"
    assert warning(spent).endswith(f"not made; the budget of {spent} is spent, and a larger --budget makes more")
    assert warning("30").endswith("not made; the budget of 30 is spent, and a larger --budget makes more")
    assert warning("32").endswith("else run the same command again")
    assert warning("9h").endswith("else run the same command again")


def test_a_complete_screening_is_not_planned_again_for_its_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    of_options, whole = space(6), screening(6, 32)
    choice = choose_followed(of_options, 60, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    followed = ModelScreening(whole.id, "simulated", BENCHMARK, LATENCY, "1", of_options, choice)
    value = multiplying({"a": 0.5, "b": 0.3})
    for study in (whole, followed):
        evidence = measure(study, value)
        assert not study.complete(Evidence(evidence.runs[:-1]))
        with monkeypatch.context() as patched:
            patched.setattr(type(study), "plan", lambda *_: pytest.fail("it was planned again"))
            assert with_budget(study, str(len(evidence.runs)), evidence, evidence) is study
    assert choice.follow_up
    assert with_budget(followed, "9", evidence, evidence).plan(evidence) == Plan()


def test_flips_that_the_budget_ended_are_named_with_it() -> None:
    study, choice = screening(6, 32), choose_design(space(10), 64, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    found = study.conclude(measure(study, multiplying({"a": 0.5})))
    ended = replace(found, follow_up=FollowUpSummary(20, 6))
    spent = Remedies(flips="the budget of 70 is spent, and a larger --budget makes more")
    (said,) = follow_up_warnings(ended, choice, 16, spent)
    assert said.startswith("flips ended after 6 of 20 runs: the budget of 70 is spent")
    assert not list(follow_up_warnings(replace(found, follow_up=FollowUpSummary(20, 20)), choice, 16, spent))


def test_a_design_for_an_effect_to_find_has_a_look_and_knows_its_budget() -> None:
    pilot = Pilot(StudyId.of("screening", {}, 1, "fake"), BENCHMARK, LATENCY, "1", space(10), 8)
    value = multiplying({"b": 0.1}, noise=0.02)
    engine = FakeEngine(lambda task: {"latency": [value(task)]})
    evidence, goal = Evidence(tuple(engine.run(pilot.tasks))), Goal(0.03, 0.01)
    choice = planned(pilot, evidence, Budget(runs=400), goal, math.inf, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    assert choice.look >= 16
    assert (choice.limit, choice.seconds) == (392, 0.0)
    assert read_choice(choice.to_json()) == choice
    of_table = planned(pilot, evidence, Budget(runs=400), goal, 1.0, generator(1, "design"))
    assert getattr(of_table, "look", 0) == 0


def test_after_the_look_a_promise_of_the_first_design_is_not_compared_with_that_of_the_rest() -> None:
    def value(task: Task) -> float:
        log = math.log(25.0) if task.configuration["a"] else math.log(0.8) * float(bool(task.configuration["b"]))
        return math.exp(log + 0.02 * float(generator(3, task.id).standard_normal()))

    choice = choose_followed(space(10), 64, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    study = ModelScreening(StudyId.of("screening", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", space(10), choice)
    runs = measure(study, value).runs

    def said(known: tuple[Run, ...], others: tuple[Run, ...]) -> list[str]:
        heard: list[str] = []
        follow = correcting(study, known, 0.0001, heard.append, lambda *_: None, lambda _: None)
        for run in others:
            follow(run, Evidence(runs), Plan())
        return heard

    found = said(runs[: choice.look - 1], runs[choice.look - 1 :])
    assert found[0].startswith("a explains ")
    assert any("it will find effects of" in each for each in found[1:])
    assert not any("it may miss" in each for each in found)
    assert not any("it may miss effects of 0.01 %" in each for each in said(runs[: choice.look + 1], runs))
