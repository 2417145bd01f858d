"""Suspect flips of a screening: which are repeated, in the place of which, and what becomes of those that are not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import Evidence, InputError, Setting, StudyId, Task, generator, replace
from hati.studies.screening import (
    FlipEvidence,
    FlipVerdict,
    ModelChoice,
    ModelScreening,
    ScreeningConclusion,
    choose_followed,
    choose_optimal,
    is_flip,
    read_choice,
)
from hati.studies.screening.changes import EffectContrast
from hati.studies.screening.follow_up import Claim, FollowUp
from hati.studies.screening.support import suspects_table
from hati.studies.screening.words import run_summary
from hati.testing import FakeEngine, MemoryStore

Off = Callable[[Task], float]
EIGHTFOLD = math.log(8.0)
FIRST, LAST = 3, 9
"""Places among ten flips: of one of the first, and of one of those that are held back."""


def study(runs: int = 64) -> ModelScreening:
    """Of eight options, with ten runs of flips, the last two of which are held back."""
    choice = choose_followed(space(8), runs, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    return of(choice)


def of(choice: ModelChoice) -> ModelScreening:
    return ModelScreening(StudyId.of("screening", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", space(8), choice)


def logarithm(configuration: Mapping[str, Setting]) -> float:
    return 0.3 * bool(configuration["a"])


def run(made: ModelScreening, off: Off, at_once: int = 10_000) -> Evidence:
    """Noise of 2 % by the task; ``off`` is added to the logarithm."""

    def measure(task: Task) -> dict[str, list[float]]:
        noise = 0.02 * float(generator(3, task.id).standard_normal())
        return {"latency": [math.exp(logarithm(task.configuration) + noise + off(task))]}

    store, engine = MemoryStore(), FakeEngine(measure)
    while ahead := made.plan(store.evidence(made.id)).at_most(at_once):
        for each in engine.run(ahead.tasks):
            store.record(each)
    return store.evidence(made.id)


def flip(place: int, made: ModelScreening | None = None) -> Task:
    """The flip of that place in a study where no run is off."""
    clean = run(made or study(), lambda task: 0.0)
    return [each.task for each in clean.runs if is_flip(each.task)][place]


def stages(evidence: Evidence) -> list[str]:
    return [each.task.stage for each in evidence.runs if each.task.stage != "design"]


def flips_of_a(found: ScreeningConclusion) -> FlipEvidence:
    (evidence,) = (each.flips for each in found.effects if each.flips is not None)
    return evidence


def test_a_suspect_flip_is_repeated_twice_in_the_place_of_those_held_back_and_its_median_used() -> None:
    made, far = study(), flip(FIRST)
    evidence = run(made, lambda task: EIGHTFOLD if task.id == far.id else 0.0)
    assert stages(evidence) == ["follow-up a"] * 8 + ["again follow-up a"] * 2
    assert {each.task.configuration for each in evidence.runs[-2:]} == {far.configuration}
    found = made.conclude(evidence)
    (suspect,) = found.suspects
    assert (suspect.order, suspect.configuration, suspect.used in suspect.fresh) == (
        len(made.tasks) + FIRST,
        far.configuration,
        True,
    )
    assert (flips_of_a(found).flips, flips_of_a(found).verdict, found.robust) == (4, FlipVerdict.CONFIRMED, None)
    assert found.points[suspect.order].value == suspect.used
    assert (found.done, found.failed) == (62, 0)
    assert dict(found.all_runs.purposes) == {"of the design": 54, "of flips": 8, "repeats of suspect runs": 2}
    assert run_summary(found).startswith(
        "64 done, 0 failed (54 of the design, 8 of flips, 2 repeats of suspect runs), "
    )
    assert run_summary(found).endswith(" in all; 62 values in the analysis")


def test_without_a_suspect_flip_those_held_back_are_made() -> None:
    evidence = run(study(), lambda task: 0.0)
    assert stages(evidence) == ["follow-up a"] * 10
    assert flips_of_a(study().conclude(evidence)).flips == 5


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_campaign_that_is_interrupted_makes_the_same_runs(at_once: int) -> None:
    made, far = study(), flip(FIRST)

    def off(task: Task) -> float:
        return EIGHTFOLD if task.id == far.id else 0.0

    whole, parts = run(made, off), run(made, off, at_once)
    assert [each.task.id for each in parts.runs] == [each.task.id for each in whole.runs]
    assert made.conclude(parts) == made.conclude(whole)


def test_a_flip_whose_fresh_values_agree_with_it_stands() -> None:
    made, far = study(), flip(FIRST)
    evidence = run(made, lambda task: EIGHTFOLD if task.configuration == far.configuration else 0.0)
    found = made.conclude(evidence)
    (suspect,) = found.suspects
    assert suspect.used == pytest.approx(suspect.value, rel=0.1)
    assert found.robust is None
    assert flips_of_a(found).verdict is not FlipVerdict.CONFIRMED


def test_a_flip_that_is_not_repeated_is_shown_with_a_robust_fit_beside() -> None:
    """Runs that repeat others would not have served: it is among the flips that are held back."""
    made = of(replace(study().choice, again=0))
    far = flip(LAST, made)
    found = made.conclude(run(made, lambda task: EIGHTFOLD if task.id == far.id else 0.0))
    (suspect,) = found.suspects
    assert (suspect.configuration, suspect.used) == (far.configuration, None)
    assert found.robust is not None
    assert "a" in found.robust.shown
    table = suspects_table(found)
    assert table is not None
    assert table.rows[0][0] == len(made.tasks) + LAST + 1
    assert not any("to repeat" in warning for warning in found.warnings)


def test_suspect_flips_are_looked_for_among_the_first_also_once_others_are_made() -> None:
    evidence = run(study(), lambda task: 0.0)
    followed = FollowUp(study().id, BENCHMARK, LATENCY, "1", space(8), 10, held_back=2)
    first = [each.task.id for each in evidence.runs if is_flip(each.task)][:8]
    claim = Claim("a", (False, True), EffectContrast(0.3, 0.01, 0.02), 0.01)
    for made in (Evidence(evidence.runs[:-2]), Evidence(evidence.runs[:-1]), evidence):
        assert followed.looked_at(made, lambda _: (claim,)) == frozenset(first)


def test_of_many_flips_several_may_be_repeated() -> None:
    chosen = choose_followed(space(12), 200, generator(1, "design"))
    assert isinstance(chosen, ModelChoice)
    assert (chosen.follow_up, chosen.flips_held_back) == (40, 6)


def test_a_choice_keeps_how_many_flips_are_held_back_and_one_from_before_holds_back_none() -> None:
    choice = study().choice
    assert (choice.follow_up, choice.flips_held_back) == (10, 2)
    assert read_choice(choice.to_json()) == choice
    fields = json.loads(choice.to_json())
    del fields["flips_held_back"]
    before = read_choice(json.dumps(fields))
    assert isinstance(before, ModelChoice)
    assert before == replace(choice, flips_held_back=0)
    far = flip(FIRST, of(before))
    evidence = run(of(before), lambda task: EIGHTFOLD if task.id == far.id else 0.0)
    assert stages(evidence) == ["follow-up a"] * 10
    with pytest.raises(InputError, match="12 of 10 runs of flips cannot be held back"):
        replace(choice, flips_held_back=12)


def test_a_choice_without_flips_that_are_held_back_is_stored_as_before() -> None:
    text = choose_optimal(space(8), 40, generator(1, "design")).to_json()
    assert "flips_held_back" not in text
    assert "held_back" in json.loads(text)
