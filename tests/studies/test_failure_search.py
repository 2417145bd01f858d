"""Planted failing combinations are named exactly, confirmed, and distinguished from flaky and foreign failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_subject import BENCHMARK

from hati.campaign import campaign
from hati.core import Budget, Configuration, Evidence, MeasurementError, Outcome, Run, Setting, Task, generator, replace
from hati.space import Option, Space, UsageDistribution, enumerate_configurations, parse_formula
from hati.studies.failure_search import CombinationVerdict, FailureConclusion, FailureSearch, failure_search_id
from hati.studies.failure_search.document import failures_document
from hati.testing import FakeEngine, MemoryStore

Fails = Callable[[Task], bool]
SPACE = Space(
    (
        *(Option(name, (False, True), default=False) for name in "abcde"),
        Option("z", ("x", "y", "z"), default="x"),
    )
)


def searched(
    fails: Fails, space: Space = SPACE, strength: int = 2, seed: int = 1, budget: int = 500
) -> tuple[FailureConclusion, Evidence]:
    """What is found, and all runs."""
    store, study = MemoryStore(), study_of(space, strength, seed)

    def measure(task: Task) -> Mapping[str, list[float]] | str:
        return "broken" if fails(task) else {"latency": [1.0]}

    found = campaign(study, FakeEngine(measure), store, Budget(runs=budget))
    return found, store.evidence(study.id)


def study_of(space: Space = SPACE, strength: int = 2, seed: int = 1) -> FailureSearch:
    id_ = failure_search_id(
        benchmark=BENCHMARK, revision="1", space=space, strength=strength, seed=seed, machine="fake"
    )
    return FailureSearch(id_, BENCHMARK, "1", space, strength)


def having(**wanted: Setting) -> Fails:
    return lambda task: all(task.configuration.get(name) == setting for name, setting in wanted.items())


def named(found: FailureConclusion) -> list[dict[str, Setting]]:
    return [dict(each.settings) for each in found.combinations]


@pytest.mark.parametrize("wanted", [{"a": True}, {"a": False}, {"b": True, "z": "y"}, {"c": False, "d": True}])
def test_a_planted_combination_is_named_and_confirmed(wanted: dict[str, Setting]) -> None:
    found, evidence = searched(having(**wanted))
    assert named(found) == [wanted]
    [one] = found.combinations
    assert one.verdict is CombinationVerdict.CERTAIN
    assert (one.failed == one.runs, one.runs >= 6, one.near_failed, one.near_runs >= 6) == (True, True, 0, True)
    assert one.configurations >= 6
    assert found.complete
    assert not found.untraced
    assert len(evidence.runs) <= 45


def test_without_a_failure_the_array_is_all_that_runs() -> None:
    found, evidence = searched(lambda _: False)
    assert (found.combinations, found.failed, found.coverage.share) == ((), 0, 1.0)
    assert len(evidence.runs) == len(study_of().first_rows)
    assert evidence.runs[0].task.configuration == SPACE.default


def test_what_can_pass_is_seen_passing_in_spite_of_a_failing_combination() -> None:
    found, _ = searched(having(b=True, z="y"))
    coverage = found.coverage
    assert (coverage.excluded, coverage.unseen) == (1, 0)
    assert coverage.passing == coverage.valid - 1


@pytest.mark.acceptance
def test_several_combinations() -> None:
    found, _ = searched(lambda task: having(a=True, b=True)(task) or having(z="z")(task), strength=3)
    assert sorted(named(found), key=len) == [{"z": "z"}, {"a": True, "b": True}]


@pytest.mark.acceptance
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_planted_combinations_are_named_exactly(data: st.DataObject) -> None:
    """What is named excludes all configurations that fail, and no other, under a constraint too."""
    ruled = Space(SPACE.options[1:], (parse_formula("b == false or z == 'x'"),))
    space = data.draw(st.sampled_from([Space(SPACE.options[:5]), ruled]))
    faults = []
    for _ in range(data.draw(st.integers(1, 2))):
        options = data.draw(
            st.lists(st.sampled_from(space.options), min_size=1, max_size=3, unique_by=lambda o: o.name)
        )
        faults.append({each.name: data.draw(st.sampled_from(each.settings)) for each in options})

    def fails(task: Task) -> bool:
        return any(having(**fault)(task) for fault in faults)

    everything = list(enumerate_configurations(space))
    failing = [_fails(configuration, faults) for configuration in everything]
    if sum(failing) > 0.6 * len(everything):
        return
    found, _ = searched(fails, space, strength=3)
    assert [_fails(configuration, named(found)) for configuration in everything] == failing
    assert all(each.verdict is CombinationVerdict.CERTAIN for each in found.combinations)


def _fails(configuration: Configuration, faults: list[dict[str, Setting]]) -> bool:
    return any(all(configuration.get(name) == setting for name, setting in fault.items()) for fault in faults)


@pytest.mark.acceptance
def test_a_flaky_combination_is_named_as_flaky() -> None:
    rng = generator(3, "flaky")
    found, _ = searched(lambda task: having(a=True, b=True)(task) and rng.random() < 0.6, strength=3)
    assert named(found) == [{"a": True, "b": True}]
    [one] = found.combinations
    assert one.verdict is CombinationVerdict.FLAKY
    assert 0 < one.failed < one.runs
    assert (one.near_failed, one.p_value <= 0.005) == (0, True)


def test_a_failure_that_does_not_come_again_is_not_traced() -> None:
    failures = iter([False, False, True])
    found, evidence = searched(lambda _: next(failures, False))
    assert not found.combinations
    [one] = found.untraced
    assert (one.failed, one.runs, one.reason) == (1, 10, "it failed in 1 of 10 runs, too rarely to be traced")
    assert found.complete
    assert len(evidence.runs) < 30


def test_runs_that_cannot_be_started_are_not_failures_of_the_configuration() -> None:
    study, runs = study_of(), list[Run]()
    engine = FakeEngine(lambda task: "broken" if having(a=True, b=True)(task) else {"latency": [1.0]})
    while plan := study.plan(Evidence(tuple(runs))):
        [run] = engine.run(plan.tasks[:1])
        lost = len(runs) % 4 == 1
        runs.append(replace(run, outcome=Outcome.NOT_STARTED, detail="no machine", observations=()) if lost else run)
    found = study.conclude(Evidence(tuple(runs)))
    assert named(found) == [{"a": True, "b": True}]
    assert found.infrastructure == sum(run.outcome is Outcome.NOT_STARTED for run in runs) > 0
    assert any("could not be started" in each for each in found.warnings)


def test_a_machine_that_is_lost_for_good_ends_the_search() -> None:
    study, runs = study_of(), list[Run]()
    engine = FakeEngine(lambda task: "broken" if having(a=True)(task) else {"latency": [1.0]})
    while plan := study.plan(Evidence(tuple(runs))):
        [run] = engine.run(plan.tasks[:1])
        lost = len(runs) > 8
        runs.append(replace(run, outcome=Outcome.NOT_STARTED, detail="no machine", observations=()) if lost else run)
        assert len(runs) < 300
    found = study.conclude(Evidence(tuple(runs)))
    assert found.passed + found.failed == 9
    assert found.infrastructure == len(runs) - 9


def test_a_benchmark_that_always_fails_ends_early_with_its_reason() -> None:
    with pytest.raises(MeasurementError, match="none of 16 configurations passed: broken"):
        searched(lambda _: True, strength=3)


def test_a_budget_that_is_too_small_is_said() -> None:
    found, evidence = searched(having(a=True, b=True), strength=3, budget=12)
    assert (found.complete, len(evidence.runs)) == (False, 12)


@pytest.mark.acceptance
def test_the_plan_is_a_function_of_the_evidence() -> None:
    found, evidence = searched(having(a=True, b=True))
    study = study_of()
    assert study.conclude(evidence) == found
    for number in range(len(evidence.runs)):
        [task] = study.plan(Evidence(evidence.runs[:number])).tasks
        assert task.id == evidence.runs[number].task.id


def test_configurations_in_use_run_first() -> None:
    usage = UsageDistribution.of({"a": {False: 1, True: 9}, "z": {"x": 1, "y": 0, "z": 4}})
    plain = study_of()
    weighted = replace(plain, usage=usage)
    rows = weighted.first_rows
    assert set(rows) == set(plain.first_rows)
    assert rows[0] == SPACE.default
    fractions = [usage.fraction(row.items()) for row in rows[1:]]
    assert fractions == sorted(fractions, reverse=True) != [fractions[0]] * len(fractions)
    store, study = MemoryStore(), weighted
    found = campaign(
        study,
        FakeEngine(lambda task: "broken" if having(a=True, z="z")(task) else {"latency": [1.0]}),
        store,
        Budget(runs=500),
    )
    [one] = found.combinations
    assert (dict(one.settings), one.usage) == ({"a": True, "z": "z"}, pytest.approx(0.72))


def test_usage_makes_another_study() -> None:
    usage = UsageDistribution.of({"a": {False: 1, True: 9}})
    ids = [
        failure_search_id(benchmark=BENCHMARK, revision="1", space=SPACE, strength=2, seed=1, machine="m", usage=each)
        for each in (UsageDistribution(), usage)
    ]
    assert ids[0] != ids[1]
    assert "usage" not in ids[0].parameters


def test_messages_that_differ_only_in_numbers_are_one() -> None:
    store, study = MemoryStore(), study_of()

    def measure(task: Task) -> Mapping[str, list[float]] | str:
        needed = 64 + 8 * sum(map(bool, task.configuration.values()))
        return f"{needed} MiB are required" if having(b=True, z="y")(task) else {"latency": [1.0]}

    found = campaign(study, FakeEngine(measure), store, Budget(runs=500))
    [message] = found.failures
    assert message.endswith(f"MiB are required ({found.failed} runs)")
    (combination,) = found.combinations
    (table,) = (each for each in failures_document(found).tables if each.title == "Settings that fail together")
    assert table.notes[0] == f"First failure of {combination.text}: {combination.message}."
    assert combination.message not in {cell for row in table.rows for cell in row}
