"""Failures are traced to the fewest settings that fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_subject import BENCHMARK

from hati.campaign import campaign
from hati.core import Budget, Configuration, Evidence, MeasurementError, Outcome, Plan, Run, Setting, StudyId, Task
from hati.space import Option, Space, parse_formula
from hati.studies.failures import failure_reasons, normalised
from hati.studies.screening import Isolated, Isolation, Pilot
from hati.studies.screening.isolation import STAGE
from hati.testing import FakeEngine, MemoryStore

ID = StudyId.of("screening", {}, 1, "fake")
LETTERS = "abcdefghijklmnopq"
SPACE = Space(
    (
        *(Option(name, (False, True), default=False) for name in LETTERS[:-1]),
        Option(LETTERS[-1], ("x", "y", "z"), default="x"),
    )
)
Fails = Callable[[Mapping[str, Setting]], bool]


def traced(fails: Fails, *configurations: Configuration, space: Space = SPACE) -> tuple[Isolated, int]:
    """What is found from these runs of a design, and how many runs it took."""
    store = MemoryStore()

    def measure(task: Task) -> Mapping[str, list[float]] | str:
        return "broken" if fails(task.configuration) else {"latency": [1.0]}

    engine = FakeEngine(measure)
    tasks = tuple(Task(ID.key, "design", "orders", c, "1", BENCHMARK.workload, 0) for c in configurations)
    for run in engine.run(Plan(tasks)):
        store.record(run)
    found = campaign(Isolation(ID, BENCHMARK, "1", space), engine, store, Budget(runs=200))
    return found, len(store.evidence(ID).stage(STAGE).runs)


def everything(space: Space = SPACE) -> Configuration:
    return space.canonical({option.name: option.settings[-1] for option in space.options})


def test_one_of_seventeen_settings_in_few_runs() -> None:
    found, runs = traced(lambda c: c["k"] is True, everything())
    assert (list(map(str, found.formulas)), found.described) == (["k != true"], ("k=true",))
    assert runs <= 2 + 2 * 5


def test_settings_that_worked_are_suspected_last() -> None:
    half = SPACE.canonical(dict.fromkeys(LETTERS[:10], True))
    found, runs = traced(lambda c: c["q"] == "z", half, everything())
    assert found.described == ("q=z",)
    assert runs <= 2 + 2 * 3 + 1


def test_a_combination() -> None:
    found, _ = traced(lambda c: bool(c["b"] and c["n"]), everything())
    assert list(map(str, found.formulas)) == ["not (b == true and n == true)"]


def test_several_each() -> None:
    found, _ = traced(lambda c: bool(c["b"] or c["c"] or c["q"] == "z"), everything(), SPACE.canonical({"b": True}))
    assert {"b=true", "c=true", "q=z"} >= set(found.described)
    assert set(found.described)


def test_a_failure_that_does_not_come_again() -> None:
    failed = iter([True])
    found, runs = traced(lambda c: next(failed, False), everything())
    assert (found, runs) == (Isolated(), 2)


def test_one_failure_by_chance_on_the_way_excludes_nothing_that_works() -> None:
    """With k=true runs fail; of a=true alone one does, too."""
    alone, failed = SPACE.canonical({"a": True}), iter([True])
    asked = SPACE.canonical({"a": True, "k": True})
    found, runs = traced(lambda c: c["k"] is True or (c == alone and next(failed, False)), asked)
    assert found.described == ("k=true",)
    assert runs <= 6


def test_a_default_that_failed_once_is_run_again() -> None:
    failed = iter([True])
    found, _ = traced(lambda c: c["k"] is True or (c == SPACE.default and next(failed, False)), everything())
    assert found.described == ("k=true",)


def test_nothing_failed() -> None:
    assert traced(lambda c: False, everything()) == (Isolated(), 0)


def test_a_default_that_does_not_work() -> None:
    with pytest.raises(MeasurementError, match="the default configuration does not work: broken"):
        traced(lambda c: c["a"] is False, SPACE.default, everything())


def test_a_default_without_the_metric_works() -> None:
    tasks = (Task(ID.key, "design", "orders", SPACE.default, "1", BENCHMARK.workload, number) for number in range(2))
    start, said = datetime(2026, 1, 1, tzinfo=UTC), "no metric 'latency'"
    runs = tuple(Run(task, "m", start, 1.0, Outcome.UNREADABLE, said) for task in tasks)
    with pytest.raises(MeasurementError, match="works, but its output cannot be read: no metric 'latency'"):
        Isolation(ID, BENCHMARK, "1", SPACE).plan(Evidence(runs))


def test_constraints_are_kept_to() -> None:
    space = Space(SPACE.options, (parse_formula("a <=> b"), parse_formula("c => d")))

    def fails(c: Mapping[str, Setting]) -> bool:
        assert c["a"] == c["b"]
        assert not c["c"] or c["d"]
        return bool(c["c"])

    found, _ = traced(fails, everything(space), space=space)
    assert set(found.described) <= {"c=true with d=true", "c=true", "d=true with c=true"}
    assert found.described


def test_an_option_that_is_active_under_a_condition() -> None:
    space = Space((*SPACE.options, Option("under", (1, 2), default=1, active_if=parse_formula("a"))))
    found, _ = traced(lambda c: c.get("under") == 2, everything(space), space=space)
    (formula,) = found.formulas
    from hati.space.evaluation import holds

    assert holds(formula, space.default)
    assert not holds(formula, everything(space))


@settings(max_examples=60)
@given(st.sets(st.sampled_from(LETTERS[:-1]), min_size=1, max_size=3))
def test_what_is_found_is_all_that_fails(culprits: set[str]) -> None:
    found, _ = traced(lambda c: all(c[name] for name in culprits), everything())
    (described,) = found.described
    assert set(described.split(" with ")) == {f"{name}=true" for name in culprits}


class TestPilots:
    @pytest.mark.parametrize("most", [2, 3, 7])
    def test_every_setting_in_as_few_configurations_as_an_option_has_settings(self, most: int) -> None:
        space = Space((*SPACE.options, Option("level", tuple(range(most)), default=most // 2)))
        tasks = Pilot(ID, BENCHMARK, BENCHMARK.metrics[0], "1", space).tasks
        configurations = {task.configuration for task in tasks}
        for option in space.options:
            assert {each[option.name] for each in configurations} == set(option.settings)
        assert len(tasks) == max(5, 3 + most - 1)

    def test_under_constraints(self) -> None:
        space = Space(SPACE.options, (parse_formula("not (a and b)"), parse_formula("c => not d")))
        configurations = {task.configuration for task in Pilot(ID, BENCHMARK, BENCHMARK.metrics[0], "1", space).tasks}
        assert all(map(space.valid, configurations))
        for option in space.options:
            assert {each[option.name] for each in configurations} == set(option.settings)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nginx: [emerg] 12#12: bad type in /a/12/nginx.conf:3", "nginx: [emerg] 9#9: bad type in /tmp/b/nginx.conf:3"),
        ("2026-11-23 08:00:01.2 UTC [17] FATAL: x", "2026-11-24 09:10:11 UTC [4711] FATAL: x"),
        ("at 0x7fffab12 in 5f3a9c01b2", "at 0x7fffab18 in 6e3a9c01b2"),
    ],
)
def test_messages_that_differ_in_what_varies_are_one(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_messages_that_differ_in_words_are_two() -> None:
    assert normalised("cannot open a.conf") != normalised("cannot open b.conf")
    assert normalised("unknown type poll") != normalised("unknown type select")


def test_reasons_are_counted_by_message() -> None:
    def measure(task: Task) -> str:
        return f"fatal {task.id}: cannot use port {task.repetition * 1000 + 17} in /tmp/{task.id}/x"

    tasks = tuple(Task(ID.key, "design", "b", SPACE.default, "1", BENCHMARK.workload, n) for n in range(64))
    runs = list(FakeEngine(measure).run(Plan(tasks)))
    (reason,) = failure_reasons(runs, BENCHMARK.metrics[0])
    assert reason.endswith("(64 runs)")
