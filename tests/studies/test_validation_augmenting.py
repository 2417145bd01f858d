"""De-aliasing and checking by augmentation: what is estimated, what is said of the cost, what is found."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY
from test_validation_study import EFFECTS, MAINS, PLACE, alias_of, measure, screened

from hati.campaign import campaign
from hati.core import Budget, Evidence, InputError, Setting, StudyId, Task, generator, replace
from hati.document import publish
from hati.render import to_plain
from hati.space import Option, Space, count, enumerate_configurations, parse_formula
from hati.studies.screening import EffectScale
from hati.studies.validation import (
    Augmenting,
    Mode,
    Result,
    Screened,
    ValidationConclusion,
    ValidationOutcome,
    screened_runs,
)
from hati.studies.validation.document import ValidationJson, validation_answer, validation_tables
from hati.studies.validation.screened import Runs
from hati.testing import FakeEngine, MemoryStore


def augmenting(start: Screened, mode: Mode, suspects: tuple[str, ...] = (), **others: int) -> Augmenting:
    study = StudyId.of("validation", {"mode": mode.value}, 1, "fake")
    return Augmenting(study, "simulated", BENCHMARK, LATENCY, "1", PLACE, start, mode=mode, suspects=suspects, **others)


def concluded(study: Augmenting, effects: dict[str, float]) -> ValidationConclusion:
    return campaign(study, FakeEngine(measure(effects)), MemoryStore(), Budget(runs=study.budget))


def test_important_effects_are_told_from_their_aliases() -> None:
    study = augmenting(screened(EFFECTS, (*MAINS, ("a", "b"))), Mode.DEALIAS, order=2, budget=16)
    before = study.conclude(Evidence())
    assert before.outcome is ValidationOutcome.UNDECIDED
    found = concluded(study, EFFECTS)
    assert (found.outcome, found.done) == (ValidationOutcome.DECIDED, 16)
    assert {e.options for e in found.effects if e.important} == {*MAINS, ("a", "b")}
    assert {a.result for a in found.assumptions} == {Result.CONFIRMED, Result.NOT_REFUTED, Result.ASSUMED}


def test_an_alias_that_was_meant_is_found() -> None:
    effects = {"a": 0.3, "b": 0.2, "c": -0.3, "bc": 0.2}
    named = alias_of(("b", "c"))
    study = augmenting(screened(effects, (*MAINS, named, ("b", "c"))), Mode.DEALIAS, order=2, budget=24)
    found = concluded(study, effects)
    assert any(a.result is Result.REFUTED and " x ".join(named) in a.statement for a in found.assumptions)
    assert {e.options for e in found.effects if e.important} == {*MAINS, ("b", "c")}


def test_all_effects_of_second_order_are_checked() -> None:
    effects = EFFECTS | {"de": 0.25}
    study = augmenting(screened(effects, MAINS), Mode.CHECK, order=2, budget=96)
    found = concluded(study, effects)
    assert {e.options for e in found.effects if e.important} == {*MAINS, ("a", "b"), ("d", "e")}
    assert any(a.result is Result.REFUTED and "d x e" in a.detail for a in found.assumptions)


def test_effects_are_ranked_by_what_each_explains_beside_all_others() -> None:
    """Type III: by how much the residual sum of squares grows where a term's columns are left out."""
    study = augmenting(screened(EFFECTS, (*MAINS, ("a", "b"))), Mode.DEALIAS, order=2, budget=16)
    store = MemoryStore()
    found = campaign(study, FakeEngine(measure(EFFECTS)), store, Budget(runs=study.budget))
    runs = study.screened.runs.followed_by(study.measured(store.evidence(study.id)))
    columns = study.terms.known.columns(runs.levels)

    def residual(without: object) -> float:
        kept = [own for term, own in columns.items() if term != without]
        matrix = np.hstack([runs.nuisance, *kept])
        fitted = matrix @ np.linalg.lstsq(matrix, runs.values, rcond=None)[0]
        return float(np.sum((runs.values - fitted) ** 2))

    squares = {effect.options: effect.sum_of_squares for effect in found.effects}
    for term in study.terms.terms:
        assert squares[study.named(term)] == pytest.approx(residual(term) - residual(None), rel=1e-6, abs=1e-12)
    [table] = validation_tables(found)
    assert {row[0] for row in table.rows[:4]} == {"a", "b", "c", "a x b"}


def test_the_aliases_of_important_effects_are_named() -> None:
    named = alias_of(("b", "c"))
    study = augmenting(screened(EFFECTS, (*MAINS, ("b", "c"))), Mode.DEALIAS, order=2, budget=24)
    found = concluded(study, EFFECTS)
    [effect] = [effect for effect in found.effects if effect.options == ("b", "c")]
    assert named in effect.aliases
    assert " x ".join(named) in str(validation_tables(found)[-1].rows)
    [entry] = [each for each in to_plain(publish(found, ValidationJson))["effects"] if each["options"] == ["b", "c"]]
    assert list(named) in entry["aliases"]
    assert entry["sum_of_squares"] == effect.sum_of_squares


def test_effects_of_suspects_alone_take_fewer_runs() -> None:
    effects = EFFECTS | {"de": 0.25}
    start = screened(effects, MAINS)
    whole = augmenting(start, Mode.CHECK, order=2, budget=96)
    study = augmenting(start, Mode.CHECK, order=2, budget=24, suspects=("d", "e"))
    assert set(map(study.named, study.terms.terms)) == {*MAINS, ("d",), ("e",), ("d", "e")}
    assert study.terms.needed < whole.terms.needed
    found = concluded(study, effects)
    assert ("d", "e") in {e.options for e in found.effects if e.important}
    told = [a.statement for a in found.assumptions]
    assert "no other effect up to order 2 is active among effects of d, e alone" in told
    assert "all other effects are negligible" in told


def test_what_a_budget_does_not_suffice_for_is_said_with_its_cost() -> None:
    study = augmenting(screened(EFFECTS, MAINS), Mode.DEALIAS, order=5, budget=40)
    assert study.terms.wanted_needed > 100
    assert study.terms.order < 5
    found = concluded(study, EFFECTS)
    assert any(f"{study.terms.wanted_needed:,}" in text for text in found.warnings)
    assert study.terms.needed <= 40


@pytest.mark.parametrize(("order", "more"), [(1, 0), (2, 1), (3, 2)])
def test_a_run_more_is_needed_for_each_trend_that_the_screening_does_not_tell(order: int, more: int) -> None:
    """That of the new runs; that of the screening where effects of three options leave none of its runs."""
    start = screened(EFFECTS, MAINS)
    runs, places = start.runs, np.random.default_rng(1).permutation(len(start.runs)).astype(np.float64)
    timed = replace(start, runs=Runs.together(runs.levels, runs.values, runs.blocks, order=places))
    plain, beside = (augmenting(each, Mode.CHECK, order=order, budget=600).terms for each in (start, timed))
    assert beside.needed == plain.needed + more


def test_an_important_effect_that_is_not_estimated_leaves_it_undecided_and_is_named() -> None:
    """The budget suffices for main effects only, which the screening's own runs tell apart."""
    study = augmenting(screened(EFFECTS, (*MAINS, ("a", "b"))), Mode.CHECK, order=4, budget=4)
    assert (study.terms.order, len(study.tasks)) == (1, 0)
    found = study.conclude(Evidence())
    assert found.outcome is ValidationOutcome.UNDECIDED
    assert found.in_doubt == (("a", "b"),)
    assert [a.effect for a in found.unsized] == [("a", "b")]
    assert "estimated, by the screening's own runs" in found.warnings[0]
    assert "a x b in doubt" in validation_answer(found)
    assert ("a x b", "undecided") in {(row[0], row[3]) for row in validation_tables(found)[0].rows}
    assert to_plain(publish(found, ValidationJson))["not_estimated"] == [["a", "b"]]


@pytest.mark.acceptance
@pytest.mark.parametrize(("mode", "budget"), [(Mode.DEALIAS, 24), (Mode.CHECK, 24), (Mode.CHECK, 96)])
def test_what_is_undecided_names_the_runs_that_would_decide(mode: Mode, budget: int) -> None:
    """The screening called an effect of 2 % important; noise is 5 %.

    No number is named where the estimate lies close to what matters: no number of runs would decide it.
    """
    effects = {"a": 0.3, "b": 0.2, "c": 0.01}
    start = screened(effects, (*MAINS, ("a", "b")))
    study = augmenting(start, mode, order=2, budget=budget)
    allowed = Budget(runs=study.budget)
    found = [
        campaign(study, FakeEngine(measure(effects, deviation=0.05, seed=seed)), MemoryStore(), allowed)
        for seed in range(1, 9)
    ]
    named = [each for each in found if each.runs_needed is not None]
    assert len(named) >= 3
    for each in named:
        assert each.in_doubt
        assert each.runs_needed is not None
        assert each.runs_needed > study.budget
        assert f"about {each.runs_needed:,} runs would decide: --budget {each.runs_needed}" in validation_answer(each)


@pytest.mark.parametrize("mode", [Mode.DEALIAS, Mode.CHECK])
def test_an_important_effect_that_the_screening_estimates_and_leaves_undecided_gets_the_budget(mode: Mode) -> None:
    effects = {"a": 0.3, "b": 0.2, "c": 0.02}
    study = augmenting(screened(effects, MAINS), mode, order=1 if mode is Mode.CHECK else 2, budget=8)
    assert study.conclude(Evidence()).in_doubt == (("c",),)
    found = concluded(study, effects)
    assert (found.done, found.in_doubt) == (8, (("c",),))
    assert found.runs_needed is not None
    assert found.runs_needed > 8


def test_what_needs_no_run_gets_none() -> None:
    study = augmenting(screened(EFFECTS, MAINS), Mode.DEALIAS, order=2, budget=16)
    assert not study.plan(Evidence())
    assert study.conclude(Evidence()).outcome is ValidationOutcome.DECIDED


def test_what_cannot_be_done_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing important"):
        augmenting(screened(EFFECTS, ()), Mode.DEALIAS)
    with pytest.raises(InputError, match="at least"):
        augmenting(screened(EFFECTS, (("a", "b"),)), Mode.DEALIAS, order=2, budget=1)
    with pytest.raises(InputError):
        augmenting(screened(EFFECTS, MAINS), Mode.DISCRIMINATE)


NESTED = Space(
    (
        Option("a", (False, True), default=False),
        Option("algo", ("x", "y", "z"), default="x", active_if=parse_formula("a")),
        Option("b", (False, True), default=False),
        Option("c", (False, True), default=False),
        Option("size", (1, 2, 3), default=1),
    )
)


def nested_value(settings: Mapping[str, Setting]) -> float:
    return 0.2 * bool(settings["a"]) + 0.1 * (settings.get("algo") == "y") + 0.3 * bool(settings["b"])


def nested_screening(important: tuple[tuple[str, ...], ...]) -> Screened:
    rng = np.random.default_rng(1)
    every = list(enumerate_configurations(NESTED))
    chosen = tuple(every[int(place)] for place in rng.permutation(len(every))[:16])
    values = np.exp([nested_value(c) + 0.002 * rng.standard_normal() for c in chosen])
    runs = screened_runs(chosen, values, np.zeros(16, dtype=np.intp), NESTED, EffectScale.LOG)
    return Screened("screening-1", runs, EffectScale.LOG, important, tuple(() for _ in important), 0.00995, 1.0)


def test_what_a_space_cannot_tell_apart_is_named_and_the_others_are_checked() -> None:
    start = nested_screening((("a",), ("algo",), ("b",), ("a", "algo"), ("c",)))
    study = Augmenting(
        StudyId.of("validation", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", NESTED, start,
        mode=Mode.CHECK, order=2, budget=24, repeats=1.0,
    )  # fmt: skip
    assert study.terms.known.dropped == ((0, 1),)

    def value(task: Task) -> dict[str, list[float]]:
        noise = 0.002 * float(generator(3, task.id).standard_normal())
        return {"latency": [math.exp(nested_value(task.configuration) + noise)]}

    found = campaign(study, FakeEngine(value), MemoryStore(), Budget(runs=24))
    assert found.outcome is ValidationOutcome.DECIDED
    assert {e.options for e in found.effects if e.important} == {("a",), ("algo",), ("b",)}
    assert any("a x algo" in text for text in found.warnings)
    results = {a.statement.split(" is ")[0].removeprefix("the effect of "): a.result for a in found.assumptions}
    assert [results[name] for name in ("a", "algo", "b")] == [Result.CONFIRMED] * 3
    assert results["a x algo"] is Result.ASSUMED
    assert results["c"] is Result.REFUTED


def test_a_table_is_not_asked_for_what_it_has_once() -> None:
    start = nested_screening((("a",),))
    study = Augmenting(
        StudyId.of("validation", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", NESTED, start,
        mode=Mode.CHECK, order=2, budget=100, repeats=1.0,
    )  # fmt: skip
    assert {task.repetition for task in study.tasks} == {0}
    assert len(study.tasks) == count(NESTED) - len({row.tobytes() for row in start.runs.levels})
