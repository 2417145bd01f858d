"""Confirming a screening by a model: what is run, what is concluded, and how often it errs.

Simulated studies of a nested and a multi-level space, noise of 2 %, 16 follow-up runs, a shift of 5 % between screening
and follow-up. Thresholds, as far as the 99 % binomial bound can tell: true effects refuted in at most 5 %, predictions
wrongly doubted in at most 5 %. A three-factor interaction of 10 % is named in all studies here, and seen in the
predictions where repetitions tell the noise (without them it is in the noise as well).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom
from simulated_subject import BENCHMARK, LATENCY

from hati.campaign import campaign
from hati.core import Budget, Configuration, Evidence, InputError, Setting, StudyId, Task, generator, replace
from hati.design import Model, from_levels, levels
from hati.document.document import Facts, Prose
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.studies.screening import EffectScale, ModelChoice, choose_optimal
from hati.studies.screening.changes import BaseMean, EffectContrast, RelativeChange
from hati.studies.screening.model import analyse_model
from hati.studies.validation import (
    Confirming,
    Mode,
    Result,
    Screened,
    ScreenedSize,
    ValidationConclusion,
    ValidationOutcome,
    screened_runs,
)
from hati.studies.validation.confirmed_effects import confirmed_effects
from hati.studies.validation.document import validation_answer, validation_document, validation_tables
from hati.studies.validation.screened import Runs
from hati.testing import FakeEngine, MemoryStore

NOISE = 0.02


def a_space(nested: str | None) -> Space:
    """Five options of two to four settings; ``algo`` active only under ``a``, or always."""
    flags = tuple(Option(name, (False, True), default=False) for name in "abcd")
    active = None if nested is None else parse_formula(nested)
    algo = Option("algo", ("x", "y", "z", "w"), default="x", active_if=active)
    return Space((*flags, algo, Option("size", (1, 2, 3), default=1)))


SPACES = {"nested": a_space("a"), "multi-level": a_space(None)}


def log_value(settings: Mapping[str, Setting], third: float) -> float:
    """Main effects of a, b, algo; b:c and b:size; ``third`` is the effect of b:c:d."""
    on = {name: bool(settings[name]) for name in "abcd"}
    found = 0.2 * on["a"] + 0.3 * on["b"] + 0.1 * (on["b"] and on["c"])
    found += {"x": 0.0, "y": 0.1, "z": 0.25, "w": 0.0}.get(str(settings.get("algo")), 0.0)
    found += 0.05 * float(str(settings["size"])) * on["b"]
    return found + third / 2 * math.prod(1 if on[name] else -1 for name in "bcd")


TRUE = {("a",), ("b",), ("c",), ("algo",), ("size",), ("b", "c"), ("b", "size")}


@cache
def choice(kind: str, runs: int, repetitions: int) -> ModelChoice:
    return replace(choose_optimal(SPACES[kind], runs, np.random.default_rng(1)), repetitions=repetitions)


def screened(
    kind: str, runs: int, third: float, rng: np.random.Generator, noise: float = NOISE, repetitions: int = 1
) -> Screened:
    place, chosen = SPACES[kind], choice(kind, runs, repetitions)
    every = from_levels(chosen.levels, place) * chosen.repetitions
    blocks = np.repeat(np.arange(chosen.repetitions), chosen.configurations)
    values = np.exp([log_value(c, third) + noise * rng.standard_normal() for c in every])
    model = Model.of_order([len(option.settings) for option in place.options], 2)
    told = analyse_model(model, levels(every, place), values, blocks, rng, alpha=0.05, relevant=0.01)
    scale = told.readable.scale

    def named(term: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(place.names[option] for option in term)

    important = tuple(named(effect.term) for effect in told.effects if effect.important)
    return Screened(
        "screening-1",
        screened_runs(every, values, blocks, place, scale),
        scale,
        important,
        tuple(() for _ in important),
        relevant=told.readable.difference(0.01),
        typical=told.readable.typical,
        predicting=tuple(map(named, told.predicting)),
    )


def confirming(kind: str, start: Screened, seed: int = 1, **others: int) -> Confirming:
    study = StudyId.of("validation", {"mode": "confirm"}, seed, "fake")
    return Confirming(study, "simulated", BENCHMARK, LATENCY, "1", SPACES[kind], start, **others)


def concluded(study: Confirming, third: float, noise: float = NOISE) -> ValidationConclusion:
    def value(task: Task) -> dict[str, list[float]]:
        error = noise * generator(1, task.id).standard_normal()
        return {"latency": [math.exp(log_value(task.configuration, third) + 0.05 + error)]}

    return campaign(study, FakeEngine(value), MemoryStore(), Budget(runs=study.budget))


@dataclass(frozen=True)
class Counts:
    """Of simulated studies: doubted predictions; refuted claims of true effects, and all; those that named b:c:d."""

    studies: int
    doubted: int
    refuted: int
    claims: int
    named: int


def simulated(kind: str, runs: int, third: float, studies: int, repetitions: int = 1) -> Counts:
    doubted = refuted = claims = named = 0
    for seed in range(studies):
        rng = np.random.default_rng(5000 + seed)
        start = screened(kind, runs, third, rng, repetitions=repetitions)
        found = concluded(confirming(kind, start, seed), third)
        assert found.prediction is not None
        assert found.prediction.p_value is not None
        doubted += found.prediction.p_value <= 0.05
        own = [effect for effect in found.effects if effect.result is not None and effect.options in TRUE]
        claims += len(own)
        refuted += sum(effect.result is Result.REFUTED for effect in own)
        named += any(effect.important and effect.options == ("b", "c", "d") for effect in found.effects)
    return Counts(studies, doubted, refuted, claims, named)


@pytest.mark.statistical
@pytest.mark.acceptance
@pytest.mark.parametrize(("kind", "runs"), [("nested", 40), ("multi-level", 44)])
def test_without_other_effects_predictions_hold_and_nothing_true_is_refuted(kind: str, runs: int) -> None:
    found = simulated(kind, runs, 0.0, 14)
    assert found.doubted <= binom.ppf(0.99, found.studies, 0.05)
    assert found.claims >= 4 * found.studies
    assert found.refuted <= binom.ppf(0.99, found.claims, 0.05)


@pytest.mark.statistical
@pytest.mark.acceptance
def test_an_interaction_of_three_is_named_and_with_repetitions_seen_in_the_predictions() -> None:
    found = simulated("nested", 40, 0.1, 6, repetitions=2)
    assert (found.doubted, found.named) == (6, 6)
    assert found.refuted <= binom.ppf(0.99, found.claims, 0.05)


def test_errors_of_a_disturbed_session_do_not_refute_the_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screening's repeats vary little, and the new runs vary twenty times as much."""

    def found() -> tuple[Result, str, str]:
        start = screened("nested", 40, 0.0, np.random.default_rng(3), repetitions=2)
        conclusion = concluded(confirming("nested", start), 0.0, 20.0 * NOISE)
        predicted = conclusion.assumptions[0]
        return predicted.result, predicted.detail, validation_answer(conclusion)

    result, _, answer = found()
    assert result is Result.REFUTED
    assert "the predictions do not hold" in answer
    said = "29 of 40 runs were disturbed by other programs (the first: 3 of 5): a loaded machine"
    monkeypatch.setattr("hati.studies.validation.confirming.load_warning_of", lambda _: said)
    result, detail, answer = found()
    assert result is Result.UNDECIDED
    assert detail.endswith("noisier than the screening: 29 of 40 runs were disturbed by other programs")
    assert "whether the predictions hold is not decided" in answer


def test_the_runs_are_new_valid_and_half_of_them_random() -> None:
    start = screened("nested", 40, 0.0, np.random.default_rng(1))
    study = confirming("nested", start, budget=12)
    random, others = study.chosen.random, study.chosen.others
    assert (len(random), len(others)) == (6, 6)
    every = levels([task.configuration for task in study.tasks], SPACES["nested"])
    assert len({row.tobytes() for row in every} - {row.tobytes() for row in start.runs.levels}) == 12
    assert all(SPACES["nested"].valid(task.configuration) for task in study.tasks)
    assert len(confirming("nested", start, budget=4).chosen.random) == 4


def test_the_plan_is_a_function_of_the_evidence() -> None:
    start = screened("nested", 40, 0.0, np.random.default_rng(1))
    study, again = confirming("nested", start), confirming("nested", start)
    assert [task.id for task in study.tasks] == [task.id for task in again.tasks]
    runs = tuple(FakeEngine(lambda _: {"latency": [1.0]}).run(study.plan(Evidence()).tasks))
    assert len(runs) == 5
    assert [task.id for task in again.plan(Evidence(runs)).tasks] == [task.id for task in study.tasks][5:]


def test_before_a_run_nothing_is_said_of_predictions() -> None:
    found = confirming("nested", screened("nested", 40, 0.0, np.random.default_rng(1))).conclude(Evidence())
    assert (found.mode, found.outcome) == (Mode.CONFIRM, ValidationOutcome.UNDECIDED)
    assert found.prediction is not None
    assert found.prediction.p_value is None
    assert found.assumptions[0].result is Result.UNDECIDED


def test_a_table_without_effects_says_that_none_is_important() -> None:
    found = confirming("nested", screened("nested", 40, 0.0, np.random.default_rng(1))).conclude(Evidence())
    assert not any("No effect" in note for note in validation_tables(found)[-1].notes)
    [table] = validation_tables(replace(found, effects=(), assumptions=()))
    assert (table.rows, table.notes) == ((), ("No effect is important, by the screening or by all runs.",))


def test_what_the_space_cannot_tell_apart_is_named() -> None:
    rng = np.random.default_rng(1)
    found = concluded(confirming("nested", screened("nested", 40, 0.0, rng)), 0.0)
    assert any("a x algo" in a.statement and a.result is Result.ASSUMED for a in found.assumptions)
    assert ("a", "algo") not in {effect.options for effect in found.effects}


def test_an_effect_that_is_nothing_is_refuted_and_one_in_doubt_is_not() -> None:
    """With noise far below what matters the interval of an inert option leaves nothing; with much noise it does."""
    for noise, result in ((1e-4, Result.REFUTED), (0.1, Result.UNDECIDED)):
        rng = np.random.default_rng(2)
        start = screened("multi-level", 44, 0.0, rng, noise)
        claimed = Screened(
            start.study, start.runs, start.scale, (("d",),), ((),), start.relevant, start.typical, start.predicting
        )
        found = concluded(confirming("multi-level", claimed), 0.0, noise)
        assert next(effect for effect in found.effects if effect.options == ("d",)).result is result


def test_runs_that_would_decide_are_no_more_than_there_are_new_configurations() -> None:
    rng = np.random.default_rng(2)
    start = screened("multi-level", 44, 0.0, rng, 0.05)
    claimed = replace(start, important=(("d",),), aliases=((),), sizes=())
    for relevant, possible in ((0.036, True), (0.02, False)):
        study = confirming("multi-level", replace(claimed, relevant=relevant))
        found = concluded(study, 0.0, 0.05)
        assert found.in_doubt == (("d",),)
        assert (found.runs_needed is not None) is possible
        impossible = "more runs cannot decide: about " in (answer := validation_answer(found))
        assert impossible is ("; a larger --relevant needs fewer" in answer) is not possible
        left = study.unmeasured - found.done
        assert impossible is (
            f"each new configuration once, and {left} of {study.unmeasured} are left; a longer" in answer
        )
        assert "table" not in answer
        table = concluded(replace(study, repeats=1), 0.0, 0.05)
        assert impossible is (f"the table has {study.unmeasured} configurations more" in validation_answer(table))


def test_repetitions_of_configurations_that_count_once_change_nothing_about_the_runs_that_would_decide() -> None:
    once = screened("multi-level", 44, 0.0, np.random.default_rng(2), 0.05)
    claimed = replace(once, important=(("d",),), aliases=((),), sizes=(), relevant=0.045)
    levels, values = np.tile(once.runs.levels, (2, 1)), np.tile(once.runs.values, 2)
    twice = replace(claimed, runs=Runs.together(levels, values, np.repeat([0, 1], 44)))
    needed, again = (confirming("multi-level", each).conclude(Evidence()).runs_needed for each in (claimed, twice))
    assert needed is not None
    assert again == needed


def test_an_interaction_has_to_be_more_significant_than_an_option() -> None:
    start = screened("multi-level", 44, 0.0, np.random.default_rng(2), 0.05)
    study = confirming("multi-level", start)
    runs, claims = start.runs.by_configuration(), {(3,): None, (2, 3): None}
    found = confirmed_effects(study.known, study.population, runs, runs, claims, start.limit, np.random.default_rng(1))
    critical = {effect.term: effect.critical for effect in found}
    assert 0.0 < critical[2, 3] < critical[3,] / 10.0


def test_an_effect_of_more_options_than_were_asked_for_is_no_effect_up_to_their_order() -> None:
    """The screening lacks b:c:d, which all runs show; up to order 2 nothing else is active."""
    rng = np.random.default_rng(3)
    whole = screened("multi-level", 110, 0.04, rng, noise=0.005)
    assert ("b", "c", "d") in whole.important
    lacking = [named for named in whole.important if len(named) < 3]
    start = replace(
        whole,
        important=tuple(lacking),
        aliases=tuple(() for _ in lacking),
        sizes=(),
        predicting=tuple(named for named in whole.predicting if len(named) < 3),
    )
    found = concluded(confirming("multi-level", start, order=2), 0.04, noise=0.005)
    assumptions = {a.statement: a for a in found.assumptions}
    larger = assumptions["no effects of more than 2 options are active but the important ones"]
    assert (larger.result, "b x c x d" in larger.detail) == (Result.REFUTED, True)
    assert "b x c x d" not in assumptions["up to order 2, no effects are active but the important ones"].detail


def test_where_everything_was_measured_nothing_is_planned() -> None:
    place = Space(tuple(Option(name, (False, True), default=False) for name in "abc"))
    every = from_levels(np.array(list(np.ndindex(2, 2, 2)), dtype=np.int16), place)
    values = np.array([1.0 + bool(c["a"]) for c in every])
    start = Screened(
        "s", screened_runs(every, values, np.zeros(8, dtype=np.intp), place, EffectScale.RAW), EffectScale.RAW,
        (("a",),), ((),), 0.01, 1.5,
    )  # fmt: skip
    study = Confirming(StudyId.of("validation", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", place, start)
    assert not study.plan(Evidence())
    assert study.conclude(Evidence()).outcome is ValidationOutcome.UNDECIDED


def grid_screening(place: Space, chosen: tuple[Configuration, ...], told: tuple[tuple[str, ...], ...]) -> Screened:
    """Runs of options p and q that matter together, each combination having a mean of its own; noise of 1 %."""
    rng = np.random.default_rng(3)
    values = np.exp([grid_log(c) + 0.01 * rng.standard_normal() for c in chosen])
    runs = screened_runs(chosen, values, np.zeros(len(chosen), dtype=np.intp), place, EffectScale.LOG)
    return Screened("s", runs, EffectScale.LOG, told, tuple(() for _ in told), 0.00995, 1.0, told)


def grid_log(settings: Mapping[str, Setting]) -> float:
    p, q = (int(str(settings[name])) for name in "pq")
    return 0.3 * p + 0.2 * q + math.sin(7.0 * p + 3.0 * q)


def grid(p: int, q: int, flags: str) -> Space:
    several = (Option("p", tuple(range(p)), default=0), Option("q", tuple(range(q)), default=0))
    return Space((*several, *(Option(name, (False, True), default=False) for name in flags)))


def of_grid(place: Space, start: Screened, **others: int) -> Confirming:
    study = StudyId.of("validation", {"mode": "confirm"}, 1, "fake")
    return Confirming(study, "simulated", BENCHMARK, LATENCY, "1", place, start, **others)


def grid_confirmed(study: Confirming) -> ValidationConclusion:
    def value(task: Task) -> dict[str, list[float]]:
        error = 0.01 * generator(1, task.id).standard_normal()
        return {"latency": [math.exp(grid_log(task.configuration) + error)]}

    return campaign(study, FakeEngine(value), MemoryStore(), Budget(runs=study.budget))


PQ = (("p",), ("q",), ("p", "q"))


def test_random_runs_are_of_what_the_model_can_predict_and_the_share_is_said() -> None:
    place = grid(3, 3, "abcd")
    every = tuple(enumerate_configurations(place))
    seen = [c for c in every if int(str(c["p"])) + int(str(c["q"])) < 3]  # six of nine combinations
    chosen = tuple(seen[int(i)] for i in np.random.default_rng(1).permutation(len(seen))[:48])
    study = of_grid(place, grid_screening(place, chosen, PQ))
    assert len(study.chosen.random) == 8
    assert all(int(row[0]) + int(row[1]) < 3 for row in study.chosen.random)
    assert study.chosen.share == pytest.approx((len(seen) - 48) / (len(every) - 48))
    assert "50 % of the valid ones" in study.described
    found = grid_confirmed(study)
    assert found.prediction is not None
    assert (found.prediction.runs, found.prediction.random) == (8, 8)
    assert "50 % of the valid ones" in found.assumptions[0].statement
    assert found.assumptions[0].result is Result.NOT_REFUTED


def test_where_too_little_can_be_predicted_it_is_said_before_any_run() -> None:
    place = grid(3, 3, "abc")
    seen = tuple(c for c in enumerate_configurations(place) if int(str(c["p"])) + int(str(c["q"])) < 3)
    study = of_grid(place, grid_screening(place, seen, PQ))
    assert "can predict fewer than 3" in study.described
    assert len(study.plan(Evidence())) > 0
    before = study.conclude(Evidence())
    assert any("cannot be tested" in text for text in before.warnings)
    assert len(study.tasks) == study.budget


def test_after_a_screening_of_all_configurations_it_is_said_what_helps() -> None:
    place = grid(3, 3, "ab")
    study = of_grid(place, grid_screening(place, tuple(enumerate_configurations(place)), PQ))
    assert study.tasks == ()
    assert study.described == (
        "all configurations were measured: predictions cannot be tested on new ones; "
        "a screening with `--recalibrate` repeats it with fresh runs and reports what changed"
    )
    found = study.conclude(Evidence())
    assert found.warnings == (study.described,)
    assert found.assumptions[0].statement.startswith("the model predicts random configurations as well as")
    assert not any("only 0" in each.detail for each in found.assumptions)
    assert found.needed.impossible == (
        "the screening ran all configurations, and this mode only new ones; --mode check can repeat them"
    )
    table = replace(study, repeats=1).conclude(Evidence())
    assert table.needed.impossible == "the screening ran all configurations of the table; measure the program"
    assert validation_answer(found).startswith("undecided: no predictions were tested; of 3 important effects ")


def test_an_effect_of_which_the_new_runs_hold_little_is_not_confirmed() -> None:
    """Eight runs cannot show an interaction of 20 degrees of freedom, however clear it is in all runs."""
    place = grid(6, 5, "ab")
    every = list(enumerate_configurations(place))
    chosen = tuple(every[int(i)] for i in np.random.default_rng(1).permutation(len(every))[:80])
    found = grid_confirmed(of_grid(place, grid_screening(place, chosen, PQ), budget=8))
    told = {a.effect: a for a in found.assumptions if a.effect}
    assert told["p", "q"].result is Result.UNDECIDED
    assert "of its 20 degrees of freedom" in told["p", "q"].detail
    assert found.in_doubt == (("p", "q"),)
    more = grid_confirmed(of_grid(place, grid_screening(place, chosen, PQ), budget=40))
    assert {a.effect: a.result for a in more.assumptions}["p", "q"] is Result.CONFIRMED


@pytest.mark.parametrize(("margin", "unsure"), [(1.0, False), (None, True)])
def test_an_effect_of_quite_another_size_is_found_but_not_confirmed(margin: float | None, unsure: bool) -> None:
    place = grid(3, 3, "abcd")
    every = list(enumerate_configurations(place))
    chosen = tuple(every[int(i)] for i in np.random.default_rng(1).permutation(len(every))[:64])
    start = grid_screening(place, chosen, PQ)
    sizes = {effect.options: effect.contrast for effect in grid_confirmed(of_grid(place, start)).effects}
    right = tuple(ScreenedSize(sizes[options], margin) for options in PQ)
    same = grid_confirmed(of_grid(place, replace(start, sizes=right)))
    assert {a.result for a in same.assumptions if a.effect} == {Result.CONFIRMED}
    assert all(("no standard error" in a.detail) is unsure for a in same.assumptions if a.effect)
    other = grid_confirmed(
        of_grid(place, replace(start, sizes=(ScreenedSize(63.0 * sizes[PQ[0]], margin), *right[1:])))
    )
    of_p = next(a for a in other.assumptions if a.effect == ("p",))
    assert of_p.result is Result.UNDECIDED
    assert f"shown, but {start.reported(ScreenedSize(63.0 * sizes[PQ[0]], margin))} by the screening" in of_p.detail
    assert f"by all runs {start.sized(EffectContrast(sizes[PQ[0]], None, None))} (" in of_p.detail
    assert ("no standard error" in of_p.detail) is unsure
    assert (of_p.statement, of_p.differs) == (
        "p has a relevant effect, of the sign and size that the screening reported",
        "size",
    )
    assert "1 undecided (p: shown, of another size)" in validation_answer(other)
    [table] = validation_tables(other)
    assert [row[2] for row in table.rows if str(row[0]).startswith("p=")] == ["shown, of another size"]
    assert not any("p-value" in note or "Interval" in note for note in table.notes)
    assumptions, tests = validation_document(other).sections[-2:]
    assert isinstance(assumptions, Facts)
    assert isinstance(tests, Prose)
    assert "p-values of effects are corrected" in tests.sentences[0]
    opposite = grid_confirmed(of_grid(place, replace(start, sizes=(ScreenedSize(-sizes[PQ[0]], margin), *right[1:]))))
    assert next(a.differs for a in opposite.assumptions if a.effect == ("p",)) == "sign"
    assert validation_answer(other).endswith(
        "; how many runs would decide is not known, "
        "because the screening has another size of p, which further runs do not change"
    )


def test_effects_are_changes_in_percent_with_their_interval() -> None:
    start = screened("nested", 40, 0.0, np.random.default_rng(1))
    log, raw = (replace(start, scale=scale, typical=50.0) for scale in (EffectScale.LOG, EffectScale.RAW))
    half = EffectContrast(math.log(0.5), 0.1, math.log(1.25))
    assert log.sized(half) == "-50.0 % (-60.0 to -37.5)"
    assert raw.sized(EffectContrast(-10.0, 2.5, 5.0, BaseMean(40.0))) == "-25.0 % (-37.5 to -12.5)"
    assert raw.sized(EffectContrast(10.0, 2.5, 5.0, BaseMean(4.0, 6.25, -6.25))) == "? % (+55.6 or more)"
    assert raw.sized(EffectContrast(10.0, None, None, BaseMean(0.0))) == "? %"
    assert raw.sized(EffectContrast(1000.0, None, None)) == "+2,000.0 %"
    assert raw.reported(ScreenedSize(-10.0, 5.0, RelativeChange(-0.25, (-0.4, -0.1)))) == "-25.0 % (-40.0 to -10.0)"
    limits = [raw.limit(EffectContrast(size, 2.5, 5.0, BaseMean(40.0))) for size in (10.0, -10.0)]
    assert limits == pytest.approx([raw.relevant / 50.0 * 40.0, raw.relevant / 50.0 * 30.0])
    assert raw.missed(600.0).startswith("one of 1,200 % would")


def test_runs_that_the_screening_has_not_are_warned_of() -> None:
    start = screened("nested", 40, 0.0, np.random.default_rng(1))
    found = confirming("nested", replace(start, planned=44, failed=3, unmade=1)).conclude(Evidence())
    assert found.warnings[0].startswith("3 of 44 planned runs of the screening failed")
    assert found.warnings[1].startswith("1 of 44 planned runs of the screening were never made")
    assert not confirming("nested", start).conclude(Evidence()).warnings


@pytest.mark.parametrize("wrong", [{"budget": 3}, {"order": 0}])
def test_what_cannot_be_asked_is_an_error(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        confirming("nested", screened("nested", 40, 0.0, np.random.default_rng(1)), **wrong)
