"""Bisections: that they find the commits, at which cost, and what they say where they cannot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    InputError,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
    Workload,
)
from hati.studies.bisection import (
    Bisection,
    BisectionConclusion,
    ProbeSide,
    RevisionLevels,
    bisection_document,
    bisection_id,
    stage,
)
from hati.studies.comparison import Question, Statistic
from hati.testing import FakeEngine, MemoryStore

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
LINE = tuple(Revision(f"r{number:02}", RevisionKind.GIT) for number in range(41))
SLIGHT = {1: 1.08, 2: 1.12}
Measured = Callable[[Task], Mapping[str, Sequence[float]] | str]


def bisection(budget: int = 2000, seed: int = 1, line: tuple[Revision, ...] = LINE) -> Bisection:
    study = bisection_id(MAIN, Configuration(), TIME, line, Question(), seed, "m")
    return Bisection(study, MAIN, Configuration(), TIME, line, Question(), Budget(runs=budget))


def measured(
    changes: Mapping[int, float], deviation: float = 0.02, broken: Sequence[int] = (), seed: int = 1
) -> Measured:
    def of(task: Task) -> dict[str, list[float]] | str:
        number = int(task.revision[1:])
        if number in broken:
            return "it does not build"
        rng = np.random.default_rng([seed, int(task.id[:12], 16)])
        level = math.prod(ratio for place, ratio in changes.items() if number >= place)
        return {"time": [2.0 * level * float(np.exp(rng.normal(0.0, deviation)))]}

    return of


def made(study: Bisection, values: Measured) -> tuple[BisectionConclusion, Evidence]:
    store = MemoryStore()
    return campaign(study, FakeEngine(values), store, study.budget), store.evidence(study.id)


def names(found: BisectionConclusion) -> list[list[str]]:
    return [[revision.id for revision in culprit.revisions] for culprit in found.culprits]


@pytest.mark.parametrize("place", [1, 2, 17, 39, 40])
@pytest.mark.parametrize("ratio", [1.3, 0.9])
def test_the_commit_is_found(place: int, ratio: float) -> None:
    found, evidence = made(bisection(), measured({place: ratio}))
    assert names(found) == [[f"r{place:02}"]]
    [culprit] = found.culprits
    assert culprit.ratio == pytest.approx(ratio, rel=0.05)
    assert culprit.confidence == 0.99
    assert culprit.interval is not None
    assert culprit.interval[0] < ratio < culprit.interval[1]
    assert len(evidence.runs) < 400
    assert not found.open_ranges


def test_several_changes_are_found() -> None:
    found, _ = made(bisection(), measured({9: 1.2, 28: 1.2}))
    assert names(found) == [["r09"], ["r28"]]


def test_revisions_that_do_not_work_are_passed_over() -> None:
    found, evidence = made(bisection(), measured({20: 1.3}, broken=[18, 19, 21]))
    assert names(found) == [["r18", "r19", "r20"]]
    assert {revision.id for revision in found.skipped} <= {"r18", "r19", "r21"}
    assert len(evidence.failed) <= 3 * 6


def test_without_a_change_there_is_nothing_to_be_found() -> None:
    found, evidence = made(bisection(), measured({}))
    assert not found.culprits
    assert not found.open_ranges
    assert len(evidence.runs) <= 2 * 64


def test_a_change_within_the_margin_is_not_followed() -> None:
    found, evidence = made(bisection(), measured({17: 1.02}, deviation=0.002))
    assert (found.culprits, found.open_ranges, found.same) == ((), (), True)
    assert found.interval is not None
    assert 1.0 < found.interval[0] < found.interval[1] < 1.05
    assert {run.task.revision for run in evidence.runs} == {"r00", "r40"}
    beyond, _ = made(bisection(), measured({17: 1.08}, deviation=0.002))
    assert (names(beyond), beyond.same) == ([["r17"]], False)


def test_what_the_budget_does_not_find_is_told() -> None:
    found, evidence = made(bisection(budget=40), measured({17: 1.3}))
    assert len(evidence.runs) == 40
    assert not found.culprits
    [(first, last)] = found.open_ranges
    assert int(first.id[1:]) < 17 <= int(last.id[1:])
    more, _ = made(bisection(), measured({17: 1.3}))
    assert names(more) == [["r17"]]


@pytest.mark.parametrize("budget", [2, 20])
def test_whether_there_is_a_change_stays_open_where_the_budget_does_not_tell(budget: int) -> None:
    found, _ = made(bisection(budget=budget), measured({17: 1.02}))
    assert not found.culprits
    assert [(first.id, last.id) for first, last in found.open_ranges] == [("r00", "r40")]


def test_ends_that_differ_unclearly_are_measured_while_the_budget_lasts() -> None:
    values, store = measured({17: 1.2}, deviation=0.4), MemoryStore()
    for budget in (200, 300):
        study = bisection(budget=budget)
        found = campaign(study, FakeEngine(values), store, study.budget)
        assert (found.runs, found.pairs) == (budget, budget // 2)
        assert (found.culprits, found.same, found.decided) == ((), False, False)
        assert [(first.id, last.id) for first, last in found.open_ranges] == [("r00", "r40")]
    answer = bisection_document(found).answer
    assert answer.startswith("Not decided whether the two revisions differ, after 150 pairs; ")
    assert f" {found.pairs_needed:,} would decide with 80 % probability" in answer
    assert found.pairs_needed is not None
    assert found.pairs_needed > found.pairs


def test_a_located_change_is_measured_until_the_budget_ends() -> None:
    few = bisection(budget=500, line=LINE[:4])
    found = campaign(few, FakeEngine(measured(SLIGHT, deviation=0.15)), MemoryStore(), few.budget)
    assert found.culprits
    assert (found.unshown, found.decided, found.runs) == (True, False, 500)
    assert bisection_document(found).answer.startswith("Most likely changed by ")


@pytest.mark.acceptance
def test_a_located_change_is_measured_until_it_is_shown() -> None:
    line, values, store = LINE[:4], measured(SLIGHT, deviation=0.15), MemoryStore()
    few = bisection(budget=500, line=line)
    campaign(few, FakeEngine(values), store, few.budget)
    more = bisection(budget=3000, line=line)
    found = campaign(more, FakeEngine(values), store, more.budget)
    assert (found.unshown, found.decided) == (False, True)
    assert found.runs < 3000


@pytest.mark.parametrize("end", [0, 40])
def test_an_end_that_does_not_work_is_told(end: int) -> None:
    with pytest.raises(MeasurementError, match="it does not build"):
        made(bisection(), measured({}, broken=[end]))


def test_a_killed_campaign_measures_nothing_twice() -> None:
    study, values = bisection(), measured({17: 1.3})
    _, evidence = made(study, values)
    store = MemoryStore()
    engine = FakeEngine(values)
    while plan := study.plan(store.evidence(study.id)):
        for run in engine.run(plan.at_most(1).tasks):
            assert store.record(run)
    assert [run.task.id for run in store.evidence(study.id).runs] == [run.task.id for run in evidence.runs]


def test_a_pair_of_two_machines_does_not_count() -> None:
    machines = {
        (0, ProbeSide.BASE): "a",
        (0, ProbeSide.PROBE): "b",
        (1, ProbeSide.BASE): "a",
        (1, ProbeSide.PROBE): "a",
    }
    runs = []
    for (number, side), machine in machines.items():
        task = Task("k", stage("r01", side), "main", Configuration(), "r01", Workload(), number)
        value = 2.0 if side is ProbeSide.PROBE else 1.0
        runs += FakeEngine(lambda _, value=value: {"time": [value]}, machine=machine).run((task,))
    levels = RevisionLevels(Evidence(tuple(runs)), TIME, Statistic(), 0.01)
    assert levels.pairs("r01") == 2
    assert levels.differences("r01") == pytest.approx([math.log(2.0)])


def test_what_cannot_be_bisected_is_refused() -> None:
    with pytest.raises(InputError, match="a good revision, a bad one"):
        bisection(line=LINE[:1])
    with pytest.raises(InputError, match="none twice"):
        bisection(line=(*LINE[:2], LINE[0]))
    with pytest.raises(InputError, match="1 run is no pair") as refused:
        bisection(budget=1)
    assert refused.value.fix == "give --budget 2 or more; 22 are the fewest that decide"


@pytest.mark.acceptance
@pytest.mark.statistical
def test_commits_are_found_in_nine_of_ten_searches() -> None:
    """At a noise of 3 %, a change of 10 % anywhere."""
    rng = np.random.default_rng(5)
    hits = 0
    for seed in range(30):
        place = int(rng.integers(1, 41))
        found, _ = made(bisection(seed=seed), measured({place: 1.1}, 0.03, seed=seed))
        hits += names(found) == [[f"r{place:02}"]]
    assert hits >= 27
