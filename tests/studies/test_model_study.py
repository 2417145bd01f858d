"""Screening of constrained, nested and multi-level spaces, end to end with an engine that needs no program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest
from benchmarks.sequential import keeps
from simulated_subject import BENCHMARK, LATENCY, concluded, measure
from threadpoolctl import threadpool_info, threadpool_limits

from hati.core import InputError, MeasurementError, Setting, StudyId, Task, generator
from hati.space import Option, Space, count, enumerate_configurations, parse_formula
from hati.studies.screening import ModelChoice, ModelScreening, Noise, choose_optimal
from hati.studies.screening.figures import main_effects
from hati.studies.screening.model import ModelAnalysis
from hati.studies.screening.runs import MeasuredDesign
from hati.studies.screening.screening_model import ScreeningModel

Truth = Callable[[Mapping[str, Setting]], float]
"""The logarithm of a configuration's latency, in standard deviations of a run."""

DEVIATION = 0.05


def switches(names: str, condition: str | None = None) -> tuple[Option, ...]:
    formula = None if condition is None else parse_formula(condition)
    return tuple(Option(name, (False, True), default=False, active_if=formula) for name in names)


LEVELS = Option("level", (0, 1, 2, 3), default=0)
MODE = Option("mode", ("fast", "small", "safe"), default="fast")
SPACES = {
    "constrained": Space(switches("abcdefg"), (parse_formula("a or b"), parse_formula("not (c and d and e)"))),
    "nested": Space((*switches("abcdef"), *switches("xy", "a"))),
    "multi-level": Space((*switches("abcd"), LEVELS, MODE)),
}
TRUTHS: dict[str, tuple[Truth, set[str]]] = {
    "constrained": (lambda c: 3.0 * bool(c["a"]) - 2.5 * bool(c["f"]), {"a", "f"}),
    "nested": (lambda c: 3.0 * bool(c["x"]) - 3.0 * bool(c["y"]) if c["a"] else 0.0, {"x", "y"}),
    "multi-level": (lambda c: 3.0 * (c["level"] == 3) + 2.5 * bool(c["b"]), {"level", "b"}),
}
EACH = pytest.mark.parametrize("name", list(SPACES))
SIMULATED = pytest.mark.parametrize(
    "name", [name if name == "constrained" else pytest.param(name, marks=pytest.mark.acceptance) for name in SPACES]
)


@cache
def choice(name: str, design: int, per_parameter: int = 4) -> ModelChoice:
    space = SPACES[name]
    runs = per_parameter * (1 + sum(len(option.settings) - 1 for option in space.options))
    return choose_optimal(space, runs, generator(design, name))


def study(name: str, seed: int = 1, *, per_parameter: int = 4, relevant: float = 0.0) -> ModelScreening:
    return ModelScreening(
        StudyId.of("screening", {"space": name}, seed, "fake"),
        "simulated",
        BENCHMARK,
        LATENCY,
        "1",
        SPACES[name],
        choice(name, seed % 4, per_parameter),
        relevant=relevant,
    )


def value(truth: Truth, seed: int = 1) -> Callable[[Task], float]:
    def latency(task: Task) -> float:
        noise = float(generator(seed, task.id).standard_normal())
        return 0.002 * float(np.exp(DEVIATION * (truth(task.configuration) + noise)))

    return latency


def nothing(_: Mapping[str, Setting]) -> float:
    return 0.0


def test_suspect_runs_are_sought_on_the_scale_of_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    made, truth = study("constrained"), value(TRUTHS["constrained"][0])
    evidence = measure(made, truth)
    found = made.measured(evidence)
    model = made._model
    assert model.scale(found) is model.analysis(found).readable.scale
    monkeypatch.setattr(ScreeningModel, "scale", lambda *_: pytest.fail("the scale was chosen again"))
    made.conclude(evidence)


def test_a_study_is_analysed_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, analysis = list[set[int]](), ScreeningModel.analysis

    def watched(model: ScreeningModel, found: MeasuredDesign) -> ModelAnalysis:
        seen.append({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
        return analysis(model, found)

    monkeypatch.setattr(ScreeningModel, "analysis", watched)
    screening = study("multi-level")
    evidence = measure(screening, value(TRUTHS["multi-level"][0]))
    with threadpool_limits(4, user_api="blas"):
        screening.conclude(evidence)
    assert seen
    assert all(each == {1} for each in seen)


@EACH
def test_means_in_the_report_are_those_of_the_valid_configurations(name: str) -> None:
    """Of a response that is a sum of the options' parts, without noise."""
    space = SPACES[name]

    def latency(configuration: Mapping[str, Setting]) -> float:
        parts = (
            (place + 1) * option.settings.index(configuration[option.name])
            for place, option in enumerate(space.options)
            if option.name in configuration
        )
        return 10.0 + 0.1 * sum(parts)

    figure = main_effects(concluded(study(name), lambda task: latency(task.configuration)))
    assert (figure.unit, len(figure.options)) == ("s", len(space.options))
    valid = list(enumerate_configurations(space))
    for effect in figure.options:
        settings = space.option(effect.option).settings
        groups = [[latency(one) for one in valid if one.get(effect.option) == setting] for setting in settings]
        assert [at.mean for at in effect.settings] == pytest.approx([float(np.mean(group)) for group in groups])


@pytest.mark.acceptance
@pytest.mark.statistical
@SIMULATED
def test_nothing_is_called_important_where_nothing_acts(name: str) -> None:
    """No more often than in 5 % of studies; a procedure that does in 15 % is refused in 95 %."""

    def alarmed(seed: int) -> bool:
        screening = study(name, seed)
        found = screening.analysis(screening.measured(measure(screening, value(nothing, seed))))
        return any(effect.important for effect in found.effects)

    found = keeps(map(alarmed, range(200)), 0.05, 0.15)
    assert found.held, found


@pytest.mark.acceptance
@pytest.mark.statistical
@SIMULATED
def test_what_acts_is_found_and_nothing_else(name: str) -> None:
    """At most 6 of 40 studies call what does nothing important, the 99 % binomial bound; 95 % of what acts is found."""
    truth, active = TRUTHS[name]
    parents = {"a"} if name == "nested" else set()
    alarms, hits = 0, 0
    for seed in range(40):
        screening = study(name, seed)
        found = screening.analysis(screening.measured(measure(screening, value(truth, seed)))).effects
        terms = [{screening.space.names[option] for option in e.term} for e in found if e.important]
        alarms += any(not options <= active | parents for options in terms)
        hits += sum({option} in terms for option in active)
    assert alarms <= 6
    assert hits >= 0.95 * 40 * len(active)


@EACH
def test_the_conclusion_tells_what_acts(name: str) -> None:
    truth, active = TRUTHS[name]
    found = concluded(study(name), value(truth))
    assert active <= set(found.important)
    assert active <= set(found.ranking[:3])
    assert sorted(found.ranking) == sorted(SPACES[name].names)
    assert found.judged_by is Noise.RESIDUALS
    assert found.configurations == count(SPACES[name])
    assert {(option,) for option in active} <= set(found.model.terms)
    assert found.model.r_squared > 0.5
    stable = dict(zip(found.model.terms, found.model.stability, strict=True))
    assert min(stable[option,] for option in active) > 0.7
    assert found.detectable is not None
    assert found.missing == ()


def test_intervals_hold_the_truth_and_settings_have_their_means() -> None:
    truth, _ = TRUTHS["multi-level"]
    found = concluded(study("multi-level"), value(truth))
    effects = {effect.options: effect for effect in found.effects}
    (b,) = (effects[options] for options in [("b",)])
    assert b.relative_interval is not None
    low, high = b.relative_interval
    assert low < np.expm1(2.5 * DEVIATION) < high
    level = effects["level",]
    assert [setting.setting for setting in level.settings] == [0, 1, 2, 3]
    means = [setting.estimate for setting in level.settings]
    assert means[3] == max(means)
    assert level.estimate == pytest.approx(max(means) - min(means))
    assert level.relative == pytest.approx(np.expm1(3.0 * DEVIATION), rel=0.5)
    assert b.settings == ()


def test_the_effect_of_a_nested_option_is_that_where_it_is_active() -> None:
    truth, _ = TRUTHS["nested"]
    found = concluded(study("nested", per_parameter=8), value(truth))
    effects = {effect.options: effect for effect in found.effects}
    assert effects["x",].relative == pytest.approx(np.expm1(3.0 * DEVIATION), abs=0.05)
    assert effects["y",].relative == pytest.approx(np.expm1(-3.0 * DEVIATION), abs=0.05)
    assert effects["x",].important
    assert effects["y",].important


def test_failed_runs_are_counted_and_effects_found_from_the_others() -> None:
    truth, active = TRUTHS["multi-level"]
    works = value(truth)

    def fails(task: Task) -> float | str:
        return "out of cheese" if task.configuration["mode"] == "safe" and task.configuration["c"] else works(task)

    screening = study("multi-level")
    found = concluded(screening, fails)
    assert found.failed > 0
    assert found.done + found.failed == screening.choice.runs
    assert active <= set(found.important)
    assert any("out of cheese" in warning for warning in found.warnings)
    assert any("c=true" in warning and "mode=safe" in warning for warning in found.warnings)


def test_a_setting_that_always_fails_is_not_told_of() -> None:
    truth, _ = TRUTHS["multi-level"]
    works = value(truth)
    found = concluded(study("multi-level"), lambda task: "no" if task.configuration["mode"] == "safe" else works(task))
    mode = next(effect for effect in found.effects if effect.options == ("mode",))
    assert [estimate.setting for estimate in mode.settings] == ["fast", "small"]
    assert {"level", "b"} <= set(found.important)
    assert "mode" not in found.important


def test_a_budget_that_ends_early_says_what_is_missing() -> None:
    truth, _ = TRUTHS["constrained"]
    screening = study("constrained")
    for runs in (5, 12, 20):
        found = concluded(screening, value(truth), runs=runs)
        assert found.done == runs
        assert any("planned runs were not made" in warning for warning in found.warnings)
        if runs == 5:
            assert found.important == ()
            assert any("cannot tell" in warning or "too few runs" in warning for warning in found.warnings)


def test_nothing_measured_is_an_error_with_its_reason() -> None:
    screening = study("nested")
    evidence = measure(screening, lambda task: "segmentation fault")
    assert len(evidence.runs) == 5
    with pytest.raises(MeasurementError, match="segmentation fault"):
        screening.conclude(evidence)


def test_repetitions_within_runs_show_what_changes_the_dispersion() -> None:
    def latencies(task: Task) -> list[float]:
        size = 0.08 if task.configuration["b"] else 0.01
        return (0.002 * np.exp(size * generator(1, task.id).standard_normal(12))).tolist()

    found = concluded(study("constrained", per_parameter=6), latencies)
    assert found.dispersion is not None
    assert found.dispersion.important == ("b",)


def test_the_same_study_concludes_the_same() -> None:
    truth, _ = TRUTHS["nested"]
    screening = study("nested")
    evidence = measure(screening, value(truth))
    assert screening.conclude(evidence) == screening.conclude(evidence)


def test_options_that_constraints_tie_together_are_named() -> None:
    space = Space(switches("abcde"), (parse_formula("a <=> b"),))
    tied = ModelScreening(
        StudyId.of("screening", {}, 1, "fake"),
        "simulated",
        BENCHMARK,
        LATENCY,
        "1",
        space,
        choose_optimal(space, 32, generator(1, "tied")),
    )
    found = concluded(tied, value(lambda c: 4.0 * bool(c["c"]) + 4.0 * bool(c["a"])))
    assert set(found.important) == {"a", "c"}
    (said,) = (warning for warning in found.warnings if "other options decide b " in warning)
    assert said.endswith("effects cannot be attributed to them alone, and those of the others stand for them")


@pytest.mark.parametrize(("alpha", "relevant"), [(0.0, 0.01), (1.0, 0.01), (0.05, -0.1), (0.05, float("inf"))])
def test_levels_that_make_no_sense_are_refused(alpha: float, relevant: float) -> None:
    given = study("nested")
    with pytest.raises(InputError):
        ModelScreening(
            given.id, "s", BENCHMARK, LATENCY, "1", given.space, given.choice, alpha=alpha, relevant=relevant
        )


SIZED = Space(
    (*switches("abc"), Option("log", ("on", "off"), default="on"), Option("size", (0, 5, 50, 100), default=5)),
    (parse_formula("not (log == 'off') or size == 0"), parse_formula("not (log == 'on') or not (size == 0)")),
)


def test_an_option_that_another_decides_is_told_by_that_one() -> None:
    chosen = choose_optimal(SIZED, 36, generator(1, "sized"))
    place = ModelScreening(
        StudyId.of("screening", {}, 1, "fake"), "simulated", BENCHMARK, LATENCY, "1", SIZED, chosen, relevant=0.0
    )
    found = concluded(place, value(lambda c: 4.0 * (c["size"] == 0) + 3.0 * bool(c["a"])))
    assert set(found.important) == {"a", "size"}
    size = next(effect for effect in found.effects if effect.options == ("size",))
    assert size.interval is not None
    assert abs(size.relative - np.expm1(4.0 * DEVIATION)) < 0.06
    assert ("log",) not in {effect.options for effect in found.effects}
    assert any("other options decide log " in text for text in found.warnings)
