"""The validation study: what it plans, what it concludes, and that it is a function of its evidence."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, signs, space

from hati.campaign import campaign
from hati.core import Budget, Evidence, InputError, StudyId, Task, generator, replace
from hati.design import by_runs, configurations
from hati.design.optimal_designs import confounded
from hati.space import Option, Space, parse_formula
from hati.studies.screening import EffectScale
from hati.studies.validation import Result, Screened, Validation, ValidationConclusion, ValidationOutcome, screened_runs
from hati.studies.validation.document import validation_answer
from hati.testing import FakeEngine, MemoryStore

PLACE = space(14)
EFFECTS = {"a": 0.3, "b": 0.2, "c": -0.3, "ab": 0.2}
NOISE = 0.03


def log_latency(settings: dict[str, int], effects: dict[str, float]) -> float:
    return sum(size / 2 * math.prod(settings[letter] for letter in word) for word, size in effects.items())


def screened(effects: dict[str, float], important: tuple[tuple[str, ...], ...], place: Space = PLACE) -> Screened:
    design = by_runs(place.names, 32)
    chosen = configurations(design, place)
    rng = np.random.default_rng(4)
    logs = [
        log_latency({n: 1 if s else -1 for n, s in c.items()}, effects) + NOISE * float(rng.standard_normal())
        for c in chosen
    ]
    return Screened(
        "screening-1",
        screened_runs(chosen, 0.002 * np.exp(logs), np.zeros(32, dtype=np.intp), place, EffectScale.LOG),
        EffectScale.LOG,
        important,
        tuple(() for _ in important),
        relevant=math.log1p(0.01),
        typical=0.002,
    )


def alias_of(effect: tuple[str, str]) -> tuple[str, ...]:
    """Another pair that shares its estimate in the screening's design."""
    names, pairs = PLACE.names, list(combinations(range(14), 2))
    term = (names.index(effect[0]), names.index(effect[1]))
    runs = screened(EFFECTS, MAINS).runs
    return tuple(names[option] for option in confounded(runs.levels, [2] * 14, term, pairs)[0])


def validation(start: Screened, **others: object) -> Validation:
    study = StudyId.of("validation", {"screening": start.study}, 1, "fake")
    return Validation(study, "simulated", BENCHMARK, LATENCY, "1", PLACE, start, **others)  # type: ignore[arg-type]  # keywords of several types


def measure(effects: dict[str, float], shift: float = 0.2, deviation: float = NOISE, seed: int = 3):
    def value(task: Task) -> dict[str, list[float]]:
        noise = deviation * float(generator(seed, task.id).standard_normal())
        return {"latency": [0.002 * math.exp(log_latency(signs(task), effects) + shift + noise)]}

    return value


def concluded(study: Validation, effects: dict[str, float], shift: float = 0.2) -> ValidationConclusion:
    return campaign(study, FakeEngine(measure(effects, shift)), MemoryStore(), Budget(runs=study.budget))


MAINS = (("a",), ("b",), ("c",))


def test_the_interaction_is_told_from_its_aliases_in_spite_of_a_shift() -> None:
    study = validation(screened(EFFECTS, (*MAINS, ("a", "b"))))
    before = study.conclude(Evidence())
    assert before.outcome is ValidationOutcome.UNDECIDED
    assert len(before.models) > 1
    assert before.runs_needed is None
    assert validation_answer(before).endswith(
        "; how many runs would decide is not known, "
        "because each follow-up is chosen for the models that the runs before it leave"
    )
    found = concluded(study, EFFECTS)
    assert found.outcome is ValidationOutcome.DECIDED
    assert "would decide" not in validation_answer(found)
    assert {effect.options for effect in found.effects} == {*MAINS, ("a", "b")}
    assert found.done <= 16
    assert {a.result for a in found.assumptions} == {Result.CONFIRMED, Result.NOT_REFUTED, Result.ASSUMED}
    sizes = {effect.options: effect.contrast for effect in found.effects}
    assert sizes["a",] == pytest.approx(0.3, abs=0.03)
    assert sizes["c",] == pytest.approx(-0.3, abs=0.03)


def test_a_screening_that_named_the_wrong_alias_is_refuted() -> None:
    effects = {"a": 0.3, "b": 0.2, "c": -0.3, "bc": 0.2}
    named = alias_of(("b", "c"))
    study = validation(screened(effects, (*MAINS, named)))
    found = concluded(study, effects)
    assert found.outcome is ValidationOutcome.DECIDED
    refuted = {a.statement: a.detail for a in found.assumptions if a.result is Result.REFUTED}
    assert any(" x ".join(named) in statement and "b x c" in detail for statement, detail in refuted.items())
    assert next(e for e in found.effects if e.options == ("b", "c")).screened is False


def test_an_effect_that_no_rival_replaces_is_not_refuted() -> None:
    """Beside effects a hundred times as large a real one may be in no model: that says nothing against it."""
    effects = {"a": 3.0, "b": 2.0, "c": -3.0, "d": 0.03}
    found = concluded(validation(screened(effects, (*MAINS, ("d",)))), effects)
    of_d = next(a for a in found.assumptions if "that of d," in a.statement)
    assert of_d.result in {Result.CONFIRMED, Result.UNDECIDED}
    assert not any(a.result is Result.REFUTED for a in found.assumptions if "that of" in a.statement)


def test_a_decision_leaves_no_important_effect_in_doubt() -> None:
    effects = {"a": 3.0, "b": 2.0, "c": -3.0}
    study = validation(screened(effects, (*MAINS, ("d",))))
    assert "d in doubt" in study.described
    found = concluded(study, effects)
    assert len(found.models) == 1
    assert (found.outcome, found.in_doubt) == (ValidationOutcome.UNDECIDED, (("d",),))
    assert "d was important in the screening, and is neither in the model nor refuted" in validation_answer(found)


def test_the_budget_is_spent_on_what_is_in_doubt_and_undecided_names_the_runs_that_would_decide() -> None:
    effects = {"a": 3.0, "b": 2.0, "c": -3.0}
    start = replace(screened(effects, (*MAINS, ("d",))), relevant=math.log1p(0.02))
    study = validation(start, budget=12)
    before = study.conclude(Evidence())
    assert before.runs_needed is not None
    found = concluded(study, effects)
    assert found.done == 12
    assert found.runs_needed is not None
    assert found.runs_needed > 12
    assert validation_answer(found).endswith(f"runs would decide: --budget {found.runs_needed}")
    assert next(a for a in found.assumptions if a.effect == ("d",)).result is Result.UNDECIDED
    coarse = replace(study.screened, relevant=math.log1p(0.05))
    decided = concluded(validation(coarse, budget=24), effects)
    assert next(a for a in decided.assumptions if a.effect == ("d",)).result is Result.REFUTED


def test_a_small_effect_that_is_real_is_confirmed_by_the_new_runs() -> None:
    effects = {"a": 3.0, "b": 2.0, "c": -3.0, "d": 0.05}
    start = screened(effects, (*MAINS, ("d",)))
    assert len(validation(start).conclude(Evidence()).models[0].effects) == 3
    found = concluded(validation(start, budget=16), effects)
    of_d = next(a for a in found.assumptions if a.effect == ("d",))
    assert (found.done, of_d.result) == (16, Result.CONFIRMED)


def test_models_that_differ_in_an_effect_in_doubt_only_are_settled_by_the_new_runs() -> None:
    """All runs leave odds of less than 20 to 1 for the effect, which the new runs show by themselves."""
    effects = {"a": 3.0, "b": 2.0, "c": -3.0, "d": 0.03}
    found = concluded(validation(screened(effects, (*MAINS, ("d",))), budget=32), effects)
    of_d = next(a for a in found.assumptions if a.effect == ("d",))
    assert (found.outcome, of_d.result, found.in_doubt) == (ValidationOutcome.DECIDED, Result.CONFIRMED, ())
    assert [set(model.effects) for model in found.models] == [{*MAINS, ("d",)}]
    assert "by 32 new runs, p = " in of_d.detail
    assert "; new runs decide about d;" in found.assumptions[0].detail


def test_an_option_that_the_new_runs_confirm_is_not_assumed_to_have_no_effect() -> None:
    effects = {"a": 3.0, "b": 2.0, "c": -3.0, "d": 0.05}
    found = concluded(validation(screened(effects, (*MAINS, ("d",))), budget=16), effects)
    assert next(a for a in found.assumptions if a.effect == ("d",)).result is Result.CONFIRMED
    assert not any("kept their default" in a.detail for a in found.assumptions), "all options were varied"


def test_of_a_constant_metric_no_smallest_effect_is_spoken_of() -> None:
    start = screened({}, ())
    same = replace(start, runs=replace(start.runs, values=np.zeros(len(start.runs))))
    study = validation(same)
    assert "leave one model" in study.described
    assert "no run is needed" in study.described
    found = study.conclude(Evidence())
    assert (found.outcome, found.models[0].effects) == (ValidationOutcome.UNDECIDED, ())
    assert validation_answer(found).endswith(
        "of no effect, but small effects could have been missed; how many runs would decide is not known, "
        "because any number of runs can miss effects that are small enough"
    )
    assert "no larger" not in found.assumptions[0].detail


def test_that_aliases_may_cancel_is_still_assumed() -> None:
    found = validation(screened(EFFECTS, MAINS)).conclude(Evidence())
    assert any(a.result is Result.ASSUMED and "cancel" in a.statement for a in found.assumptions)


def test_without_a_rival_nothing_is_measured() -> None:
    mains = {name: size for name, size in EFFECTS.items() if len(name) == 1}
    study = validation(screened(mains, MAINS))
    assert not study.plan(Evidence())
    found = study.conclude(Evidence())
    assert (found.outcome, found.done) == (ValidationOutcome.DECIDED, 0)


def test_a_budget_that_is_too_small_ends_undecided() -> None:
    effects = EFFECTS | {"bc": 0.2}
    study = validation(screened(effects, (*MAINS, ("a", "b"))), budget=2)
    found = concluded(study, effects)
    assert found.done <= 2
    assert found.outcome is ValidationOutcome.UNDECIDED
    assert any(a.result is Result.UNDECIDED for a in found.assumptions)


def test_the_plan_is_a_function_of_the_evidence() -> None:
    start = screened(EFFECTS, MAINS)
    study, again = validation(start), validation(start)
    plan = study.plan(Evidence())
    assert [task.id for task in plan.tasks] == [task.id for task in again.plan(Evidence()).tasks]
    assert len({task.id for task in plan.tasks}) == len(plan) >= 4
    runs = tuple(FakeEngine(measure(EFFECTS)).run(plan.tasks))
    part = Evidence(runs[:2])
    assert [task.id for task in again.plan(part).tasks] == [task.id for task in plan.tasks][2:]


def test_failed_runs_end_a_hopeless_validation_and_are_told() -> None:
    study = validation(screened(EFFECTS, MAINS))
    found = campaign(study, FakeEngine(lambda _: "no such file"), MemoryStore(), Budget(runs=16))
    assert found.done == 0
    assert found.failed == len(study.plan(Evidence())) <= 5
    assert found.failures == (f"no such file ({found.failed} runs)",)
    assert found.outcome is ValidationOutcome.UNDECIDED


def test_what_a_table_has_once_is_not_asked_for_again() -> None:
    start = screened(EFFECTS, MAINS)
    study = validation(start, repeats=1)
    known = {row.tobytes() for row in start.runs.levels}
    chosen = [task.configuration for task in study.plan(Evidence()).tasks]
    assert len(set(chosen)) == len(chosen)
    assert not known.intersection(row.tobytes() for row in study.levels(tuple(chosen)))


def test_other_options_keep_their_default_where_nothing_constrains_them() -> None:
    study = validation(screened(EFFECTS, MAINS))
    left = {name for model in study.conclude(Evidence()).models for effect in model.effects for name in effect}
    for task in study.plan(Evidence()).tasks:
        assert all(task.configuration[name] is False for name in PLACE.names if name not in left)


def test_a_constrained_space_gets_valid_follow_ups() -> None:
    place = Space(
        tuple(Option(name, (False, True), default=False) for name in PLACE.names), (parse_formula("not (m and n)"),)
    )
    start = screened(EFFECTS, MAINS)
    study = Validation(StudyId.of("validation", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", place, start)
    plan = study.plan(Evidence())
    assert plan
    assert all(place.valid(task.configuration) for task in plan.tasks)


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"order": 0}, {"order": 7}, {"bound": 1.0}])
def test_what_cannot_be_asked_is_an_error(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        validation(screened(EFFECTS, MAINS), **wrong)


def test_a_value_without_a_logarithm_is_an_error_with_a_reason() -> None:
    study = validation(screened(EFFECTS, MAINS))
    with pytest.raises(InputError, match="above zero"):
        campaign(study, FakeEngine(lambda _: {"latency": [-1.0]}), MemoryStore(), Budget(runs=16))
