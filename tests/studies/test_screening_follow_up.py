"""The follow-up of a screening: runs that are set aside to refute what its design found, and what they say."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from simulated_subject import BENCHMARK, LATENCY, measure, space

from hati.core import Evidence, FloatArray, InputError, Run, Setting, StudyId, Task, generator, replace
from hati.design import Levels, Model, levels
from hati.render import to_plain
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.studies.screening import (
    Choice,
    EffectScale,
    FlipVerdict,
    Isolation,
    ModelChoice,
    ModelScreening,
    ScreeningConclusion,
    choose_followed,
    flipped,
    follow_up,
    is_flip,
    read_choice,
    runs_aside,
)
from hati.studies.screening.model import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.support import follow_up_table
from hati.studies.screening.values import screening_json
from hati.studies.screening.words import answer, noise_summary
from hati.testing import FakeEngine

Truth = Callable[[Mapping[str, Setting], str], float]
"""The logarithm of a configuration's latency in a stage."""


def study(place: Space, runs: int = 64, seed: int = 1) -> ModelScreening:
    choice = choose_followed(place, runs, generator(seed, "design"))
    assert isinstance(choice, ModelChoice)
    return ModelScreening(StudyId.of("screening", {}, seed, "fake"), "s", BENCHMARK, LATENCY, "1", place, choice)


def value(truth: Truth, noise: float = 0.02) -> Callable[[Task], float]:
    def latency(task: Task) -> float:
        jitter = float(generator(3, task.id).standard_normal())
        return math.exp(truth(task.configuration, task.stage) + noise * jitter)

    return latency


def concluded(made: ModelScreening, truth: Truth) -> ScreeningConclusion:
    return made.conclude(measure(made, value(truth)))


def on(configuration: Mapping[str, Setting], name: str) -> float:
    return 1.0 if configuration[name] else 0.0


def strong_and_aliased(configuration: Mapping[str, Setting], stage: str) -> float:
    """Option a acts; b does in the design's rows alone, as an alias of something else would."""
    return 0.5 * on(configuration, "a") + (0.4 * on(configuration, "b") if stage == "design" else 0.0)


def with_interactions(configuration: Mapping[str, Setting], stage: str, size: float = 0.2) -> float:
    """The same with an alias of another size, which interactions of other options leave in doubt."""
    words = ("cdef", "ghi", "dfj", "cgi")
    signs = (math.prod(1 if configuration[name] else -1 for name in word) for word in words)
    aliased = size * on(configuration, "b") if stage == "design" else 0.0
    return 0.5 * on(configuration, "a") + 0.1 * sum(signs) + aliased


@pytest.mark.parametrize(
    ("runs", "parameters", "aside"), [(39, 5, 0), (64, 9, 10), (96, 17, 20), (128, 31, 30), (96, 31, 0), (400, 17, 80)]
)
def test_a_fifth_of_the_budget_is_set_aside_where_that_is_useful_and_the_design_affords_it(
    runs: int, parameters: int, aside: int
) -> None:
    assert runs_aside(runs, parameters) == aside


def test_nothing_is_set_aside_where_all_configurations_are_measured() -> None:
    assert isinstance(choose_followed(space(5), 64, generator(1, "design")), Choice)
    constrained = Space(space(5).options, (parse_formula("a or b"),))
    assert choose_followed(constrained, 64, generator(1, "design")).follow_up == 0


def test_a_choice_keeps_what_is_set_aside_and_one_from_before_has_nothing() -> None:
    choice = study(space(8)).choice
    assert (choice.runs, choice.follow_up) == (54, 10)
    assert read_choice(choice.to_json()) == choice
    before = json.loads(choice.to_json())
    del before["follow_up"], before["flips_held_back"]
    assert read_choice(json.dumps(before)) == replace(choice, follow_up=0, flips_held_back=0)
    with pytest.raises(InputError, match="-1 runs cannot follow up"):
        replace(choice, follow_up=-1)


def test_what_flips_contradict_is_not_shown_and_what_they_show_is_confirmed() -> None:
    found = concluded(study(space(10), 96), with_interactions)
    effects = {effect.options[0]: effect for effect in found.effects if len(effect.options) == 1}
    assert found.important == ("a",)
    assert effects["a"].confirmed
    assert effects["a"].flips is not None
    low, high = effects["a"].flips.interval or (0.0, 0.0)
    assert 0.4 < low < math.expm1(0.5) < high < 0.9
    refuted = effects["b"].flips
    assert refuted is not None
    assert (refuted.verdict, refuted.flips, refuted.ends, effects["b"].important) == (
        FlipVerdict.REFUTED,
        5,
        (False, True),
        False,
    )
    assert refuted.claimed == pytest.approx(math.expm1(0.2), abs=0.1)
    assert (found.follow_up and found.follow_up.planned, found.follow_up and found.follow_up.done) == (20, 20)
    assert (found.done, found.failed, found.suspects) == (96, 0, ())
    assert answer(found).endswith("Flips refute 1 effect of the design's rows: b.")
    table = follow_up_table(found)
    assert table is not None
    rows = {row[0]: row[-1] for row in table.rows}
    assert rows == {"a: false -> true": "confirmed", "b: false -> true": "refuted"}
    said = {tuple(effect["options"]): effect for effect in to_plain(screening_json(found))["effects"]}
    mine, another = said["b",], said["a",]
    assert (mine["verdict"], mine["confirmed"], another["confirmed"]) == ("not shown", False, True)
    assert (mine["evidence"]["design_rows"], mine["evidence"]["flips"], mine["evidence"]["refuted"]) == (76, 5, True)


def test_what_flips_contradict_although_it_is_certain_is_missed() -> None:
    found = concluded(study(space(10), 96), lambda c, stage: with_interactions(c, stage, 0.3))
    assert set(found.important) == {"a", "b"}
    evidence = next(effect.flips for effect in found.effects if effect.options == ("b",))
    assert evidence is not None
    assert (evidence.flips, evidence.verdict) == (5, FlipVerdict.MISSED)
    table = follow_up_table(found)
    assert table is not None
    assert {row[0]: row[-1] for row in table.rows} == {"a: false -> true": "confirmed", "b: false -> true": "missed"}
    assert "it may be absent in most configurations." in " ".join(table.notes)


def test_the_flips_are_pairs_that_differ_in_one_option_and_follow_the_design() -> None:
    made = study(space(10), 96)
    runs = measure(made, value(strong_and_aliased)).runs
    assert not any(is_flip(run.task) for run in runs[:76])
    tasks = [run.task for run in runs[76:]]
    for one, other in zip(tasks[::2], tasks[1::2], strict=True):
        (name,) = (n for n in made.space.names if one.configuration[n] != other.configuration[n])
        assert one.stage == other.stage == f"follow-up {name}"
    assert {task.stage for task in tasks[:4]} == {"follow-up a", "follow-up b"}


def test_each_flip_is_drawn_once_though_each_look_follows_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draw(place: Space, option: str, *others: Any) -> Any:
        drawn.append(option)
        return flipped(place, option, *others)

    monkeypatch.setattr(follow_up, "flipped", draw)
    evidence = measure(study(space(10), 96, seed=97), value(strong_and_aliased))
    flips = sum(is_flip(run.task) for run in evidence.runs)
    assert flips > 10
    assert len(drawn) <= flips // 2 + 1


def test_what_both_runs_of_a_flip_share_is_not_evidence_for_other_options() -> None:
    made = study(space(10), 96)
    rows = made.judged(measure(made, value(strong_and_aliased))).found
    pairs = [f"{run.task.stage} {run.task.repetition}" if is_flip(run.task) else "" for run in rows.runs]
    shared = np.array([0.3 * float(generator(3, pair).standard_normal()) if pair else 0.0 for pair in pairs])
    shifted = replace(rows, values=rows.values * np.exp(shared))
    for one, other in zip(made.analysis(rows).effects, made.analysis(shifted).effects, strict=True):
        assert one.term == other.term
        assert one.decided.estimate == pytest.approx(other.decided.estimate)
        assert one.p_value == pytest.approx(other.p_value)
        assert one.share == pytest.approx(other.share)


@pytest.mark.acceptance
def test_what_both_runs_of_a_flip_share_changes_no_effect_at_a_setting() -> None:
    def truth(configuration: Mapping[str, Setting], _: str) -> float:
        acts = 0.5 * on(configuration, "a") + 1.0 * on(configuration, "c") + 0.3 * on(configuration, "d")
        return acts + 0.3 * on(configuration, "b") * (1.0 - on(configuration, "a"))

    made = study(space(10), 96)
    runs = measure(made, value(truth)).runs
    shared = {
        pair: math.exp(0.3 * float(generator(3, str(pair)).standard_normal()))
        for pair in {(run.task.stage, run.task.repetition) for run in runs if is_flip(run.task)}
    }
    shifted = tuple(
        replace(run, observations=tuple(replace(each, values=each.values * factor) for each in run.observations))
        for run in runs
        for factor in [shared.get((run.task.stage, run.task.repetition), 1.0)]
    )
    plain, moved = made.conclude(Evidence(runs)), made.conclude(Evidence(shifted))
    assert (plain.scale, moved.scale) == (EffectScale.LOG, EffectScale.LOG)
    assert [(each.option, dict(each.at)) for each in plain.conditional_effects[:2]] == [
        ("a", {"b": False}),
        ("a", {"b": True}),
    ]
    for one, other in zip(plain.conditional_effects, moved.conditional_effects, strict=True):
        assert one.relative == pytest.approx(other.relative)
        assert one.interval == pytest.approx(other.interval)


def test_a_follow_up_that_was_killed_goes_on_with_the_same_flips() -> None:
    made = study(space(10), 96)
    whole = measure(made, value(strong_and_aliased))
    for kept in (0, 50, 76, 81, 95):
        left = [task.id for task in made.plan(Evidence(whole.runs[:kept])).tasks]
        assert left == [run.task.id for run in whole.runs[kept : None if kept >= 76 else max(76, kept)]][: len(left)]
        assert left
    assert not made.plan(whole)


def test_the_most_doubtful_are_flipped_where_there_are_more_than_the_runs_suffice_for() -> None:
    made = study(space(8))
    runs = measure(made, value(lambda c, _: 1.0 * on(c, "a") + 0.1 * on(c, "b") + 0.6 * on(c, "c"))).runs
    assert {run.task.stage for run in runs if is_flip(run.task)} == {"follow-up b"}
    table = follow_up_table(made.conclude(Evidence(runs)))
    assert table is not None
    assert table.notes[-1] == "Not flipped, for lack of runs: a, c."


@pytest.mark.acceptance
def test_an_option_that_acts_with_another_alone_is_not_refuted() -> None:
    refuted = 0
    for seed in range(1, 9):
        found = concluded(study(space(8), 64, seed), lambda c, _: 0.5 * on(c, "a") * on(c, "b"))
        refuted += sum(
            effect.flips is not None and effect.flips.verdict is FlipVerdict.REFUTED for effect in found.effects
        )
    assert refuted == 0


def gated(configuration: Mapping[str, Setting], _: str) -> float:
    """Option a acts where b and c are on, d always."""
    return 0.4 * on(configuration, "d") - 3.0 * math.prod(on(configuration, name) for name in "abc")


def test_flips_that_all_missed_where_an_effect_acts_do_not_refute_it() -> None:
    place = space(8)
    made = study(place, 64)
    latency = value(gated)
    engine = FakeEngine(lambda task: {"latency": [latency(task)]})
    design = tuple(engine.run(made.tasks))
    task, others = made.tasks[0], [{"b": False, "c": False}, {"b": True, "c": False}, {"b": False, "c": True}]

    def flips(outside: tuple[int, ...]) -> list[Run]:
        pairs = [
            replace(
                task,
                stage="follow-up a",
                repetition=number,
                configuration=place.canonical({"d": bool(number % 2), **others[number % 3], "a": end}),
            )
            for number in outside
            for end in (False, True)
        ]
        return list(engine.run(tuple(pairs)))

    for outside in (range(6), (0, 3, 6, 9, 12, 15), (1, 4, 7, 10, 13, 16)):
        found = made.conclude(Evidence((*design, *flips(tuple(outside)))))
        evidence = next(effect.flips for effect in found.effects if effect.options == ("a",))
        assert evidence is not None
        assert evidence.flips == 6
        assert evidence.verdict in {FlipVerdict.MISSED, FlipVerdict.NOT_DECIDED}
        low, high = evidence.interval or (0.0, 0.0)
        assert evidence.verdict is FlipVerdict.MISSED or low < evidence.claimed < high


def test_an_effect_of_both_signs_depends_on_the_option_that_it_is_known_to_act_with() -> None:
    found = concluded(study(space(8)), lambda c, _: on(c, "a") * (0.6 if c["b"] else -0.3))
    (evidence,) = (effect.flips for effect in found.effects if effect.flips is not None)
    assert (evidence.option, evidence.depends_on) == ("a", "b")


def test_an_option_with_several_settings_is_flipped_between_its_best_and_its_worst() -> None:
    place = Space((Option("level", (3, 1, 2), default=1), *space(7).options))
    found = concluded(study(place), lambda c, _: 0.2 * float(c["level"]))
    (evidence,) = (effect.flips for effect in found.effects if effect.flips is not None)
    assert (evidence.ends, evidence.verdict) == ((1, 3), FlipVerdict.CONFIRMED)
    assert evidence.change == pytest.approx(math.expm1(0.4), abs=0.05)


def test_flips_between_other_ends_say_nothing_of_a_claim() -> None:
    """The design claims x to y; three flips between these show nothing, and eight are between x and z."""
    place = Space((Option("a", ("x", "y", "z"), "x"), *space(8).options[1:]))
    made = study(place)
    acts = {"x": 0.0, "y": 0.4, "z": 0.05}
    latency = value(lambda c, _: acts[str(c["a"])])
    design = tuple(FakeEngine(lambda task: {"latency": [latency(task)]}).run(made.tasks))
    task = made.tasks[0]

    def flip(number: int, setting: str, change: float) -> list[Run]:
        others = {name: bool(number >> bit & 1) for bit, name in enumerate("bcde")}
        pair = [
            replace(task, stage="follow-up a", repetition=number, configuration=place.canonical({**others, "a": end}))
            for end in ("x", setting)
        ]
        engine = FakeEngine(lambda t: {"latency": [math.exp(change if t.configuration["a"] == setting else 0.0)]})
        return list(engine.run(tuple(pair)))

    of_claim = [run for number, change in enumerate((-0.045, 0.0, 0.045)) for run in flip(number, "y", change)]
    others = [run for number in range(3, 11) for run in flip(number, "z", 0.05)]
    for flips in (of_claim, [*of_claim, *others]):
        found = made.conclude(Evidence((*design, *flips)))
        evidence = next(effect.flips for effect in found.effects if effect.options == ("a",))
        assert evidence is not None
        assert (evidence.flips, evidence.ends, evidence.verdict) == (3, ("x", "y"), FlipVerdict.MISSED)


def test_a_flip_is_of_valid_configurations_and_options_under_a_condition_come_and_go_with_it() -> None:
    options = (*space(3).options, Option("x", (1, 2), default=1, active_if=parse_formula("a")))
    place = Space(options, (parse_formula("not (b and c)"),))
    for seed in range(20):
        pair = flipped(place, "b", (False, True), generator(seed, "flip"))
        assert pair is not None
        assert all(map(place.valid, pair))
        without, having = flipped(place, "a", (False, True), generator(seed, "flip")) or ({}, {})
        assert ("x" in without, "x" in having) == (False, True)
    assert flipped(Space(space(2).options, (parse_formula("a"),)), "a", (False, True), generator(1, "flip")) is None


def test_flips_estimate_the_effect_where_an_option_becomes_active_with_it() -> None:
    """Four standard errors around the model's mean change: the setting of x that is drawn counts as its mean."""
    place = Space((*space(1).options, Option("x", (1, 2, 3), default=1, active_if=parse_formula("a"))))
    every = levels([*enumerate_configurations(place)], place)
    sizes = [len(option.settings) for option in place.options]
    terms = model_terms(Model.of_order(sizes, 1), every, np.zeros(len(every), dtype=np.intp))

    def value(rows: Levels) -> FloatArray:
        return np.asarray(10.0 * rows[:, 0] + np.array([0.0, 3.0, 9.0, 0.0])[rows[:, 1]])

    effect = ModelFit.of(terms, tuple(terms), ValidPopulation.of(place, 1), value(every)).effect((0,)).estimate
    pairs = [flipped(place, "a", (False, True), generator(seed, "flip")) for seed in range(400)]
    before, after = (value(levels([pair[end] for pair in pairs if pair is not None], place)) for end in (0, 1))
    error = float(np.std(after - before)) / math.sqrt(len(pairs))
    assert effect == pytest.approx(10.0 + 4.0)
    assert float(np.mean(after - before)) == pytest.approx(effect, abs=4.0 * error)


def failing(flips: Callable[[Task], bool], truth: Truth = strong_and_aliased) -> Callable[[Task], float | str]:
    def latency(task: Task) -> float | str:
        return "it crashed" if is_flip(task) and flips(task) else value(truth)(task)

    return latency


def a_alone(configuration: Mapping[str, Setting], _: str) -> float:
    return 0.5 * on(configuration, "a")


def a_most_and_b(configuration: Mapping[str, Setting], _: str) -> float:
    return 0.2 * on(configuration, "a") + 0.8 * on(configuration, "b")


def flips_of(found: ScreeningConclusion) -> dict[str, int]:
    return {each.flips.option: each.flips.flips for each in found.effects if each.flips is not None}


def test_failed_flips_are_counted_and_trace_no_setting() -> None:
    made = study(space(10), 96)
    evidence = measure(made, failing(lambda task: task.repetition == 1))
    found = made.conclude(evidence)
    assert (found.failed, found.done) == (2, 94)
    assert flips_of(found) == {"a": 5, "b": 4}
    assert not Isolation(made.id, BENCHMARK, "1", made.space).plan(evidence)


def test_a_pair_whose_first_run_fails_is_not_completed_and_another_takes_its_place() -> None:
    made = study(space(8))
    found = made.conclude(measure(made, failing(lambda task: task.repetition in (1, 2), a_alone)))
    assert (flips_of(found), found.failed) == ({"a": 4}, 2)
    assert found.follow_up is not None
    assert (found.follow_up.done, found.follow_up.given_up) == (8, ())


def test_an_option_whose_flips_keep_failing_is_given_up_for_the_next() -> None:
    made = study(space(8))
    found = made.conclude(measure(made, failing(lambda task: task.stage == "follow-up a", a_most_and_b)))
    assert (flips_of(found), found.failed) == ({"b": 3}, 3)
    assert found.follow_up is not None
    assert found.follow_up.given_up == ("a",)
    (warning,) = (text for text in found.warnings if "ended early" in text)
    assert warning.startswith("the flips of a ended early: 3 pairs in a row failed")
    table = follow_up_table(found)
    assert table is not None
    assert not any("Not flipped" in note for note in table.notes)


def test_where_all_flips_fail_the_follow_up_ends_and_their_failures_are_counted() -> None:
    made = study(space(8))
    evidence = measure(made, failing(lambda task: True, a_most_and_b))
    found = made.conclude(evidence)
    assert (found.failed, found.done, found.failures) == (6, 54, ("it crashed (6 runs)",))
    assert found.follow_up is not None
    assert (found.follow_up.done, sorted(found.follow_up.given_up)) == (0, ["a", "b"])
    assert any("6 of 60 runs failed" in text for text in found.warnings)


def test_a_run_of_a_flip_without_its_partner_is_in_the_analysis_and_no_flip() -> None:
    made = study(space(8))
    first = set[str]()

    def latency(task: Task) -> float | str:
        key = f"{task.stage} {task.repetition}"
        if is_flip(task) and key in first:
            return "it crashed"
        first.add(key)
        return value(a_alone)(task)

    evidence = measure(made, latency)
    found = made.conclude(evidence)
    assert (found.done, found.failed, flips_of(found)) == (54 + 3, 3, {})
    said = to_plain(screening_json(found))
    assert said["effects"][0]["evidence"]["design_rows"] == 54
    assert said["follow_up"] == {"planned": 10, "done": 3, "given_up": ["a"]}


def test_an_option_without_a_valid_pair_is_passed_over() -> None:
    level = Option("level", (1, 2, 3), default=2)
    formulas = "level != 1 or a", "level != 3 or not a"
    place = Space((level, *space(8).options), tuple(map(parse_formula, formulas)))
    made = study(place)
    evidence = measure(made, value(lambda c, _: 0.3 * float(c["level"]) + 0.9 * on(c, "b")))
    assert {run.task.stage for run in evidence.runs if is_flip(run.task)} == {"follow-up b"}
    summary = made.conclude(evidence).follow_up
    assert summary is not None
    assert summary.given_up == ("level",)


def test_flips_are_those_of_earlier_versions_where_none_fails() -> None:
    runs = measure(study(space(10), 96), value(strong_and_aliased)).runs
    tasks = "".join(run.task.id for run in runs if is_flip(run.task))
    assert hashlib.sha256(tasks.encode()).hexdigest()[:16] == "9d3f8a056766afd5"


def test_repeated_runs_distinguish_noise_from_effects_that_the_model_lacks() -> None:
    words = ("abcd", "efg", "bdh", "acf")

    def entangled(configuration: Mapping[str, Setting], _: str) -> float:
        return sum(0.2 * math.prod(1 if configuration[name] else -1 for name in word) for word in words)

    lacking, plain = (concluded(study(space(10), 96), truth) for truth in (entangled, lambda *_: 0.0))
    assert lacking.lack_of_fit is not None
    assert plain.lack_of_fit is not None
    assert (lacking.lack_of_fit.found, plain.lack_of_fit.found) == (True, False)
    assert lacking.lack_of_fit.noise < 0.06 < 0.3 < lacking.lack_of_fit.left
    assert noise_summary(plain).endswith(": not shown to be more than noise")
    said = noise_summary(lacking)
    assert said.endswith(": effects that it lacks")
    (hidden,) = (warning for warning in lacking.warnings if " below " in warning)
    assert hidden.startswith("effects that the model lacks hide others below ")
    assert hidden.endswith("four times as many runs halve that, longer ones do not")
    assert f"({lacking.lack_of_fit.repeated} repeated)" in said
    assert noise_summary(replace(plain, lack_of_fit=None)) == ""


def test_rounding_errors_are_neither_noise_nor_effects_that_the_model_lacks() -> None:
    made = study(space(10), 96)
    found = made.conclude(measure(made, value(lambda c, _: 0.3 * on(c, "b") + 0.1 * on(c, "d"), noise=0.0)))
    assert found.lack_of_fit is not None
    assert (found.lack_of_fit.noise, found.lack_of_fit.left, found.lack_of_fit.found) == (0.0, 0.0, False)


def test_a_small_budget_says_that_nothing_was_set_aside() -> None:
    found = concluded(study(space(8), 36), strong_and_aliased)
    assert found.follow_up is None
    assert (
        "no runs were set aside to refute the important effects by flips; --fresh with a budget of 40 runs or more sets"
        " some aside" in found.warnings
    )
    assert not any("aside" in text for text in concluded(study(space(8), 36), lambda *_: 0.0).warnings)
