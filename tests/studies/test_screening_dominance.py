"""A screening in which one option dominates: the interim look, and the rest of the runs at its better setting."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_subject import BENCHMARK, LATENCY, measure, space

from hati.core import Better, Evidence, Metric, Reader, ReaderKind, Run, StudyId, Task, generator, replace
from hati.design import levels
from hati.render import to_plain
from hati.space import Option, Space, parse_formula
from hati.studies.screening import (
    EffectScale,
    ModelChoice,
    ModelScreening,
    ScreeningConclusion,
    choose_followed,
    is_flip,
    outlook,
    read_choice,
)
from hati.studies.screening.document import screening_tables
from hati.studies.screening.dominance import Dominance, dominance, dominating_effect
from hati.studies.screening.figures import main_effects
from hati.studies.screening.planning.tasks import STAGE
from hati.studies.screening.support import dominating_sentence
from hati.studies.screening.values import screening_json
from hati.testing import FakeEngine, MemoryStore

SPACE = space(10)
RUNS = 64
Truth = Callable[[Task], float]


@cache
def study(place: Space = SPACE) -> ModelScreening:
    choice = choose_followed(place, RUNS, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    return ModelScreening(StudyId.of("screening", {}, 1, "fake"), "s", BENCHMARK, LATENCY, "1", place, choice)


def noisy(truth: Truth, noise: float = 0.02) -> Truth:
    return lambda task: math.exp(truth(task) + noise * float(generator(3, task.id).standard_normal()))


def hiding(task: Task) -> float:
    """Option a takes 25 times as long; b takes 20 % less where a is off."""
    return math.log(25.0) if task.configuration["a"] else math.log(0.8) * float(bool(task.configuration["b"]))


def mild(task: Task) -> float:
    """Option a takes 60 % longer, and b 20 % less."""
    return 0.47 * float(bool(task.configuration["a"])) - 0.22 * float(bool(task.configuration["b"]))


@cache
def made(screened: ModelScreening, truth: Truth = hiding) -> Evidence:
    return measure(screened, noisy(truth))  # type: ignore[arg-type]  # any screening


@cache
def concluded(truth: Truth = hiding) -> ScreeningConclusion:
    return study().conclude(made(study(), truth))


def design_runs(evidence: Evidence) -> tuple[Run, ...]:
    return evidence.stage(STAGE).runs


def test_after_the_look_all_runs_are_at_the_better_setting() -> None:
    screened = study()
    evidence = made(screened)
    look = screened.choice.look
    assert look == 16
    assert {run.task.configuration["a"] for run in design_runs(evidence)[:look]} == {False, True}
    later = [run for run in evidence.runs if run not in design_runs(evidence)[:look]]
    assert later
    assert {run.task.configuration["a"] for run in later} == {False}
    assert any(is_flip(run.task) for run in later)
    assert len(evidence.runs) == RUNS


def test_a_design_for_an_effect_to_find_replaces_the_runs_at_the_worse_setting() -> None:
    """It has as many runs at the better setting as it would have had in all, if the budget has them."""
    whole = replace(study().choice, limit=RUNS + 30)
    evidence = measure(replace(study(), choice=whole), noisy(hiding))
    at_worse = sum(bool(run.task.configuration["a"]) for run in evidence.runs)
    assert 4 <= at_worse <= 12
    assert len(evidence.runs) == RUNS + at_worse
    assert sum(is_flip(run.task) for run in evidence.runs) == whole.follow_up
    few = measure(replace(study(), choice=replace(whole, limit=RUNS + 2)), noisy(hiding))
    assert len(few.runs) == RUNS + 2
    without = replace(study(), choice=replace(whole, look=0))
    assert len(measure(replace(study(), choice=whole), noisy(mild)).runs) == len(measure(without, noisy(mild)).runs)


def test_no_runs_are_set_aside_where_the_rest_measures_its_whole_space() -> None:
    choice = choose_followed(space(6), 55, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    assert choice.follow_up
    evidence = measure(replace(study(), space=space(6), choice=choice), noisy(hiding))
    rest = [run for run in evidence.runs if not run.task.configuration["a"]]
    assert len({run.task.configuration for run in rest}) == 2**5
    assert not any(is_flip(run.task) for run in rest)


def test_a_follow_up_for_which_the_rest_is_too_small_is_not_asked_for_again() -> None:
    """A larger budget than 40 runs was given, and had runs set aside."""
    choice = choose_followed(space(8), 48, generator(1, "design"))
    assert isinstance(choice, ModelChoice)
    assert choice.follow_up
    screened = replace(study(), space=space(8), choice=choice)
    evidence = measure(screened, noisy(hiding))
    narrowed = screened.narrowed(evidence)
    assert narrowed is not None
    assert narrowed.choice.follow_up == 0
    found = screened.conclude(evidence)
    assert "b" in found.important
    assert not any("set aside" in warning for warning in found.warnings)
    without = replace(screened, choice=replace(choice, follow_up=0, flips_held_back=0))
    assert any("set aside" in warning for warning in without.conclude(evidence).warnings)


def test_on_the_raw_scale_the_dominating_effect_is_a_fraction_of_the_mean_at_its_first_setting() -> None:
    first = study().measured(Evidence(design_runs(made(study()))[:15]))
    assert {run.task.configuration["a"] for run in first.runs} == {False, True}
    raw = replace(concluded(), scale=EffectScale.RAW)
    effect = dominating_effect(Dominance("a", setting=False, share=0.99), SPACE, first, raw)
    at = [run.task.configuration["a"] for run in first.runs]
    mean = first.values[[not each for each in at]].mean()
    assert effect.relative == pytest.approx(effect.estimate / mean)
    assert effect.relative_interval is not None
    assert effect.relative_interval[0] < effect.relative < effect.relative_interval[1]


def test_effects_of_the_others_are_those_at_the_better_setting() -> None:
    found = concluded()
    effects = {effect.options: effect for effect in found.effects if effect.important}
    assert set(effects) == {("a",), ("b",)}
    assert found.important == found.ranking[:2] == ("a", "b")
    assert effects[("b",)].relative == pytest.approx(-0.2, abs=0.02)
    interval = effects[("a",)].relative_interval
    assert interval is not None
    assert 20.0 < interval[0] < 25.0 / math.sqrt(0.8) - 1.0 < interval[1] < 40.0
    assert set(found.ranking) == set(SPACE.names)
    assert (found.done, found.configurations, found.template) == (RUNS, 1024, ())


def test_the_answer_says_from_where_on_and_what_was_not_tested() -> None:
    found = concluded()
    assert found.dominating is not None
    assert found.dominating.narrowed is not None
    said = dominating_sentence(found) or ""
    assert said.startswith("From run 17 on, all runs were made at a=false: a explains ")
    others = found.dominating.narrowed.others
    assert f"at a=true they were not tested, in {others} runs only." in said
    assert said.endswith("`hati screen --metric latency --set a=true --budget 64`.")
    notes = " ".join(screening_tables(found).effects.notes)
    assert "All effects but that of a are those at a=false" in notes
    assert "the share of a is that of the first 16 runs" in notes
    published = to_plain(screening_json(found))
    assert published["dominating"]["narrowed"] == {"setting": False, "runs": 16, "others": others}  # type: ignore[index, call-overload]  # JSON


def test_an_effect_at_the_worse_setting_alone_is_not_denied() -> None:
    def truth(task: Task) -> float:
        slow, b = (float(bool(task.configuration[name])) for name in "ab")
        return slow * (math.log(25.0) - 0.2 * b)

    found = study().conclude(made(study(), truth))
    assert found.important == ("a",)
    assert "at a=true they were not tested" in (dominating_sentence(found) or "")


def test_charts_show_the_others_at_the_better_setting() -> None:
    figure = main_effects(concluded())
    assert "a" not in [each.option for each in figure.options]
    (b,) = (each for each in figure.options if each.option == "b")
    assert [at.mean for at in b.settings] == pytest.approx([1.0, 0.8], rel=0.05)


@pytest.mark.acceptance
@pytest.mark.parametrize("at_once", [1, 3, 7])
@pytest.mark.parametrize("truth", [hiding, mild])
def test_a_campaign_that_is_interrupted_makes_the_same_runs(truth: Truth, at_once: int) -> None:
    screened, store = study(), MemoryStore()
    value = noisy(truth)
    while ahead := study().plan(store.evidence(screened.id)).at_most(at_once):
        for run in FakeEngine(lambda task: {"latency": [value(task)]}).run(ahead.tasks):
            store.record(run)
    evidence = store.evidence(screened.id)
    assert [run.task.id for run in evidence.runs] == [run.task.id for run in made(screened, truth).runs]
    assert study().conclude(evidence) == concluded(truth)


def test_where_no_option_dominates_runs_and_verdicts_are_those_without_a_look() -> None:
    screened = study()
    without = replace(screened, choice=replace(screened.choice, look=0))
    evidence = made(screened, mild)
    assert [run.task.id for run in evidence.runs] == [run.task.id for run in made(without, mild).runs]
    assert screened.narrowed(evidence) is None
    assert screened.due(evidence) == without.due(evidence)
    assert to_plain(screening_json(screened.conclude(evidence))) == to_plain(screening_json(without.conclude(evidence)))


def test_another_metric_that_nothing_dominates_is_concluded_from_all_runs() -> None:
    memory = Metric("memory", "s")
    both = replace(BENCHMARK, metrics=(LATENCY, memory), reader=Reader(ReaderKind.HATI))
    store, screened = MemoryStore(), replace(study(), benchmark=both)
    value = noisy(hiding)

    def measured(task: Task) -> dict[str, list[float]]:
        return {"latency": [value(task)], "memory": [noisy(mild)(task)]}

    while ahead := screened.plan(store.evidence(screened.id)):
        for run in FakeEngine(measured).run(ahead.tasks):
            store.record(run)
    evidence = store.evidence(screened.id)
    other = replace(screened, metric=memory)
    assert other.narrowed(evidence) is None
    found = other.conclude(evidence)
    assert len(found.points) == RUNS
    assert found.important == ("b",)
    assert any("a" in warning and "order of runs" in warning for warning in found.warnings)


def test_runs_at_other_settings_after_the_look_are_not_left_out() -> None:
    """They were planned for another metric; the design is then as it was run."""
    screened = study()
    without = replace(screened, choice=replace(screened.choice, look=0))
    evidence = made(without)
    assert screened.narrowed(evidence) is None
    assert not screened.plan(evidence)
    assert screened.conclude(evidence) == without.conclude(evidence)


def test_a_choice_keeps_when_the_look_is_and_one_from_before_has_none() -> None:
    choice = study().choice
    assert read_choice(choice.to_json()) == choice
    before = replace(choice, look=0).to_json()
    assert "look" not in before
    read = read_choice(before)
    assert isinstance(read, ModelChoice)
    assert read.look == 0


@pytest.mark.parametrize(("options", "runs"), [(10, 30), (5, 64)])
def test_small_designs_and_whole_spaces_have_no_look(options: int, runs: int) -> None:
    choice = choose_followed(space(options), runs, generator(1, "design"))
    assert getattr(choice, "look", 0) == 0


def test_options_that_are_inactive_at_the_better_setting_are_ranked_last() -> None:
    names = list(SPACE.names)
    conditional = Option("depth", (1, 2, 3), default=1, active_if=parse_formula("a == true"))
    place = Space((*SPACE.options, conditional))
    screened = study(place)
    found = screened.conclude(made(screened))
    assert found.dominating is not None
    assert found.dominating.narrowed is not None
    assert found.ranking[-1] == "depth"
    assert ("depth",) not in [effect.options for effect in found.effects]
    assert {option.name for option in found.options} == {*names, "depth"}


def test_the_outlook_after_the_look_is_that_of_the_rest() -> None:
    screened = study()
    runs = design_runs(made(screened))
    found = outlook(screened, runs)
    assert found is not None
    assert found.detectable < 0.1


def rows(columns: int, runs: int = 16) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    found = np.random.default_rng(1).integers(0, 2, (runs, columns)).astype(np.int16)
    found[:, 0] = np.arange(runs) % 2
    return found


def values(effect: float, noise: float = 0.05) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.exp(effect * rows(4)[:, 0] + noise * np.random.default_rng(2).standard_normal(16))


@pytest.mark.parametrize(("better", "setting"), [(Better.LOWER, False), (Better.HIGHER, True)])
def test_the_better_setting_is_that_of_the_metric(better: Better, setting: bool) -> None:
    found = dominance(rows(4), values(3.0), space(4), better)
    assert found is not None
    assert (found.option, found.setting) == ("a", setting)
    assert found.share > 0.99


@pytest.mark.parametrize(
    "measured",
    [
        pytest.param(values(0.5, 0.01), id="less than twice"),
        pytest.param(values(3.0, 0.8), id="other variation"),
        pytest.param(values(3.0) - 1.0, id="not positive"),
        pytest.param(np.ones(16), id="constant"),
    ],
)
def test_no_option_dominates(measured: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    assert dominance(rows(4), measured, space(4), Better.LOWER) is None


def test_of_two_options_that_are_always_set_together_none_dominates() -> None:
    tied = rows(4)
    tied[:, 1] = tied[:, 0]
    assert dominance(tied, values(3.0), space(4), Better.LOWER) is None


def test_too_few_runs_at_a_setting_decide_nothing() -> None:
    few = rows(4)
    few[:, 0] = 0
    few[:2, 0] = 1
    assert dominance(few, np.exp(3.0 * few[:, 0]) * values(0.0), space(4), Better.LOWER) is None


@pytest.mark.parametrize(("second", "dominates"), [(1.0, True), (0.0, False)])
def test_the_best_of_several_settings_must_be_decided(second: float, dominates: bool) -> None:
    place = Space((Option("level", (1, 2, 3), default=1), *space(3).options))
    settings = rows(4, 18)
    settings[:, 0] = np.arange(18) % 3
    noise = 0.05 * np.random.default_rng(2).standard_normal(18)
    measured = np.exp(np.array([0.0, second, 4.0])[settings[:, 0]] + noise)
    found = dominance(settings, measured, place, Better.LOWER)
    assert (found is not None) == dominates


@given(st.integers(0, 2**32 - 1))
def test_which_run_at_a_setting_has_which_value_does_not_matter(seed: int) -> None:
    """So tests that permute the values at one setting are exact after the look."""
    screened = study()
    evidence = made(screened)
    runs = design_runs(evidence)[: screened.choice.look]
    settings = levels([run.task.configuration for run in runs], SPACE)
    measured = np.array([run.observations[0].mean for run in runs])
    rng, permuted = np.random.default_rng(seed), measured.copy()
    for setting in (0, 1):
        there = np.flatnonzero(settings[:, 0] == setting)
        permuted[there] = measured[rng.permutation(there)]
    found, other = (dominance(settings, each, SPACE, Better.LOWER) for each in (measured, permuted))
    assert isinstance(found, Dominance)
    assert isinstance(other, Dominance)
    assert (other.option, other.setting) == (found.option, found.setting)
    assert other.share == pytest.approx(found.share)
