"""The order within pairs: random, independent of other studies' with the same seed, and kept when a study resumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count, pairwise, product

import numpy as np
import pytest

from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Stopping,
    Task,
    replace,
)
from hati.harness import RULES
from hati.space import Option, Space
from hati.studies.bisection import Bisection, ProbeSide, bisection_id
from hati.studies.comparison import Question
from hati.studies.effect_drift import EffectDriftStudy, effect_drift_id
from hati.studies.gate import Cell, Gate, GateConclusion, gate_id
from hati.studies.measurement import Measurement, measurement_id
from hati.studies.paired import PairedComparison, PairedDesign, Variant, paired_id
from hati.studies.recommendation import Candidate, Recommendation, RecommendationPlan, recommendation_id
from hati.studies.replay import Replay, ReplayOrder, replay_id
from hati.testing import FakeEngine, MemoryStore
from hati.testing.assertions import study_of
from interrupts import run_until_killed

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
ASKED = Question()
CELLS = tuple(
    Cell(MAIN, Configuration({"a": a, "b": b}), Assignment({"a": a})) for a, b in product((False, True), repeat=2)
)


def revisions(number: int) -> tuple[Revision, Revision]:
    return Revision(f"old{number}", RevisionKind.DIRECTORY), Revision(f"new{number}", RevisionKind.DIRECTORY)


def check(number: int, cells: tuple[Cell, ...] = CELLS, rounds: int = 40) -> Gate:
    old, new = revisions(number)
    budget = Budget(runs=2 * len(cells) * rounds)
    return Gate(gate_id(cells, old, new, ASKED, 1, "m"), old, new, cells, ASKED, budget)


def of_check(number: int, repeated: int = 1) -> list[bool]:
    study = check(number)
    tasks = replace(study, id=study.id.numbered(repeated)).dry_run_tasks()
    return [task.revision == study.revision.id for task in tasks]


def of_comparison(number: int, repeated: int = 1) -> list[bool]:
    variants = (Variant(replace(MAIN, name=name, command=(f"{number}",)), Configuration()) for name in ("a", "b"))
    before, after = variants
    study = paired_id(before, after, "r", Stopping.ANYTIME, "any", 1, "m").numbered(repeated)
    design = PairedDesign(before, after, "r", "m", ASKED, RULES[Stopping.ANYTIME])
    tasks = PairedComparison(study, design, (TIME,), Budget(runs=320)).tasks(160)
    return [task.stage == "after" for task in tasks]


def of_bisection(number: int, repeated: int = 1) -> list[bool]:
    line = (revisions(number)[0], *(Revision(f"r{place}", RevisionKind.GIT) for place in range(3)))
    known = bisection_id(MAIN, Configuration(), TIME, line, ASKED, 1, "m").numbered(repeated)
    study = Bisection(known, MAIN, Configuration(), TIME, line, ASKED, Budget(runs=80))
    engine = FakeEngine(lambda task: {"time": [1.0 + task.repetition % 3]})
    campaign(study, engine, MemoryStore(), study.budget)
    return [task.stage.startswith(ProbeSide.PROBE.value) for task in engine.tasks]


def of_effect_drift(number: int, repeated: int = 1) -> list[bool]:
    (old, new), own = revisions(number), tuple(cell.configuration for cell in CELLS)
    known = effect_drift_id(MAIN, own, old, new, 40, 1, "m").numbered(repeated)
    tasks = EffectDriftStudy(known, MAIN, TIME, own, old, new, 40, ASKED).tasks()
    return [task.revision == new.id for task in tasks]


KINDS = pytest.mark.parametrize("order", [of_check, of_comparison, of_bisection, of_effect_drift])
Order = Callable[[int, int], list[bool]]


@KINDS
def test_studies_with_one_seed_have_their_own_orders(order: Order) -> None:
    made = [order(number, 1) for number in range(10)]
    assert len({tuple(each) for each in made}) == 10
    assert made == [order(number, 1) for number in range(10)]


@KINDS
def test_campaigns_of_one_study_have_their_own_orders(order: Order) -> None:
    assert len({tuple(order(0, number)) for number in range(1, 6)}) == 5


@KINDS
def test_either_side_is_first_as_often_whatever_the_last_one_and_another_study_have(order: Order) -> None:
    """Four standard deviations of 400 coins."""
    known = [order(number, 1)[::2] for number in range(400 // len(order(0, 1)[::2]) + 2)]
    firsts = [first for each in known for first in each][:400]
    others = [first for each in known[1:] for first in each][:400]
    assert 160 <= sum(firsts) <= 240
    assert 160 <= sum(a == b for a, b in pairwise(firsts)) <= 240
    assert 160 <= sum(a == b for a, b in zip(firsts, others, strict=True)) <= 240


def of_measurement(number: int) -> list[Task]:
    own = tuple(Configuration({"a": place}) for place in range(10))
    known = measurement_id(MAIN, own, "r", "any", 1, "m").numbered(number)
    return list(Measurement(known, MAIN, own, "r", Budget(runs=40)).planned().tasks)


def of_assertion(number: int) -> list[Task]:
    asked = study_of("a <= b", "b <= c", budget=Budget(runs=60))
    engine = FakeEngine(lambda task: {"time": [2.0 + math.sin(task.repetition) + ord(task.benchmark) / 1000.0]})
    campaign(replace(asked, id=asked.id.numbered(number)), engine, MemoryStore(), asked.budget)
    return engine.tasks


def of_recommendation(number: int) -> list[Task]:
    space = Space(tuple(Option(name, ("off", "on"), default="off") for name in "abcdef"))
    tried = tuple(Candidate(option.name, "on", space.canonical({option.name: "on"}), 0.1) for option in space.options)
    known = recommendation_id(
        screening="s", metric="time", relevant=0.01, budget="60", seed=1, machine="m", revision="r"
    ).numbered(number)
    wanted = RecommendationPlan(space.default, (), 10, tried, 60)
    study = Recommendation(known, "s", "p", MAIN, (TIME,), "r", space, wanted, looked_up=False)
    return list(study.tasks(next(iter(study.rounds(Evidence())))))


@pytest.mark.parametrize("planned", [of_measurement, of_assertion, of_recommendation])
def test_campaigns_of_a_study_without_pairs_have_their_own_orders(planned: Callable[[int], list[Task]]) -> None:
    """The runs are the same."""
    made = [[(task.benchmark, task.configuration, task.repetition) for task in planned(n)] for n in range(1, 6)]
    assert len(set(map(tuple, made))) == 5
    assert all(sorted(map(str, each)) == sorted(map(str, made[0])) for each in made)


def test_a_planned_order_does_not_depend_on_the_token_of_its_campaign() -> None:
    study = check(0)
    begun = replace(study, id=study.id.numbered(1, "0a1b"))
    assert _placed(study.dry_run_tasks()) == _placed(begun.dry_run_tasks())


@pytest.mark.parametrize("order", [ReplayOrder.INTERLEAVED, ReplayOrder.NEWEST])
def test_histories_of_other_revisions_are_measured_in_another_order(order: ReplayOrder) -> None:
    def places(subject: str) -> list[tuple[int, Configuration]]:
        line = tuple(Revision(f"{subject}{place:02}", RevisionKind.GIT) for place in range(20))
        study = Replay(replay_id(CELLS, line, 2, order, 1, "m"), line, CELLS, 2, order)
        return [(int(task.revision[-2:]), task.configuration) for task in study.plan(Evidence()).tasks]

    made = [places(subject) for subject in "abcde"]
    assert all(sorted(map(str, each)) == sorted(map(str, made[0])) for each in made)
    assert len(set(map(tuple, made))) == 5


def _placed(tasks: Sequence[Task]) -> list[tuple[str, Configuration, int]]:
    return [(task.stage, task.configuration, task.repetition) for task in tasks]


def concluded(study: Gate, engine: FakeEngine, store: MemoryStore) -> GateConclusion:
    return campaign(study, engine, store, study.budget)


def by_task(task: Task) -> dict[str, list[float]]:
    noise = np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.02)
    return {"time": [float(np.exp(noise)) * (1.1 if task.revision.startswith("new") else 1.0)]}


@pytest.mark.parametrize("killed_after", [1, 5, 8, 33, 50])
def test_a_killed_check_goes_on_in_the_order_in_which_it_began(killed_after: int) -> None:
    whole, begun, rest, store = FakeEngine(by_task), FakeEngine(by_task), FakeEngine(by_task), MemoryStore()
    uninterrupted = concluded(check(3), whole, MemoryStore())

    run_until_killed(check(3), begun, store, check(3).budget, killed_after)
    assert len(begun.tasks) == killed_after
    assert concluded(check(3), rest, store) == uninterrupted
    assert begun.tasks + rest.tasks == whole.tasks


def test_a_check_that_was_begun_in_another_order_goes_on_and_concludes_the_same() -> None:
    """Earlier versions drew the order from the seed alone; a verdict does not depend on the order of planning."""
    rest, store = FakeEngine(by_task), MemoryStore()
    uninterrupted = concluded(check(3), FakeEngine(by_task), MemoryStore())
    begun = tuple(reversed(check(3).plan(Evidence()).tasks))[:5]
    for run in FakeEngine(by_task).run(begun):
        store.record(run)
    assert concluded(check(3), rest, store) == uninterrupted
    assert len({*begun, *rest.tasks}) == len(begun) + len(rest.tasks) == uninterrupted.done


@pytest.mark.acceptance
def test_errors_by_noise_that_depends_on_the_order_do_not_repeat_in_every_check() -> None:
    """Nothing changed; two levels alternate from run to run, 10 % apart."""

    def apparent(study: Gate) -> float | None:
        runs = count()
        found = concluded(study, FakeEngine(lambda _: {"time": [1.0 + 0.1 * (next(runs) % 2)]}), MemoryStore())
        return found.rows[0].change.ratio

    one = (Cell(MAIN, Configuration()),)
    found = [apparent(check(number, one, 12)) for number in range(20)]
    assert len(set(found)) > 3
    assert min(filter(None, found)) < 1.0 < max(filter(None, found))
