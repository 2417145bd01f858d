"""Recalibration: when it is due, whether a screening still predicts, and what changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from simulated_subject import BENCHMARK, LATENCY, concluded, multiplying, screening, space

from hati.core import Configuration, InputError, Metric, Observations, Outcome, Run, StudyId, Task, Workload, replace
from hati.design import configurations, word_length_pattern
from hati.design.suite import screening_suite
from hati.space import Option, Space
from hati.studies.command_line import CommandLine
from hati.studies.recalibration import (
    EffectStatus,
    MainEffectPrediction,
    Policy,
    Prior,
    Reason,
    Recalibration,
    RecalibrationCondition,
    ResidualShift,
    Since,
    due,
    earlier_space,
    effect_changes,
    residual_shift,
    values_of,
)
from hati.studies.recalibration.document import recalibration_sentence
from hati.studies.screening import EffectScale, ScreeningConclusion, assigned, choose, study_id

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRUE = {"a": 0.3, "b": -0.2, "ab": 0.1}


def since(**known: object) -> Since:
    return Since("orders", "screening-1", **{"screened": NOW - timedelta(days=10), **known})  # type: ignore[arg-type]  # fields of several types


def shift(p_value: float) -> ResidualShift:
    return ResidualShift(LATENCY, EffectScale.LOG, 0.1, 0.02, p_value, 8)


def conditions(found: Recalibration) -> list[RecalibrationCondition]:
    return [reason.condition for reason in found.reasons]


@pytest.mark.parametrize(
    ("policy", "known", "expected"),
    [
        (Policy(checks=5), since(checks=4), []),
        (Policy(checks=5), since(checks=5), [RecalibrationCondition.CHECKS]),
        (Policy(days=10.0), since(), [RecalibrationCondition.DAYS]),
        (Policy(days=10.5), since(), []),
        (Policy(options=True), since(added=("x",)), [RecalibrationCondition.OPTIONS]),
        (Policy(options=True), since(removed=("x",)), [RecalibrationCondition.OPTIONS]),
        (Policy(options=True), since(altered=True), [RecalibrationCondition.OPTIONS]),
        (Policy(options=True), since(), []),
        (Policy(days=99.0), since(added=("x",)), []),
        (Policy(residuals=0.01), since(shifts=(shift(0.01),)), [RecalibrationCondition.RESIDUALS]),
        (Policy(residuals=0.01), since(shifts=(shift(0.006), shift(0.9))), []),
        (Policy(days=99.0), since(shifts=(shift(1e-9),)), []),
        (Policy(checks=1, days=1.0), since(checks=3), [RecalibrationCondition.CHECKS, RecalibrationCondition.DAYS]),
        (Policy(days=99.0), Since("orders"), [RecalibrationCondition.UNSCREENED]),
    ],
)
def test_what_is_due(policy: Policy, known: Since, expected: list[RecalibrationCondition]) -> None:
    found = due(policy, [known], NOW)
    assert conditions(found) == expected
    assert found.due == bool(expected)


def test_reasons_have_what_they_are_judged_by() -> None:
    [days] = due(Policy(days=7.0), [since()], NOW).reasons
    assert (days.value, days.limit) == (10.0, 7.0)
    [residuals] = due(Policy(residuals=0.05), [since(shifts=(shift(0.6), shift(0.01)))], NOW).reasons
    assert (residuals.value, residuals.limit, residuals.shift) == (0.02, 0.05, shift(0.01))


def test_the_level_is_that_of_all_benchmarks_together() -> None:
    benchmarks = [replace(since(shifts=(shift(0.004),)), benchmark=str(number)) for number in range(3)]
    assert not due(Policy(residuals=0.01), [replace(b, shifts=(shift(0.0034),)) for b in benchmarks], NOW).due
    assert len(due(Policy(residuals=0.01), [replace(b, shifts=(shift(0.003),)) for b in benchmarks], NOW).reasons) == 3


@pytest.mark.parametrize(
    "wrong",
    [{}, {"checks": 0}, {"days": 0.0}, {"days": math.nan}, {"residuals": 1.0}, {"days": 1.0, "tolerance": -0.1}],
)
def test_policies_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Policy(**wrong)  # type: ignore[arg-type]  # fields of several types


@given(
    first=st.floats(0.01, 400.0), second=st.floats(0.01, 400.0), days=st.floats(0.1, 300.0), checks=st.integers(0, 50)
)
def test_what_is_due_stays_due(first: float, second: float, days: float, checks: int) -> None:
    early, late = sorted([first, second])
    at = Since("orders", "screening-1", NOW)
    policy = Policy(days=days, checks=20)
    found = [
        set(conditions(due(policy, [replace(at, checks=made)], NOW + timedelta(days=after))))
        for made, after in ((checks, early), (checks + 1, late))
    ]
    assert found[0] <= found[1]


def screened(effects: Mapping[str, float] = TRUE, options: int = 5, runs: int = 32) -> ScreeningConclusion:
    return concluded(screening(options, runs), multiplying(effects, 0.01))


def logs(configuration: Configuration, effects: Mapping[str, float]) -> float:
    sign = {name: 1 if setting else -1 for name, setting in configuration.items()}
    return sum(size / 2 * math.prod(sign[letter] for letter in word) for word, size in effects.items())


def cells(options: int = 5, runs: int = 12) -> tuple[Configuration, ...]:
    return screening_suite(space(options), ("a", "b"), runs, np.random.default_rng(5)).configurations


def measured(effects: Mapping[str, float], rounds: int = 4, level: float = 0.0, deviation: float = 0.01) -> np.ndarray:
    base = np.array([logs(cell, effects) for cell in cells()])
    noise = np.random.default_rng(7).normal(0.0, deviation, (rounds, len(base)))
    return np.asarray(0.002 * np.exp(level + base + noise))


def test_what_a_screening_predicts_is_what_its_main_effects_say() -> None:
    model = MainEffectPrediction.of(screened(), EffectScale.LOG)
    assert model is not None
    assert set(model.settings) == set("abcde")
    main = {name: size for name, size in TRUE.items() if len(name) == 1}
    expected = np.array([logs(cell, main) for cell in cells()])
    found = model.columns(cells()) @ model.coefficients
    assert found - found.mean() == pytest.approx(expected - expected.mean(), abs=0.01)


def test_a_level_is_no_shift_and_another_effect_is() -> None:
    same = residual_shift(screened(), cells(), measured(TRUE, level=0.4))
    assert same is not None
    assert same.p_value > 0.2
    other = residual_shift(screened(), cells(), measured({**TRUE, "c": 0.4}))
    assert other is not None
    assert other.p_value < 0.01
    assert other.found == pytest.approx(0.2, rel=0.2)
    assert other.configurations == 12


def test_it_is_the_test_of_chow() -> None:
    """Against two regressions of statsmodels: with and without the new values, which have a level of their own."""
    effects, now = screened(runs=16), measured({**TRUE, "d": 0.03}, rounds=1, deviation=0.02)
    found = residual_shift(effects, cells(), now, tolerance=0.0)
    model = MainEffectPrediction.of(effects, EffectScale.LOG)
    assert found is not None
    assert model is not None
    own = list(dict.fromkeys(point.configuration for point in effects.points))
    then = np.log([point.value for point in effects.points])
    old = np.column_stack([np.ones(len(own)), np.zeros(len(own)), model.columns(own)])
    new = np.column_stack([np.ones(len(cells())), np.ones(len(cells())), model.columns(cells())])
    alone = sm.OLS(then, np.delete(old, 1, axis=1)).fit()
    both = sm.OLS(np.concatenate([then, np.log(now[0])]), np.vstack([old, new])).fit()
    more = len(cells()) - 1
    statistic = (both.ssr - alone.ssr) / more / (alone.ssr / alone.df_resid)
    assert found.p_value == pytest.approx(float(stats.f.sf(statistic, more, alone.df_resid)), rel=1e-6)


def test_what_a_model_was_always_wrong_by_is_no_shift() -> None:
    """An interaction that the screening could not tell: told by what the suite had beside it."""
    wrong = {**TRUE, "cde": 0.8}
    effects = screened()  # without it
    before = dict(zip(cells(), measured(wrong, rounds=1, deviation=0.0)[0].tolist(), strict=True))
    unaware = residual_shift(effects, cells(), measured(wrong), tolerance=0.0)
    aware = residual_shift(effects, cells(), measured(wrong), before, tolerance=0.0)
    assert unaware is not None
    assert aware is not None
    assert unaware.p_value < 0.001 < 0.2 < aware.p_value
    shifted = residual_shift(effects, cells(), measured({**wrong, "c": 0.4}), before)
    assert shifted is not None
    assert shifted.p_value < 1e-4


def test_beside_it_is_an_f_test_of_differences() -> None:
    now, then = measured({**TRUE, "d": 0.03}, rounds=4), measured(TRUE, rounds=1)[0]
    before = dict(zip(cells(), then.tolist(), strict=True))
    found = residual_shift(screened(), cells(), now, before, tolerance=0.0)
    assert found is not None
    away = np.log(now).mean(axis=0) - np.log(then)
    error = np.log(now).var(axis=0, ddof=1).mean() * (1 + 1 / 4)
    excess = stats.kurtosis((np.log(now) - np.log(now).mean(axis=0)).ravel()) / (28 / 48)  # of means of four
    peaked = 1 + max(0.0, float(excess)) / 2
    expected = stats.f.sf(away.var(ddof=1) / error, 11 / peaked, 36 / peaked)
    assert found.p_value == pytest.approx(float(expected), rel=1e-9)


def test_a_shift_within_the_tolerance_is_none() -> None:
    small = measured({**TRUE, "c": 0.06}, deviation=0.001)
    before = dict(zip(cells(), measured(TRUE, rounds=1, deviation=0.001)[0].tolist(), strict=True))
    tight = residual_shift(screened(), cells(), small, before, tolerance=0.0)
    usual = residual_shift(screened(), cells(), small, before)
    assert tight is not None
    assert usual is not None
    assert tight.p_value < 0.01 < 0.5 < usual.p_value


def test_what_cannot_be_tested_is_not() -> None:
    assert residual_shift(screened(), cells()[:1], measured(TRUE)[:, :1]) is None
    assert residual_shift(screened(), cells(), np.full((2, 12), np.nan)) is None
    one = residual_shift(screened(), cells(), np.where(np.arange(12) < 2, np.nan, measured(TRUE)))
    assert one is not None
    assert one.configurations == 10


def run(configuration: Configuration, value: float | None, unit: str = "s") -> Run:
    task = Task("s", "x", "orders", configuration, "1", Workload(), 0)
    observed = () if value is None else (Observations("latency", unit, np.array([value])),)
    outcome = Outcome.FAILED if value is None else Outcome.DONE
    return Run(task, "m", NOW, 0.1, outcome, observations=observed)


def test_runs_become_rounds_of_values_in_the_metrics_unit() -> None:
    one, other = Configuration({"a": True}), Configuration({"a": False})
    found = values_of(
        [run(one, 2.0), run(other, None), run(one, 3000.0, "ms"), run(Configuration(), 9.0)], LATENCY, [one, other]
    )
    assert found.shape == (2, 2)
    assert found[:, 0].tolist() == [2.0, 3.0]
    assert np.isnan(found[:, 1]).all()
    assert values_of([], Metric("x", "s"), [one]).shape == (0, 1)


def test_what_changed_is_told_with_both_sizes() -> None:
    before = screened({"a": 0.3, "b": -0.2})
    after = replace(screened({"a": 0.6, "c": 0.2}), study="screening-2")
    found = effect_changes(Prior("screening-1", tuple("abcde"), before), after)
    by_name = {effect.options: effect for effect in found.effects}
    assert [effect.options for effect in found.of(EffectStatus.BECAME)] == [("c",)]
    assert [effect.options for effect in found.of(EffectStatus.CEASED)] == [("b",)]
    assert [effect.options for effect in found.of(EffectStatus.STAYED)] == [("a",)]
    assert by_name["a",].moved
    assert by_name["a",].before == pytest.approx(math.expm1(0.3), rel=0.05)
    assert by_name["a",].after == pytest.approx(math.expm1(0.6), rel=0.05)
    assert not by_name["d",].moved
    assert (found.before, found.after, found.added, found.removed) == ("screening-1", "screening-2", (), ())


def test_options_that_came_and_went_are_named() -> None:
    found = effect_changes(Prior("screening-1", ("a", "b", "z")), screened(options=3, runs=16))
    assert (found.added, found.removed) == (("c",), ("z",))
    assert all(effect.before is None and not effect.moved for effect in found.effects)


@settings(max_examples=25)
@given(count=st.integers(5, 12), likely=st.sets(st.integers(0, 11), max_size=4), runs=st.sampled_from([16, 32, 64]))
def test_an_assignment_keeps_the_design_and_never_makes_the_likely_worse(
    count: int, likely: set[int], runs: int
) -> None:
    choice = choose(count, runs)
    assume(choice.resolution is None or choice.resolution > 3)  # else main effects come first
    named = [option for option in sorted(likely) if option < count]
    made = assigned(choice, named)
    names = tuple(f"o{place}" for place in range(count))
    before, after = choice.design(names), made.design(names)
    assert word_length_pattern(after) == word_length_pattern(before)
    assert replace(made, generators=choice.generators) == choice
    assert shared(after.matrix, named) <= shared(before.matrix, named)


def shared(matrix: np.ndarray, options: list[int]) -> int:
    """How many interactions of these options share their column with another of them."""
    columns = [tuple(matrix[:, a] * matrix[:, b] * matrix[0, a] * matrix[0, b]) for a, b in combinations(options, 2)]
    return len(columns) - len(set(columns))


def test_interactions_of_what_mattered_are_told_apart() -> None:
    choice = choose(6, 16)
    assert shared(choice.design(tuple("abcdef")).matrix, [0, 1, 2, 4]) > 0  # E=ABC
    assert shared(assigned(choice, [0, 1, 2, 4]).design(tuple("abcdef")).matrix, [0, 1, 2, 4]) == 0


@given(gone=st.sets(st.integers(0, 5), max_size=3), flipped=st.booleans())
def test_a_bygone_space_makes_the_same_configurations(gone: set[int], flipped: bool) -> None:
    choice = choose(6, 16)
    order = ("on", "off") if flipped else ("off", "on")
    then = Space(tuple(Option(f"o{place}", order, "off") for place in range(6)))
    made = configurations(choice.design(then.names), then)
    today = Space(tuple(option for place, option in enumerate(then.options) if place not in gone))
    found = earlier_space(choice, then.names, made, today)
    assert found is not None
    assert set(configurations(choice.design(found.names), found)) == set(made)
    assert all(found.option(option.name).settings == option.settings for option in today.options)


def test_a_bygone_space_that_runs_do_not_tell_is_none() -> None:
    choice = choose(6, 16)
    assert earlier_space(choice, tuple("abcdef"), [], space(5)) is None
    assert earlier_space(choice, tuple("abcde"), [], space(5)) is None


def test_a_study_that_recalibrates_is_another() -> None:
    def of(key: str | None) -> StudyId:
        return study_id(
            subject="s",
            revision="1",
            benchmark=BENCHMARK,
            space=space(3),
            budget="8",
            seed=1,
            machine="m",
            recalibrates=key,
        )

    assert len({of(key).family for key in (None, "screening-1", "screening-2")}) == 3


def test_the_command_is_that_of_each_benchmark_and_what_was_never_screened_is_not_repeated() -> None:
    folder = CommandLine(("my folder",), "orders", ("--store", "s.db"))
    reasons = (
        Reason(RecalibrationCondition.CHECKS, since(checks=4, command=folder), 4.0, 3.0),
        Reason(RecalibrationCondition.UNSCREENED, Since("other", command=replace(folder, benchmark="other"))),
    )
    assert (recalibration_sentence(Recalibration(reasons)) or "").startswith(
        "Determine the important options again by `hati screen 'my folder' --benchmark orders --store s.db "
        "--recalibrate`, `hati screen 'my folder' --benchmark other --store s.db`: "
    )
