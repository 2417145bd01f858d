"""Planning and concluding, whole."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_subject import BENCHMARK, concluded, measure, multiplying, screening, signs, space

from hati.core import Evidence, InputError, MeasurementError, Observations, Task, replace
from hati.space import Option, Space, parse_formula
from hati.studies.screening import EffectScale, Noise, Screening, ScreeningConclusion, choose, study_id


def by_name(conclusion: ScreeningConclusion) -> dict[str, float]:
    return {"".join(effect.options): effect.contrast for effect in conclusion.effects}


def test_the_plan_is_every_configuration_once_in_each_block() -> None:
    study = screening(14, 96)
    assert len(study.tasks) == len({task.id for task in study.tasks}) == 96
    for block in range(3):
        tasks = study.tasks[32 * block : 32 * (block + 1)]
        assert {task.repetition for task in tasks} == {block}
        assert {task.configuration for task in tasks} == set(study.configurations)
    orders = [[study.configurations.index(t.configuration) for t in study.tasks[32 * b : 32 * (b + 1)]] for b in (0, 1)]
    assert orders[0] != orders[1] != list(range(32))
    assert {task.stage for task in study.tasks} == {"design"}


def test_the_order_is_the_seeds() -> None:
    study = screening(14, 32)
    other = replace(study, id=replace(study.id, seed=2))
    assert [t.configuration for t in study.tasks] == [t.configuration for t in screening(14, 32).tasks]
    assert [t.configuration for t in study.tasks] != [t.configuration for t in other.tasks]


def test_what_was_run_is_not_planned_again() -> None:
    study = screening(6, 32)
    evidence = measure(study, multiplying({"a": 0.5}), runs=11)
    assert len(evidence.runs) == 11
    plan = study.plan(evidence)
    assert [task.id for task in plan.tasks] == [task.id for task in study.tasks if task.id not in evidence.known]
    assert len(plan) == 21
    assert not study.plan(measure(study, multiplying({"a": 0.5})))


def test_the_important_options_are_found() -> None:
    found = concluded(screening(14, 96), multiplying({"c": 0.5, "b": -0.2, "g": 0.1, "bc": -0.08}))
    assert (found.important, found.important_or_aliased) == ((), ("c", "b", "g"))
    assert found.ranking[:3] == ("c", "b", "g")
    assert sorted(found.ranking) == sorted("abcdefghijklmn")
    assert (found.scale, found.judged_by) == (EffectScale.LOG, Noise.PURE_ERROR)
    assert (found.done, found.failed, found.configurations) == (96, 0, 2**14)
    assert by_name(found)["c"] == pytest.approx(0.5, abs=0.01)
    (interaction,) = [e for e in found.effects if e.shown and len(e.options) == 2]
    assert ("b", "c") in (interaction.options, *interaction.aliases)
    assert any("b x c" in warning for warning in found.warnings)
    assert [abs(e.contrast) for e in found.effects] == sorted((abs(e.contrast) for e in found.effects), reverse=True)
    assert sum(e.share for e in found.effects) == pytest.approx(1.0, abs=0.02)
    assert set(found.model.terms) == {effect.options for effect in found.effects if effect.shown}
    assert found.model.r_squared == pytest.approx(sum(e.share for e in found.effects if e.shown), abs=0.01)


def test_estimates_are_differences_of_arithmetic_means_in_the_unit() -> None:
    study = screening(5, 64)
    timed = measure(study, multiplying({"a": 0.7, "b": 0.2}, noise=0.1))
    evidence = Evidence(tuple(replace(run, seconds=0.0) for run in timed.runs))  # looked up: no trend over their order
    found = study.conclude(evidence)
    assert found.scale is EffectScale.LOG
    for effect in found.effects:
        column = [math.prod(signs(run.task)[name] for name in effect.options) for run in evidence.runs]
        values = [run.observations[0].mean for run in evidence.runs]
        plus = np.mean([v for v, s in zip(values, column, strict=True) if s > 0])
        minus = np.mean([v for v, s in zip(values, column, strict=True) if s < 0])
        assert effect.estimate == pytest.approx(plus - minus)
        logs = np.log(values)
        assert effect.contrast == pytest.approx(2 * np.mean(logs * column))
        assert effect.relative == pytest.approx(math.expm1(effect.contrast))
        assert effect.interval is not None
        assert effect.interval[0] < effect.estimate < effect.interval[1]


def test_without_repetitions_lenth_judges_over_all_contrasts() -> None:
    found = concluded(screening(14, 32), multiplying({"c": 0.5, "b": -0.2}))
    assert found.judged_by is Noise.LENTH
    assert found.important_or_aliased == ("c", "b")
    assert any("no repetitions" in warning for warning in found.warnings)
    coordinates = sorted(effect.half_normal for effect in found.effects)
    assert len(set(coordinates)) == 29  # of 31 contrasts; two have third order
    assert coordinates[-1] > 2.3


def test_the_run_is_the_unit_of_replication() -> None:
    """A thousand observations of a run count as much as their mean."""

    def many(task: Task) -> list[float]:
        value = multiplying({"a": 0.02}, noise=0.05)(task)
        return [value * (1 + 0.001 * (i - 499.5) / 500) for i in range(1000)]

    def one(task: Task) -> float:
        return float(np.mean(many(task)))

    study = screening(4, 32)
    assert [e.p_value for e in concluded(study, many).effects] == pytest.approx(
        [e.p_value for e in concluded(study, one).effects], rel=1e-6
    )


def test_warm_up_is_left_out() -> None:
    study = screening(3, 8)
    value = multiplying({"a": 0.5})
    evidence = measure(study, value)
    warmed = Evidence(
        tuple(
            replace(run, observations=(Observations("latency", "s", [9.0, run.observations[0].mean], warmup=1),))
            for run in evidence.runs
        )
    )
    assert by_name(study.conclude(warmed)) == pytest.approx(by_name(study.conclude(evidence)))


def test_another_unit_of_the_same_dimension_is_converted() -> None:
    study = screening(3, 8)
    evidence = measure(study, multiplying({"a": 0.5}))
    in_ms = Evidence(
        tuple(
            replace(run, observations=(Observations("latency", "ms", run.observations[0].values * 1000),))
            for run in evidence.runs
        )
    )
    assert study.conclude(in_ms).effects[0].estimate == pytest.approx(study.conclude(evidence).effects[0].estimate)


def test_what_is_significant_and_small_is_not_important() -> None:
    value = multiplying({"a": 0.5, "b": 0.006}, noise=0.0002)
    found = concluded(screening(4, 64), value)
    effects = {effect.options: effect for effect in found.effects}
    assert effects["b",].p_value < 1e-6
    assert not effects["b",].important
    assert found.important == ("a",)
    assert concluded(screening(4, 64, relevant=0.005), value).important == ("a", "b")


def test_a_benchmark_that_always_fails_does_not_use_up_the_budget() -> None:
    study = screening(14, 96)
    evidence = measure(study, lambda task: "no such file: orders.db")
    assert len(evidence.runs) == 5
    with pytest.raises(MeasurementError, match=r"no such file: orders.db \(5 runs\)") as caught:
        study.conclude(evidence)
    assert caught.value.exit_status == 4


def test_failures_at_the_start_do_not_end_a_study_that_can_work() -> None:
    study = screening(6, 32)
    bad = {task.id for task in study.tasks[:4]}
    found = concluded(study, lambda task: "busy" if task.id in bad else multiplying({"a": 0.5})(task))
    assert (found.done, found.failed, found.failures) == (28, 4, ("busy (4 runs)",))


def test_nothing_made_yet_is_nothing_measured() -> None:
    with pytest.raises(MeasurementError, match="no run was made"):
        screening(3, 8).conclude(Evidence())


def test_a_run_without_the_metric_is_a_failed_one() -> None:
    study = screening(3, 8)
    evidence = measure(study, multiplying({"a": 0.5}))
    other = replace(evidence.runs[0], observations=(Observations("requests", "1/s", [1.0]),))
    found = study.conclude(Evidence((other, *evidence.runs[1:])))
    assert (found.done, found.failed) == (7, 1)
    assert "latency" in found.failures[0]


def test_lost_rows_are_estimated_around_and_a_setting_that_always_fails_is_named() -> None:
    value = multiplying({"c": 0.5, "b": -0.2})
    found = concluded(screening(14, 96), lambda task: "crash" if task.configuration["e"] else value(task))
    assert (found.done, found.failed) == (48, 48)
    assert ("e",) in found.missing
    assert found.important_or_aliased == ("c", "b")
    assert not any("e" in effect.options for effect in found.effects)
    text = " ".join(found.warnings)
    assert "e=true" in text
    assert "cannot estimate" in text
    assert sorted(found.ranking) == sorted("abcdefghijklmn")


def test_an_interrupted_study_says_what_it_knows() -> None:
    found = concluded(screening(14, 96), multiplying({"c": 0.5}), runs=40)
    assert found.done == 40
    assert found.important_or_aliased == ("c",)
    assert any("56 of 96 planned runs were not made" in warning for warning in found.warnings)


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 9, 31, 33])
@pytest.mark.parametrize("budget", [32, 96])
def test_any_number_of_runs_gives_a_conclusion(runs: int, budget: int) -> None:
    found = concluded(screening(14, budget), multiplying({"c": 0.5}), runs=runs)
    assert found.done == min(runs, budget)
    assert len(found.ranking) == 14
    named = {effect.options for effect in found.effects} | set(found.missing)
    assert {(letter,) for letter in "abcdefghijklmn"} <= named


@pytest.mark.parametrize("budget", [8, 32])
@pytest.mark.parametrize("value", [0.0, 3.0, -1.0])
def test_constant_values_show_nothing(budget: int, value: float) -> None:
    found = concluded(screening(4, budget), lambda task: value)
    assert found.important == ()
    assert found.scale is EffectScale.RAW
    assert found.scale_reason == "all values are equal"
    assert all(effect.share == effect.estimate == effect.relative == 0.0 for effect in found.effects)


@pytest.mark.parametrize("budget", [16, 64])
def test_values_without_noise_show_every_effect_of_some_size(budget: int) -> None:
    found = concluded(screening(5, budget), multiplying({"a": 0.5, "b": 0.1, "ab": 0.05, "c": 0.001}, noise=0.0))
    assert found.important == ("a", "b")
    assert {effect.options for effect in found.effects if effect.shown} == {("a",), ("b",), ("a", "b")}
    assert found.detectable is not None
    assert found.detectable.relative == pytest.approx(0.01)


def test_values_below_zero_are_judged_as_they_are() -> None:
    found = concluded(screening(4, 48), lambda task: math.log(multiplying({"a": 0.5})(task) / 0.002))
    assert found.scale is EffectScale.RAW
    assert "zero" in found.scale_reason
    assert found.important == ("a",)
    assert any("below and above zero" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("power", "told"),
    [
        (1.0, ("Box-Cox prefers the values as they are (power 1): the best power is ",)),
        (2.2, ("of the two scales Box-Cox finds the values as they are (power 1) the nearer, but not near: the best",)),
        (-1.5, ("of the two scales Box-Cox finds the logarithm (power 0) the nearer, but not near: the best power",)),
        (-6.0, ("the logarithm (power 0) the nearer, but not near", "; powers beyond -3 were not tried")),
    ],
)
def test_a_scale_that_box_cox_refutes_is_the_nearer_of_two(power: float, told: tuple[str, ...]) -> None:
    def value(task: Task) -> float:
        linear = 10.0 + 3.0 * signs(task)["a"] + 3.0 * signs(task)["b"] + 2.0 * signs(task)["c"]
        return float((linear + 0.05 * float(generator_of(task).standard_normal())) ** (1.0 / power))

    found = concluded(screening(4, 48), value)
    assert all(text in found.scale_reason for text in told)
    assert ("not tried" in found.scale_reason) == (power == -6.0)


def test_effects_that_add_are_judged_as_they_are() -> None:
    def value(task: Task) -> float:
        jitter = float(generator_of(task).standard_normal())
        return 10.0 + 3.0 * signs(task)["a"] + 3.0 * signs(task)["b"] + 2.0 * signs(task)["c"] + 0.1 * jitter

    found = concluded(screening(4, 48), value)
    assert found.scale is EffectScale.RAW
    assert "power 1" in found.scale_reason
    effects = {effect.options: effect for effect in found.effects}
    assert effects["a",].relative == pytest.approx(6.0 / 7.0, abs=0.02)
    assert found.important == ("a", "b", "c")
    assert [e for e in found.effects if e.shown and len(e.options) == 2] == []


def generator_of(task: Task) -> np.random.Generator:
    return np.random.default_rng(int(task.id, 16))


def test_two_settings_of_one_option_need_repetitions() -> None:
    assert concluded(screening(1, 12), multiplying({"a": 0.5})).important == ("a",)
    single = concluded(screening(1, 2), multiplying({"a": 0.5}))
    assert single.judged_by is Noise.NONE
    assert single.detectable is single.threshold is None
    assert single.effects[0].p_value is None
    assert any("too few runs" in warning for warning in single.warnings)


def test_variation_within_runs_is_a_response() -> None:
    def value(task: Task) -> list[float]:
        rng = generator_of(task)
        spread = 0.01 * math.exp(0.8 * signs(task)["d"])
        return [1.0 + spread * float(z) for z in rng.standard_normal(30)]

    found = concluded(screening(6, 64), value)
    assert found.dispersion is not None
    assert found.dispersion.of == "observations"
    assert found.dispersion.important == ("d",)
    effects = {effect.options: effect for effect in found.dispersion.effects}
    assert effects["d",].contrast == pytest.approx(3.2, abs=0.3)  # ln of a variance: twice that of the deviation
    assert effects["d",].estimate == effects["d",].contrast
    assert found.important == ()


def test_variation_between_runs_is_one_where_runs_have_one_value() -> None:
    def value(task: Task) -> float:
        return 1.0 + 0.01 * math.exp(1.5 * signs(task)["d"]) * float(generator_of(task).standard_normal())

    found = concluded(screening(6, 320), value)
    assert found.dispersion is not None
    assert (found.dispersion.of, found.dispersion.important) == ("log runs", ("d",))
    assert concluded(screening(6, 32), value).dispersion is None
    around_zero = concluded(screening(6, 320), lambda task: value(task) - 1.0)
    assert around_zero.dispersion is not None
    assert (around_zero.dispersion.of, around_zero.dispersion.important) == ("runs", ("d",))


def test_what_multiplies_values_does_not_change_their_relative_variation() -> None:
    """All observations of a setting times m: ln s^2 of the values rises by 2 ln m, that of their logarithms by 0."""

    def many(task: Task) -> list[float]:
        size = multiplying({"a": 1.0}, noise=0.02)(task)
        return [size * math.exp(0.1 * float(z)) for z in generator_of(task).standard_normal(30)]

    for value, of in ((many, "log observations"), (multiplying({"a": 1.0}, noise=0.1), "log runs")):
        found = concluded(screening(6, 256), value)
        assert found.important == ("a",)
        assert found.dispersion is not None
        assert (found.dispersion.of, found.dispersion.important) == (of, ())


def test_what_differs_between_blocks_is_not_variation_between_runs() -> None:
    """Blocks that differ by twenty times a run's noise hide nothing of it, nor do they where runs are missing."""

    def value(task: Task) -> float | str:
        size = 0.01 * math.exp(0.5 * signs(task)["d"])
        if task.repetition == 9 and signs(task)["a"] > 0:
            return "busy"
        return math.exp(0.2 * task.repetition + size * float(generator_of(task).standard_normal()))

    found = concluded(screening(6, 320), value)
    assert found.dispersion is not None
    assert (found.dispersion.of, found.dispersion.important) == ("log runs", ("d",))
    effects = {effect.options: effect for effect in found.dispersion.effects}
    assert effects["d",].contrast == pytest.approx(2.0, abs=0.3)


def test_drift_is_told() -> None:
    study = screening(6, 64)
    place = {task.id: i for i, task in enumerate(study.tasks)}
    found = concluded(study, lambda task: multiplying({"a": 0.5})(task) * (1 + 0.002 * place[task.id]))
    assert any("rise over the order" in warning for warning in found.warnings)
    assert found.important == ("a",)
    quiet = concluded(study, multiplying({"a": 0.5}))
    assert not any("over the order" in warning for warning in quiet.warnings)


def test_a_weak_design_and_much_noise_are_told() -> None:
    found = concluded(screening(14, 16), multiplying({"c": 0.5}, noise=0.3))
    text = " ".join(found.warnings)
    assert "resolution III" in text
    assert "80 % power" in text


def test_points_are_the_runs_in_order() -> None:
    study = screening(3, 16)
    evidence = measure(study, multiplying({"a": 0.5}))
    points = study.conclude(evidence).points
    assert [point.order for point in points] == list(range(16))
    assert [point.value for point in points] == [run.observations[0].mean for run in evidence.runs]
    assert [point.configuration for point in points] == [run.task.configuration for run in evidence.runs]


def test_pilot_runs_cost_and_are_not_measurements() -> None:
    study = screening(3, 8)
    evidence = measure(study, multiplying({"a": 0.5}))
    pilot = replace(evidence.runs[0], task=replace(evidence.runs[0].task, stage="pilot"))
    found = study.conclude(Evidence((pilot, *evidence.runs)))
    assert found.done == 8
    assert found.seconds == pytest.approx(9 * 0.01)
    assert Counter(point.order for point in found.points) == Counter(range(8))


@pytest.mark.parametrize(
    "bad",
    [
        Space((Option("a", (1, 2, 3), default=1),)),
        Space((Option("a", (False, True), default=False),), (parse_formula("a"),)),
    ],
)
def test_other_spaces_are_refused_with_what_will_serve(bad: Space) -> None:
    study = screening(1, 4)
    with pytest.raises(InputError, match="optimal bayes"):
        replace(study, space=bad)


@pytest.mark.parametrize("fields", [{"alpha": 0.0}, {"alpha": 1.0}, {"relevant": -0.1}, {"relevant": math.nan}])
def test_senseless_limits_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(InputError):
        screening(3, 8, **fields)


def test_all_that_decides_the_tasks_is_in_the_identity() -> None:
    def identity(**changed: object) -> str:
        fields = {
            "subject": "s",
            "revision": "1",
            "benchmark": BENCHMARK,
            "space": space(3),
            "budget": "8",
            "seed": 1,
            "machine": "m",
        } | changed
        return study_id(**fields).family  # type: ignore[arg-type]  # fields of several types

    reordered = Space(tuple(reversed(space(3).options)))
    others = [
        {"subject": "t"},
        {"revision": "2"},
        {"benchmark": replace(BENCHMARK, command=("false",))},
        {"space": space(4)},
        {"space": reordered},
        {"budget": "9"},
        {"seed": 2},
        {"machine": "n"},
    ]
    assert identity() == identity()
    assert len({identity(), *(identity(**changed) for changed in others)}) == len(others) + 1


@given(
    st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9), st.just("failed"), st.just(0.0)), min_size=16, max_size=16
    )
)
def test_any_values_give_finite_numbers(values: list[float | str]) -> None:
    study = screening(3, 16)
    value = dict(zip((task.id for task in study.tasks), values, strict=True))
    evidence = measure(study, lambda task: value[task.id])
    if not evidence.done:
        return
    found = study.conclude(evidence)
    for effect in found.effects:
        assert all(map(math.isfinite, (effect.estimate, effect.contrast, effect.half_normal)))
        assert math.isfinite(effect.relative) or effect.relative == math.inf  # from a mean of zero
        if min((point.value for point in found.points), default=-1.0) >= 0.0:
            assert effect.relative >= -1.0
        assert 0.0 <= effect.share <= 1.0
        assert effect.p_value is None or 0.0 <= effect.p_value <= 1.0
        assert effect.important is False or effect.p_value <= 0.05
        for interval in (effect.interval, effect.relative_interval):
            assert interval is None or (math.isfinite(interval[0]) and interval[0] <= interval[1])
    assert found.detectable is None or math.isfinite(found.detectable.relative)


def test_a_screening_is_a_study_of_the_port() -> None:
    study: Screening = screening(3, 8)
    assert study.id.kind == "screening"
    assert choose(3, 8).runs == len(study.plan(measure(study, multiplying({}), runs=1))) + 1


def test_a_fraction_is_judged_by_its_lack_of_fit_where_the_effects_that_it_does_not_list_are_large() -> None:
    words = {"".join(word): 0.1 for size in (2, 3, 4) for word in combinations("acgkmp", size)}
    found = concluded(screening(16, 96), multiplying({"a": 2.0, **words}))
    assert found.judged_by is Noise.LACK_OF_FIT
    assert found.important_or_aliased == ("a",)
    assert any("a screening without a fraction (`--fresh`) has no such bias" in warning for warning in found.warnings)
    full = concluded(screening(4, 32), multiplying(dict.fromkeys(("a", "b", "ab", "abc", "abcd", "bcd", "cd"), 0.4)))
    assert full.judged_by is Noise.PURE_ERROR
