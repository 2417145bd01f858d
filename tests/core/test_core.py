"""The words: what is equal, what is refused, what is hashed."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    ConfigurationFile,
    Evidence,
    InputError,
    Metric,
    Observations,
    Outcome,
    Place,
    Plan,
    Reader,
    ReaderKind,
    Run,
    StudyId,
    Task,
    Workload,
    conversion,
    generator,
    parse_duration,
    parse_unit,
)

SETTINGS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def a_task(**changes: object) -> Task:
    fields: dict[str, object] = {
        "study": "s-1",
        "stage": "design",
        "benchmark": "b",
        "configuration": Configuration({"a": 1}),
        "revision": "r",
        "workload": Workload(),
        "repetition": 0,
    }
    return Task(**(fields | changes))  # type: ignore[arg-type]  # fields of several types


def a_run(task: Task, seconds: float = 1.0) -> Run:
    return Run(task, "m", datetime(2026, 1, 1, tzinfo=UTC), seconds, Outcome.FAILED, detail="x")


class TestConfiguration:
    @given(st.dictionaries(st.text(), SETTINGS))
    def test_equal_whatever_the_order(self, settings: dict[str, object]) -> None:
        backwards = dict(reversed(settings.items()))
        assert Configuration(settings) == Configuration(backwards)
        assert hash(Configuration(settings)) == hash(Configuration(backwards))
        assert dict(Configuration(settings)) == settings

    @pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ("1", 1), ("true", True)])
    def test_tells_apart_what_python_takes_for_equal(self, one: object, other: object) -> None:
        assert Configuration({"a": one}) != Configuration({"a": other})  # type: ignore[dict-item]  # settings of all types

    @pytest.mark.parametrize("setting", [math.nan, math.inf, None, [1], {}, b"x"])
    def test_refuses_what_is_no_setting(self, setting: object) -> None:
        with pytest.raises(InputError):
            Configuration({"a": setting})  # type: ignore[dict-item]  # settings of all types


def test_parameters_have_their_places_as_they_are_declared() -> None:
    one, other = Workload({"rows": 1, "kind": "x"}), Workload({"kind": "x", "rows": 1})
    assert one == other
    assert str(one) == str(other) == "kind=x rows=1"
    assert (one.declared, other.declared) == (("rows", "kind"), ("kind", "rows"))


class TestTask:
    @pytest.mark.parametrize(
        "change",
        [
            {"study": "s-2"},
            {"stage": "pilot"},
            {"benchmark": "c"},
            {"configuration": Configuration({"a": True})},
            {"revision": "q"},
            {"workload": Workload({"n": 1})},
            {"repetition": 1},
        ],
    )
    def test_everything_that_determines_it_is_in_its_id(self, change: dict[str, object]) -> None:
        assert a_task().id == a_task().id
        assert a_task(**change).id != a_task().id

    def test_the_id_is_the_same_in_every_process(self) -> None:
        assert a_task().id == "933f4789cb3de020621b9816"


def test_a_studys_campaigns_are_of_one_family() -> None:
    one = StudyId.of("screening", {"b": 1, "a": 2}, 1, "m")
    assert one == StudyId.of("screening", {"a": 2, "b": 1}, 1, "m")
    assert one.family == one.numbered(2).family
    assert one.key != one.numbered(2).key
    begun = one.numbered(1, "0a1b")
    assert (begun.family, begun.key) == (one.family, f"{one.key}-0a1b")
    for other in (
        StudyId.of("probe", {"a": 2, "b": 1}, 1, "m"),
        StudyId.of("screening", {"a": 2, "b": 2}, 1, "m"),
        StudyId.of("screening", {"a": 2, "b": 1}, 2, "m"),
        StudyId.of("screening", {"a": 2, "b": 1}, 1, "n"),
    ):
        assert other.family != one.family


def test_a_campaigns_order_is_its_own_whatever_the_seed() -> None:
    one = StudyId.of("check", {"revisions": ["a", "b"]}, 1, "m")
    others = (
        StudyId.of("check", {"revisions": ["a", "c"]}, 1, "m"),
        StudyId.of("check", {"revisions": ["a", "b"]}, 2, "m"),
        StudyId.of("check", {"revisions": ["a", "b"]}, 1, "n"),
        one.numbered(2),
    )
    drawn = {each.order("exploring", "0").bytes(8) for each in (one, *others)}
    assert len(drawn | {one.order("exploring", "1").bytes(8)}) == 6
    assert one.numbered(1, "0a1b").order("exploring", "0").bytes(8) == one.order("exploring", "0").bytes(8)


class TestObservations:
    def test_warm_up_is_kept_and_left_out_of_the_mean(self) -> None:
        observations = Observations("m", "s", np.array([9.0, 1.0, 3.0]), warmup=1)
        assert observations.values.tolist() == [9.0, 1.0, 3.0]
        assert observations.mean == 2.0

    def test_cannot_be_changed_from_outside(self) -> None:
        values = np.array([1.0, 2.0])
        observations = Observations("m", "s", values)
        values[0] = 5.0
        assert observations.values[0] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            observations.values[0] = 2.0

    @pytest.mark.parametrize(
        ("values", "warmup"), [([], 0), ([1.0], 1), ([1.0], -1), ([math.nan], 0), ([math.inf], 0), ([[1.0]], 0)]
    )
    def test_refuses_what_says_nothing(self, values: list[float], warmup: int) -> None:
        with pytest.raises(InputError):
            Observations("m", "s", np.array(values), warmup)


class TestBudget:
    @pytest.mark.parametrize(
        ("text", "budget"),
        [
            ("96", Budget(runs=96)),
            ("2m", Budget(seconds=120)),
            (" 500ms", Budget(seconds=0.5)),
            ("1.5h", Budget(seconds=5400)),
        ],
    )
    def test_is_runs_or_time(self, text: str, budget: Budget) -> None:
        assert Budget.parse(text) == budget

    @pytest.mark.parametrize("text", ["", "0", "-3", "2 parsecs", "1e3", "nan", "0s", "９", "2m2s"])
    def test_refuses_others_and_says_what_would_do(self, text: str) -> None:
        with pytest.raises(InputError, match=r"96|at least 1"):
            Budget.parse(text)

    @pytest.mark.parametrize(
        ("text", "runs"), [("24 rounds", 192), (" 1 round", 8), ("2 pairs per commit", 4), ("96", 96)]
    )
    def test_is_in_units_whose_runs_are_known(self, text: str, runs: int) -> None:
        assert Budget.parse(text, {"rounds": 8, "pairs per commit": 2}) == Budget(runs=runs)

    @pytest.mark.parametrize("text", ["0 rounds", "-1 rounds", "rounds", "2 pairs", "1.5 rounds"])
    def test_refuses_other_units(self, text: str) -> None:
        with pytest.raises(InputError, match=r"is not a valid budget; give .* or a number of rounds"):
            Budget.parse(text, {"rounds": 8})

    @given(st.text())
    def test_any_text_is_a_budget_or_an_input_error(self, text: str) -> None:
        with contextlib.suppress(InputError):
            assert not Budget.parse(text).spent

    def test_what_is_left_is_read_from_the_evidence(self) -> None:
        evidence = Evidence((a_run(a_task(), 1.5), a_run(a_task(repetition=1), 2.0)))
        assert Budget(runs=3).left(evidence) == Budget(runs=1)
        assert Budget(seconds=3).left(evidence).spent

    def test_a_run_costs_what_it_takes_without_the_build_before_the_first(self) -> None:
        built = [a_run(a_task(repetition=n), 21.0 if n == 0 else 1.0) for n in range(4)]
        assert Evidence(tuple(built)).seconds_per_run == pytest.approx(1.0)
        once = a_run(a_task(configuration=Configuration({"a": 2})), 9.0)
        assert Evidence((*built, once)).seconds_per_run == pytest.approx(13.0 / 5)
        assert Evidence(()).seconds_per_run == 0.0

    def test_a_plan_is_cut_to_it(self) -> None:
        plan = Plan.of(a_task(repetition=n) for n in range(5))
        assert len(plan.within(Budget(runs=2))) == 2
        assert len(plan.within(Budget(seconds=1))) == 5
        assert not plan.within(Budget(runs=0))
        assert not plan.within(Budget(seconds=0))
        assert plan.at_most(2).expected_total == 5
        assert plan.at_most(2).within(Budget(runs=3)).expected_total == 3


class TestUnits:
    @pytest.mark.parametrize(
        ("source", "target", "factor"),
        [
            ("ms", "s", 1e-3),
            ("s", "us", 1e6),
            ("MiB", "B", 2**20),
            ("1/ms", "1/s", 1e3),
            ("MB/s", "B/s", 1e6),
            ("page", "page", 1),
        ],
    )
    def test_scale(self, source: str, target: str, factor: float) -> None:
        assert conversion(source, target) == pytest.approx(factor)

    @pytest.mark.parametrize(("source", "target"), [("s", "B"), ("1/s", "s"), ("page", "frame"), ("", "s")])
    def test_dimensions_are_not_mixed(self, source: str, target: str) -> None:
        with pytest.raises(InputError, match="cannot be converted"):
            conversion(source, target)

    @given(st.sampled_from(["s", "ms", "us", "ns", "min", "h"]), st.sampled_from(["s", "ms", "us", "ns", "min", "h"]))
    def test_there_and_back(self, one: str, other: str) -> None:
        assert conversion(one, other) * conversion(other, one) == pytest.approx(1)

    @given(st.text(max_size=30))
    def test_any_text_is_a_unit(self, text: str) -> None:
        assert parse_unit(text).scale > 0

    def test_durations(self) -> None:
        assert parse_duration("30s") == 30
        with pytest.raises(InputError, match="not a valid duration"):
            parse_duration("soon")


def test_generators_of_different_purposes_differ_and_repeat() -> None:
    assert generator(1, "order").random() == generator(1, "order").random()
    draws = {generator(seed, *purpose).random() for seed in (1, 2) for purpose in [("a", "b"), ("ab",), ("a",)]}
    assert len(draws) == 6


class TestPlace:
    def test_points_with_a_caret(self) -> None:
        error = InputError("unknown key", place=Place("f.toml", 3, 5, "a = bcd"), fix="remove it")
        assert str(error) == "f.toml:3:5: unknown key; remove it\n  a = bcd\n      ^"

    @given(st.text(max_size=400), st.integers(1, 400))
    def test_the_caret_stays_on_the_screen(self, text: str, column: int) -> None:
        column = min(column, len(text) + 1)
        caret = Place("f", 1, column, text).caret()
        assert caret is not None
        lines = caret.split("\n")
        assert len(lines) == 2
        assert lines[1].endswith("^")
        assert all(len(line) <= 110 for line in lines)


def test_a_run_is_done_exactly_when_it_has_observations() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InputError):
        Run(a_task(), "m", start, 1.0, Outcome.DONE)
    with pytest.raises(InputError):
        Run(a_task(), "m", start, 1.0, Outcome.FAILED, observations=(Observations("m", "s", np.ones(1)),))
    with pytest.raises(InputError, match="time zone"):
        Run(a_task(), "m", start.replace(tzinfo=None), 1.0, Outcome.FAILED)


def test_a_long_template_counts_by_its_hash() -> None:
    def with_template(template: str) -> str:
        files = (ConfigurationFile("run.py", template, "run.py.j2"),)
        return Benchmark("b", ("true",), Reader(ReaderKind.HATI), (Metric("time", "s"),), files=files).definition

    assert "short" in with_template("short")
    long = "a" * 20_000
    assert len(with_template(long)) < 1000
    assert with_template(long) == with_template(long) != with_template(f"{long}b")
