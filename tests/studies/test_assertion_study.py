"""The study: what is planned, when it ends, what a kill and a failure change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from msgspec.structs import asdict

from hati.campaign import campaign
from hati.core import SINGLE_CALLS, Budget, Evidence, MeasurementError, Metric, Run, Task, replace
from hati.formula import Source
from hati.logic import interpret
from hati.logic.interpret import FormulaVerdict, Interpretation, Limit, MeasuredSample, glance_early
from hati.logic.syntax import parse_file, parse_formula
from hati.studies.assertion import Assertion, Assured, Requirement, Standard, assertion_id, blockers
from hati.testing import FakeEngine, MemoryStore
from hati.testing.assertions import TIME, TREE, point, requirement, study_of

AHEAD = 1e-3


def means(**given: float) -> Callable[[Task], Mapping[str, list[float]] | str]:
    """Run means that drift with the rounds, a little noise on them; a mean of 0 is a failure."""

    def measured(task: Task) -> dict[str, list[float]] | str:
        if not given[task.benchmark]:
            return f"{task.benchmark} is broken"
        rng = np.random.default_rng([task.repetition, sorted(given).index(task.benchmark)])
        return {"time": [given[task.benchmark] * (1 + 0.01 * task.repetition + 0.003 * rng.standard_normal())]}

    return measured


def concluded(asked: Assertion, engine: FakeEngine, store: MemoryStore | None = None) -> Assured:
    return campaign(asked, engine, store or MemoryStore(), asked.budget)


def counts(engine: FakeEngine) -> dict[str, int]:
    names = [task.benchmark for task in engine.tasks]
    return {name: names.count(name) for name in sorted(set(names))}


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("a <= b", FormulaVerdict.HOLDS),
        ("c <= b", FormulaVerdict.VIOLATED),
        ("a = b", FormulaVerdict.HOLDS),
        ("c = b +- 0.1 s", FormulaVerdict.VIOLATED),
        ("c = b +- 0.5 s", FormulaVerdict.HOLDS),
        ("a <= b & b < c", FormulaVerdict.HOLDS),
        ("c <= b | a <= b", FormulaVerdict.HOLDS),
        ("c <= b => a <= 1 ms", FormulaVerdict.HOLDS),
        ("a <= 3 s", FormulaVerdict.HOLDS),
    ],
)
def test_it_ends_when_it_is_decided_whatever_drifts(formula: str, verdict: FormulaVerdict) -> None:
    asked, engine = study_of(formula), FakeEngine(means(a=1.0, b=1.0, c=1.2))
    found = concluded(asked, engine)
    assert found.answers[0].verdict is verdict
    assert asked.fewest == (13 if "3 s" in formula else 6 + len(asked.requirements[0].relations))
    assert asked.fewest <= max(counts(engine).values()) < 40
    assert found.runs == len(engine.tasks)
    assert found.seconds == pytest.approx(0.01 * found.runs)


def test_a_method_is_not_measured_further_once_no_formula_needs_it() -> None:
    engine = FakeEngine(means(a=1.0, b=1.0, c=2.0))
    found = concluded(study_of("a <= c", "a <= b strictly", budget=Budget(runs=60)), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.HOLDS, FormulaVerdict.INCONCLUSIVE]
    made = counts(engine)
    assert made["c"] < 12
    assert made["a"] + made["b"] + made["c"] == 60


def test_each_round_is_in_an_order_of_its_own() -> None:
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.2))
    concluded(study_of("a <= b & b <= c"), engine)
    rounds = [tuple(task.benchmark for task in engine.tasks if task.repetition == number) for number in range(7)]
    assert len(set(rounds)) > 1
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)


@pytest.mark.parametrize("interpretation", ["default", "welch"])
def test_a_campaign_that_is_killed_anywhere_plans_each_task_once(interpretation: str) -> None:
    standard = Standard(Interpretation(interpretation))
    budget = Budget(runs=27)
    asked = study_of("a <= c", "a <= b", "c <= 1.1 * b", budget=budget, standard=standard)
    measure = means(a=1.0, b=1.0, c=1.2)
    whole = FakeEngine(measure)
    wanted = concluded(asked, whole)
    for kill in range(len(whole.tasks)):
        store, engine = MemoryStore(), FakeEngine(measure)
        for run in FakeEngine(measure).run(tuple(whole.tasks[:kill])):
            store.record(run)
        found = concluded(asked, engine, store)
        assert [task.id for task in engine.tasks] == [task.id for task in whole.tasks[kill:]], kill
        assert [each.verdict for each in found.answers] == [each.verdict for each in wanted.answers]


def test_a_larger_budget_goes_on_where_the_smaller_one_ended() -> None:
    store, measure = MemoryStore(), means(a=1.0, b=1.0)
    small = study_of("a <= b strictly", budget=Budget(runs=15))
    concluded(small, FakeEngine(measure), store)
    large, engine = replace(small, budget=Budget(runs=20)), FakeEngine(measure)
    concluded(large, engine, store)
    assert len(engine.tasks) == 5
    assert len({run.task.id for run in store.kept}) == len(store.kept) == 20


def test_what_is_alike_is_run_once() -> None:
    """Two names of one benchmark of one revision, as of a commit that is what the working tree holds."""
    asked = study_of("a <= 2 * b")
    one = asked.points["a"].benchmark
    alike = replace(asked, points={name: replace(each, benchmark=one) for name, each in asked.points.items()})
    engine = FakeEngine(means(a=1.0))
    found = concluded(alike, engine)
    assert found.answers[0].verdict is FormulaVerdict.HOLDS
    assert len({task.id for task in engine.tasks}) == len(engine.tasks) < 12


def test_a_relation_of_the_same_with_itself_spends_nothing() -> None:
    """Its sides never differ, so that no run decides it; what else it stands beside is decided."""
    engine = FakeEngine(means(a=1.0, b=2.0))
    found = concluded(study_of("a <= a strictly", "a <= b"), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert len(engine.tasks) < 30


def test_the_same_by_two_names_is_the_same() -> None:
    asked = study_of("a <= b strictly")
    one = asked.points["a"].benchmark
    alike = replace(asked, points={name: replace(each, benchmark=one) for name, each in asked.points.items()})
    engine = FakeEngine(means(a=1.0))
    assert concluded(alike, engine).answers[0].verdict is FormulaVerdict.INCONCLUSIVE
    assert len(engine.tasks) == asked.fewest


def test_names_mean_what_a_formula_declares_also_where_another_measures_one_of_that_name() -> None:
    declarations = parse_file("alias b = c\na <= b\n", "r.spl").declarations
    text = "a <= b"
    declared = Requirement(parse_formula(text), Source(text), declarations)
    plain = study_of("a <= b", "a <= c")
    found = concluded(replace(plain, requirements=(*plain.requirements, declared)), FakeEngine(means(a=1, b=1, c=0.8)))
    assert [each.verdict for each in found.answers] == [
        FormulaVerdict.HOLDS,
        FormulaVerdict.VIOLATED,
        FormulaVerdict.VIOLATED,
    ]


def test_what_fails_again_and_again_is_given_up() -> None:
    engine = FakeEngine(means(a=1.0, b=1.0, broken=0.0))
    found = concluded(study_of("a <= broken", "a <= b"), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert "broken is broken" in found.answers[0].atoms[0].evidence.remark
    assert any("broken is broken" in why for why in found.failures)
    assert counts(engine)["broken"] <= 5
    assert len(engine.tasks) < 60


def test_what_fails_from_some_run_on_is_given_up() -> None:
    """However little of the budget failures take."""

    def breaking(task: Task) -> Mapping[str, list[float]] | str:
        broken = task.benchmark == "a" and task.repetition > 3
        return "a is broken" if broken else {"time": [1.0 + 0.001 * (task.repetition * 7 % 5)]}

    engine = FakeEngine(breaking)
    found = concluded(study_of("a <= b strictly", "b <= c"), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert counts(engine)["a"] == 4 + 10


@pytest.mark.parametrize(
    ("formula", "breaks", "gave_up"),
    [
        ("a <= b strictly", 0, True),
        ("a <= b strictly", 4, True),
        ("a <= b strictly", 999, False),
        ("a <= b & b >= 2 s", 0, False),
        ("b <= 2 s", 0, False),
    ],
)
def test_a_campaign_is_told_that_gave_up_what_a_formula_still_needs(formula: str, breaks: int, gave_up: bool) -> None:
    """Not one whose formulas are decided without it, nor one that is open for want of runs alone."""

    def breaking(task: Task) -> Mapping[str, list[float]] | str:
        broken = task.benchmark == "a" and task.repetition >= breaks
        return "a is broken" if broken else {"time": [1.0 + 0.001 * (task.repetition * 7 % 5)]}

    asked, store = study_of(formula, budget=Budget(runs=100)), MemoryStore()
    [found] = (told := concluded(asked, FakeEngine(breaking), store)).answers
    assert asked.gave_up(store.evidence(asked.id)) is gave_up
    assert [why.partition(" (")[0] for why in blockers(found, told.book)] == [
        "a could not be measured: a is broken"
    ] * gave_up


@pytest.mark.parametrize("breaks", [0, 4])
def test_where_a_method_failed_that_is_tried_again_and_what_is_decided_stays(breaks: int) -> None:
    def breaking(task: Task) -> Mapping[str, list[float]] | str:
        broken = task.benchmark == "a" and task.repetition >= breaks
        return "a is broken" if broken else means(a=1.0, b=1.1, c=1.1)(task)

    asked, store = study_of("a <= b", "b <= c"), MemoryStore()
    before = concluded(asked, FakeEngine(breaking), store)
    assert [each.verdict for each in before.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    evidence = store.evidence(asked.id)
    again = asked.forgiving(evidence)
    assert not asked.plan(evidence)
    assert not again.gave_up(evidence)
    engine = FakeEngine(means(a=1.0, b=1.1, c=1.1))
    after = concluded(again, engine, store)
    assert [each.verdict for each in after.answers] == [FormulaVerdict.HOLDS, FormulaVerdict.HOLDS]
    assert after.failures == before.failures == (f"a: a is broken ({10 if breaks else 5} runs)",)
    assert after.answers[1].atoms[0].evidence == before.answers[1].atoms[0].evidence
    assert counts(engine).keys() == {"a", "b"}
    assert after.runs == len(evidence.runs) + len(engine.tasks)
    whole = store.evidence(asked.id)
    assert not asked.plan(whole)
    assert asked.conclude(whole).failures == after.failures
    assert [each.verdict for each in asked.conclude(whole).answers] == [FormulaVerdict.HOLDS, FormulaVerdict.HOLDS]


def test_what_fails_again_is_given_up_again() -> None:
    asked, store = study_of("a <= b"), MemoryStore()
    concluded(asked, FakeEngine(means(a=0, b=1.0)), store)
    evidence = store.evidence(asked.id)
    engine = FakeEngine(means(a=0, b=1.0))
    found = concluded(again := asked.forgiving(evidence), engine, store)
    assert counts(engine)["a"] == 5
    assert again.gave_up(store.evidence(asked.id))
    assert found.failures == ("a: a is broken (10 runs)",)
    assert "a is broken (10 runs)" in found.answers[0].atoms[0].evidence.remark


def test_what_was_not_measured_yet_did_not_fail() -> None:
    asked = study_of("a <= b")
    first = FakeEngine(means(a=1.0, b=1.0)).run(asked.dry_run_tasks({"a": 1}))
    told = asked.conclude(Evidence(tuple(first)))
    assert "b" in told.book.missing
    assert blockers(told.answers[0], told.book) == ()


def test_a_metric_that_no_run_has_is_given_up() -> None:
    """Whether the runs tell another one or none."""

    def without(task: Task) -> Mapping[str, list[float]]:
        return {"other": [1.0]} if task.benchmark == "a" else {"time": [1.0 + 0.001 * (task.repetition * 7 % 5)]}

    engine = FakeEngine(without)
    found = concluded(study_of("a <= b", "b <= c"), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert "yielded no values of time" in found.answers[0].atoms[0].evidence.remark
    assert counts(engine)["a"] == 5
    of_two = study_of("size of a <= 5 B", "b <= c")
    size = replace(of_two.points["a"].benchmark, metrics=(TIME, Metric("size", "B")))
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.0))
    points = {**of_two.points, "a": replace(of_two.points["a"], benchmark=size)}
    found = concluded(replace(of_two, points=points), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert found.answers[0].atoms[0].evidence.remark == "a has no metric 'size'"
    assert counts(engine)["a"] == of_two.fewest


@pytest.mark.parametrize(
    ("formula", "remark"),
    [
        ("a <=(x: sqrt(x - 2 s), x: sqrt(x)) b", "no finite value for what was observed"),
        ("throughput(a) >= 1 /s", "there is no throughput of what takes no time"),
    ],
)
def test_what_turns_out_to_be_unfit_leaves_the_others_alone(formula: str, remark: str) -> None:
    engine = FakeEngine(lambda task: {"time": [0.0 if task.benchmark == "a" else 1.0 + 0.001 * (task.repetition % 3)]})
    found = concluded(study_of(formula, "b <= c"), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert remark in found.answers[0].atoms[0].evidence.remark
    assert len(engine.tasks) < 40


def test_calls_that_are_too_short_for_quantiles_have_a_mean() -> None:
    def measured(task: Task) -> dict[str, list[float]]:
        level = 1.0 + 0.001 * (task.repetition % 3)
        return {"time": [level] * 100, SINGLE_CALLS: [float(task.benchmark == "long")]}

    asked = study_of("short <= 2 s & p99(short) <= 3 s", "short <= 1.1 * long", "p99(long) <= 3 s", "p99(other) <= 3 s")
    told = (TIME, Metric(SINGLE_CALLS, "s"))  # of which all is that the engine measures here
    points = {
        name: replace(each, benchmark=replace(each.benchmark, metrics=told)) for name, each in asked.points.items()
    }
    engine = FakeEngine(measured)
    found = concluded(replace(asked, points=points), engine)
    assert [atom.verdict.value for each in found.answers for atom in each.atoms] == [
        *("HOLDS", "INCONCLUSIVE", "HOLDS", "HOLDS", "INCONCLUSIVE"),
    ]
    remarks = [atom.evidence.remark for each in found.answers for atom in each.atoms if atom.unfit]
    assert [remark.partition(":")[0] for remark in remarks] == [
        f"calls of {name} are too short to be timed one by one" for name in ("short", "other")
    ]
    made = counts(engine)
    assert made["other"] == 1  # nothing that is asked of it can be known
    assert made["short"] == made["long"] < 40


def test_runs_of_too_few_observations_for_a_quantile_end_with_the_first_round() -> None:
    engine = FakeEngine(lambda task: {"time": [1.0 + 0.001 * (task.repetition % 3)] * 9})
    found = concluded(study_of("p90(a) <= 2 s", "p90(b) <= 2 s & b <= 2 s"), engine)
    assert [atom.verdict.value for each in found.answers for atom in each.atoms] == [
        *("INCONCLUSIVE", "INCONCLUSIVE", "HOLDS"),
    ]
    assert found.answers[0].atoms[0].unfit
    assert blockers(found.answers[0], found.book) == (
        "p90(a) <= 2 s: p90 needs 10 observations of each run of a, there are 9: observe more in a run, or ask for the "
        "mean",
    )
    made = counts(engine)
    assert made["a"] == 1
    assert 13 <= made["b"] < 40


def test_runs_in_unlike_units_leave_the_others_alone() -> None:
    asked = study_of("a <= b", "b <= c")
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.0))
    other = Metric("time", "B")
    points = {
        **asked.points,
        "a": replace(asked.points["a"], benchmark=replace(asked.points["a"].benchmark, metrics=(other,))),
    }
    found = concluded(replace(asked, points=points), engine)
    assert [each.verdict for each in found.answers] == [FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS]
    assert "in 'B'" in found.answers[0].atoms[0].evidence.remark
    assert counts(engine)["a"] == 5


def test_what_is_known_is_judged_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each relation once in it."""
    judged: list[interpret.Comparator] = []

    def counting(
        left: MeasuredSample, right: MeasuredSample | Limit, relation: interpret.AskedRelation
    ) -> interpret.RelationEvidence:
        judged.append(relation.sign)
        return glance_early(left, right, relation)

    monkeypatch.setattr("hati.studies.assertion.study.glance_early", counting)
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.2))
    asked = study_of("a <= b strictly", "b <= a & a <= b strictly", "c <= b strictly", budget=Budget(runs=60))
    concluded(asked, engine)
    looks = 1 + max(task.repetition for task in engine.tasks) - asked.fewest
    assert len(judged) in {3 * looks, 3 * (looks + 1)}


def test_a_plan_reads_each_run_as_often_however_many_methods_there_are() -> None:
    """Accesses to a run's task grow with the runs, not with runs times methods."""
    reads = {size: _reads(size) for size in (10, 40)}
    assert reads[40] <= 5 * reads[10]


class _Read(Run):
    """A run that counts how often what it is of is looked at."""

    count = 0

    def __getattribute__(self, name: str) -> object:
        if name == "task":
            _Read.count += 1
        return super().__getattribute__(name)


def _reads(methods: int) -> int:
    asked = study_of(*(f"m{number} <= m{number + 1}" for number in range(methods)))
    made = FakeEngine(lambda _: {"time": [1.0]}).run(asked.dry_run_tasks(dict.fromkeys(asked.points, 3)))
    runs = tuple(_Read(**asdict(run)) for run in made)
    _Read.count = 0
    asked.plan(Evidence(runs))
    return _Read.count


def test_a_run_that_failed_leaves_its_round_out() -> None:
    measure = means(a=1.0, b=1.0)

    def sometimes(task: Task) -> Mapping[str, list[float]] | str:
        return "a bad moment" if (task.benchmark, task.repetition) == ("b", 3) else measure(task)

    found = concluded(study_of("a <= b"), FakeEngine(sometimes))
    evidence = found.answers[0].atoms[0].evidence
    assert evidence.verdict is FormulaVerdict.HOLDS
    assert evidence.runs[0] == evidence.runs[1] == (found.runs - 2) / 2


def test_where_nothing_could_be_measured_nothing_is_told() -> None:
    with pytest.raises(MeasurementError) as told:
        concluded(study_of("a <= b"), FakeEngine(means(a=0.0, b=0.0)))
    assert told.value.message == "nothing could be measured: a: a is broken (5 runs); b: b is broken (5 runs)"
    names = dict.fromkeys("abcdefg", 0.0)
    with pytest.raises(MeasurementError, match=r"a: a is .*; e: e is broken \(5 runs\); 2 others"):
        concluded(study_of(*(f"{name} <= 1 s" for name in names)), FakeEngine(means(**names)))


def test_failures_are_told_with_all_names_of_what_is_run() -> None:
    asked = study_of("a <= 2 * b", "c <= 1 s")
    one = asked.points["a"].benchmark
    points = {**asked.points, "b": replace(asked.points["b"], benchmark=one)}
    found = concluded(replace(asked, points=points), FakeEngine(means(a=0.0, c=0.5)))
    assert found.failures == ("a, b: a is broken (5 runs)",)


def test_what_needs_no_measurement_makes_no_run() -> None:
    engine = FakeEngine(means())
    assert concluded(study_of("1 < 2"), engine).answers[0].verdict is FormulaVerdict.HOLDS
    assert engine.tasks == []


def test_interpretations_as_printed_are_asked_once_when_the_budget_is_spent() -> None:
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.5))
    standard = Standard(Interpretation.WELCH)
    found = concluded(study_of("a <= c", "a <= b", budget=Budget(runs=30), standard=standard), engine)
    assert counts(engine) == {"a": 10, "b": 10, "c": 10}
    assert [each.verdict for each in found.answers] == [FormulaVerdict.HOLDS, FormulaVerdict.HOLDS]


def test_the_level_is_shared_by_the_relations_of_all_formulas() -> None:
    several = study_of(*(f"a <= {limit} * b" for limit in range(1, 9)))
    assert study_of("a <= b").fewest < several.fewest
    assert study_of("for all n in {1..8}: a <= n * b").fewest == several.fewest
    assert study_of("exists n in {1..8}: a <= n * b").fewest == several.fewest
    assert study_of("a <= b & a <= b", "!(a <= b)").fewest == study_of("a <= b").fewest
    assert study_of("1 < 2").fewest == study_of("a <= b").fewest


def test_what_is_to_be_done_first_is_known_before() -> None:
    asked, engine = study_of("a <= b", "c <= b"), FakeEngine(means(a=1.0, b=1.0, c=1.0))
    dry_run_tasks = asked.dry_run_tasks(dict.fromkeys(asked.points, asked.fewest))
    concluded(asked, engine)
    assert [task.id for task in engine.tasks[: len(dry_run_tasks)]] == [task.id for task in dry_run_tasks]


def test_identities_tell_what_is_measured() -> None:
    def identity(formula: str, revision: str = "tree", alpha: float = 0.01) -> str:
        where = replace(TREE, id=revision)
        return assertion_id([requirement(formula)], [point("a", where)], Standard(alpha=alpha), "m").key

    one = identity("a <= 1 s")
    assert one == identity("a<=1 s")
    assert len({one, identity("a <= 2 s"), identity("a <= 1 s", "other"), identity("a <= 1 s", alpha=0.05)}) == 4


def test_runs_of_one_side_alone_show_nothing() -> None:
    asked = study_of("a <= b")
    runs = FakeEngine(means(a=1.0, b=1.0)).run(asked.dry_run_tasks(dict.fromkeys(asked.points, 1))[:1])
    (found,) = asked.conclude(Evidence(tuple(runs))).answers
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert "was not measured yet" in found.atoms[0].evidence.remark
