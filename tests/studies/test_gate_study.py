"""Gates: what is planned, when they end, what is confirmed, and what is said of strata, options and failures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count, product

import numpy as np
import pytest

from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    InputError,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
    replace,
)
from hati.studies.comparison import (
    AUTO,
    MEDIAN,
    Change,
    ChangeVerdict,
    ChoiceBasis,
    Question,
    StatisticChoice,
    StatisticChoices,
)
from hati.studies.gate import Cell, Gate, GateConclusion, GateRule, WarmUpCut, gate_id, runs_to_decide
from hati.studies.gate.rounds import Stage
from hati.testing import FakeEngine, MemoryStore

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
OLD = Revision("old", RevisionKind.DIRECTORY)
NEW = Revision("new", RevisionKind.DIRECTORY)
Measured = Callable[[Task], Mapping[str, Sequence[float]] | str]

ONE = (Cell(MAIN, Configuration()),)
EIGHT = tuple(
    Cell(MAIN, Configuration({"a": a, "b": b, "c": c, "d": d}), Assignment({"a": a, "b": b, "c": c}))
    for a, b, c, d in product((False, True), repeat=4)
)


def gate(
    cells: tuple[Cell, ...],
    budget: int,
    question: Question | None = None,
    seed: int = 1,
    rule: GateRule = GateRule.SIGNS,
) -> Gate:
    asked = question or Question()
    study = gate_id(cells, OLD, NEW, asked, seed, "m", rule)
    return Gate(study, OLD, NEW, cells, asked, Budget(runs=budget), rule=rule)


def test_what_is_known_to_be_warm_up_does_not_count() -> None:
    """A change of 10 % of what follows a warm-up that takes half of the time and varies."""

    def warming(task: Task) -> dict[str, list[float]]:
        rng = np.random.default_rng(int(task.id[:12], 16))
        steady = 1.0 * np.exp(0.01 * rng.standard_normal(80)) * (1.1 if task.revision == "new" else 1.0)
        return {"time": [*(4.0 * np.exp(0.5 * rng.standard_normal(20))).tolist(), *steady.tolist()]}

    def concluded(made: Gate) -> Change:
        found = campaign(made, FakeEngine(warming), MemoryStore(), made.budget)
        (row,) = found.rows
        return row.change

    whole = gate(ONE, 48)
    cut = replace(whole, warm_ups=(WarmUpCut("main", "time", 20, "as is known"),))
    assert concluded(whole).verdict is ChangeVerdict.INCONCLUSIVE
    assert concluded(cut).verdict is ChangeVerdict.SLOWER
    assert concluded(cut).ratio == pytest.approx(1.1, abs=0.02)
    others = replace(whole, warm_ups=(WarmUpCut("main", "size", 20, "as is known"),))
    assert concluded(others) == concluded(whole)
    most = replace(whole, warm_ups=(WarmUpCut("main", "time", 1000, "as is known"),))
    assert concluded(most).ratio == pytest.approx(1.1, abs=0.02)


def measured(change: Callable[[Configuration], float], deviation: float = 0.02, seed: int = 1) -> Measured:
    def of(task: Task) -> dict[str, list[float]]:
        salt = int(task.id[:12], 16)
        noise = np.random.default_rng([seed, salt]).normal(0.0, deviation)
        mean = 2.0 + 0.5 * sum(map(float, task.configuration.values()))
        return {"time": [mean * float(np.exp(noise)) * (change(task.configuration) if task.revision == "new" else 1.0)]}

    return of


def made(study: Gate, values: Measured) -> tuple[GateConclusion, Evidence]:
    store = MemoryStore()
    found = campaign(study, FakeEngine(values), store, study.budget)
    return found, store.evidence(study.id)


@pytest.mark.parametrize(("rule", "confirmed"), [(GateRule.SIGNS, 0), (GateRule.TWO_STAGES, 5)])
def test_a_slowdown_is_reported_and_sized(rule: GateRule, confirmed: int) -> None:
    found, evidence = made(gate(ONE, 96, rule=rule), measured(lambda _: 1.1))
    assert found.verdict is ChangeVerdict.SLOWER
    [row] = found.rows
    assert row.change.ratio == pytest.approx(1.1, abs=0.02)
    assert row.change.interval is not None
    assert row.change.interval[0] < 1.1 < row.change.interval[1]
    assert found.confirmed >= confirmed
    assert len(evidence.runs) < 96
    assert not found.strata
    assert not found.affected_options


@pytest.mark.parametrize(("alpha", "least"), [(0.01, 18), (0.05, 14)])
def test_the_least_budget_is_named_and_decides(alpha: float, least: int) -> None:
    question = Question(alpha=alpha)
    with pytest.raises(
        InputError, match=f"and {least // 2} are the fewest that can decide at {100 * alpha:g} %"
    ) as few:
        gate(ONE, least - 2, question)
    assert few.value.fix == f"give --budget {least} or more"
    found, _ = made(gate(ONE, least, question), measured(lambda _: 1.5))
    assert found.verdict is ChangeVerdict.SLOWER


def test_what_is_the_same_ends_early() -> None:
    found, evidence = made(gate(ONE, 96), measured(lambda _: 1.0))
    assert found.verdict is ChangeVerdict.SAME
    assert found.confirmed == 0
    assert len(evidence.runs) <= 48


@pytest.mark.acceptance
@pytest.mark.parametrize("ratio", [1.001, 0.999, 1.02])
@pytest.mark.parametrize("deviation", [0.0, 1e-6, 2e-3])
def test_a_clear_change_within_the_margin_is_the_same(ratio: float, deviation: float) -> None:
    for seed in range(10):
        found, evidence = made(gate(ONE, 96, seed=seed), measured(lambda _: ratio, deviation, seed))
        [row] = found.rows
        assert row.change.verdict is ChangeVerdict.SAME
        assert row.change.interval is not None
        assert row.change.interval[0] == pytest.approx(ratio, abs=0.02)
        assert len(evidence.runs) <= 48


def test_what_is_faster_is_no_failure() -> None:
    found, _ = made(gate(ONE, 96), measured(lambda _: 0.8))
    assert found.verdict is ChangeVerdict.FASTER


def test_a_change_in_one_stratum_is_found_and_named() -> None:
    def change(configuration: Configuration) -> float:
        return 1.3 if configuration["a"] and configuration["b"] and configuration["c"] else 1.0

    found, _ = made(gate(EIGHT, 1600), measured(change))
    assert found.verdict is ChangeVerdict.SLOWER
    told = [each for each in found.strata if each.comparison.change.changed]
    assert [dict(each.stratum) for each in told] == [{"a": True, "b": True, "c": True}]


@pytest.mark.parametrize("option", ["a", "d"])
def test_the_setting_that_carries_a_change_is_named(option: str) -> None:
    """Whether strata are made of the option, or not."""
    found, _ = made(gate(EIGHT, 1600), measured(lambda configuration: 1.3 if configuration[option] else 1.0))
    assert found.verdict is ChangeVerdict.SLOWER
    assert {carrier.option for carrier in found.affected_options} == {option}
    ratios = {carrier.setting: carrier.ratio for carrier in found.affected_options}
    assert ratios[True] == pytest.approx(1.3, abs=0.04)
    assert ratios[False] == pytest.approx(1.0, abs=0.03)


def test_a_change_of_everything_is_carried_by_no_option() -> None:
    found, _ = made(gate(EIGHT, 1600), measured(lambda _: 1.15))
    assert found.verdict is ChangeVerdict.SLOWER
    assert not found.affected_options


@pytest.mark.parametrize("rule", GateRule)
def test_a_killed_campaign_goes_on_and_measures_nothing_twice(rule: GateRule) -> None:
    study = gate(EIGHT, 640, rule=rule)
    values = measured(lambda configuration: 1.3 if configuration["a"] else 1.0)
    whole, evidence = made(study, values)
    store = MemoryStore()
    engine = FakeEngine(values)
    for stop in (3, 50, 171, 10**6):
        for run in engine.run(study.plan(store.evidence(study.id)).at_most(stop).tasks):
            store.record(run)
        if stop == 10**6:
            while plan := study.plan(store.evidence(study.id)):
                for run in engine.run(plan.at_most(7).tasks):
                    assert store.record(run)
    again = store.evidence(study.id)
    assert {run.task.id for run in again.runs} == {run.task.id for run in evidence.runs}
    assert study.conclude(again).verdict is whole.verdict


def test_pairs_follow_each_other_in_random_order() -> None:
    study = gate(EIGHT, 640)
    tasks = study.plan(Evidence()).tasks
    assert len(tasks) == 32
    for first, second in zip(tasks[::2], tasks[1::2], strict=True):
        assert first.configuration == second.configuration
        assert {first.revision, second.revision} == {"old", "new"}
    assert len({task.revision for task in tasks[::2]}) == 2


def test_a_revision_that_does_not_work_is_told() -> None:
    def broken(task: Task) -> dict[str, list[float]] | str:
        if task.revision == "new" and task.configuration["a"]:
            return "it crashed"
        return {"time": [1.0 + 1e-3 * (int(task.id[:6], 16) % 100) / 100]}

    found, evidence = made(gate(EIGHT, 640), broken)
    assert {each.revision.id for each in found.broken} == {"new"}
    assert len(found.broken) == 8
    assert all(each.alone and each.why for each in found.broken)
    assert len(evidence.failed) <= 8 * 3


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InputError, match="fewest that can decide"):
        gate(EIGHT, 20)
    with pytest.raises(InputError, match="is the reference itself"):
        Gate(gate_id(ONE, OLD, OLD, Question(), 1, "m"), OLD, OLD, ONE, Question(), Budget(runs=100))
    with pytest.raises(InputError, match="each once"):
        gate((*ONE, *ONE), 100)


def stalled(ratio: float = 1.0, tail: bool = False, seed: int = 1) -> Measured:
    """Runs of 40 observations, some stalled; the revision's all larger by a ratio, or one in ten twice as large."""

    def of(task: Task) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, int(task.id[:12], 16)])
        values = 2.0 * np.exp(rng.normal(0.0, 0.01) + rng.normal(0.0, 0.02, 40))
        if tail:
            values[::10] *= 2.0 if task.revision == "new" else 1.0
        else:
            values *= np.where(rng.random(40) < 0.2 * rng.random(), 9.0, 1.0)
        return {"time": (values * (ratio if task.revision == "new" else 1.0)).tolist()}

    return of


def chosen(study: Gate) -> Gate:
    choice = StatisticChoice(MEDIAN, ChoiceBasis.HISTORY, 2, 0.1)
    return replace(study, choices=StatisticChoices((("main", "time", choice),)))


def test_a_chosen_statistic_finds_what_means_hide() -> None:
    automatic = Question(statistic=AUTO)
    assert gate_id(ONE, OLD, NEW, automatic, 1, "m") == gate_id(ONE, OLD, NEW, Question(), 1, "m")
    means, _ = made(gate(ONE, 64), stalled(1.1))
    found, _ = made(chosen(gate(ONE, 64, automatic)), stalled(1.1))
    assert (means.verdict, found.verdict) == (ChangeVerdict.INCONCLUSIVE, ChangeVerdict.SLOWER)
    [row] = found.rows
    assert row.choice is not None
    assert row.choice.statistic == MEDIAN
    assert row.change.ratio == pytest.approx(1.1, abs=0.02)


def test_a_change_of_the_tail_alone_is_found_where_runs_count_by_their_median() -> None:
    found, _ = made(chosen(gate(ONE, 96, Question(statistic=AUTO))), stalled(tail=True))
    assert found.verdict is ChangeVerdict.SLOWER
    [row] = found.rows
    assert row.change.of_tail
    assert row.change.ratio == pytest.approx(1.1, abs=0.01)
    by_median, _ = made(gate(ONE, 96, Question(statistic=MEDIAN)), stalled(tail=True))
    assert by_median.verdict is ChangeVerdict.SAME


def test_a_suspicion_without_fresh_rounds_has_no_p_value() -> None:
    study = gate(ONE, 96, rule=GateRule.TWO_STAGES)
    found, evidence = made(study, measured(lambda _: 1.3, 0.01))
    sides = {Stage.EXPLORING.side(0), Stage.EXPLORING.side(1)}
    exploring = Evidence(tuple(run for run in evidence.runs if run.task.stage in sides))
    early = study.conclude(exploring).rows[0].change
    assert (early.verdict, early.p_value, early.q_value) == (ChangeVerdict.INCONCLUSIVE, None, None)
    assert (study.conclude(exploring).suspected, study.conclude(exploring).unconfirmed) == (("time of main",), ())
    assert (found.suspected, found.unconfirmed) == ((), ())
    late = found.rows[0].change
    assert late.verdict is ChangeVerdict.SLOWER
    assert late.q_value is not None
    assert late.q_value <= found.question.alpha


def test_fresh_rounds_of_one_stratum_do_not_count_for_the_whole_space() -> None:
    """A stratum is 20 % slower, and the mean of eight strata within the margin."""
    where = {"a": True, "b": True, "c": True}
    change = measured(lambda settings: 1.2 if where.items() <= dict(settings).items() else 1.0, 0.05)
    found, _ = made(gate(EIGHT, 32 * 20, rule=GateRule.TWO_STAGES), change)
    assert found.confirmed
    [row] = found.rows
    assert row.change.ratio == pytest.approx(1.2**0.125, abs=0.01)
    assert row.before.mean == pytest.approx(3.0, rel=0.02)
    assert row.before.runs == found.explored


def test_a_change_among_more_questions_takes_more_runs_to_decide() -> None:
    asked = Question()
    several = Benchmark("main", ("true",), Reader(ReaderKind.HATI), tuple(Metric(f"m{i}", "s") for i in range(4)))
    needed = runs_to_decide(asked, 4)
    cells = (Cell(several, Configuration()),)

    def slower(task: Task) -> dict[str, list[float]]:
        return {metric.name: [2.0 if task.revision == "new" else 1.0] for metric in several.metrics}

    assert made(gate(cells, needed), slower)[0].verdict is ChangeVerdict.SLOWER
    assert made(gate(cells, runs_to_decide(asked, 1)), slower)[0].verdict is ChangeVerdict.INCONCLUSIVE


def test_the_identity_of_two_stages_is_that_of_earlier_versions() -> None:
    old, new = (json.loads(gate(ONE, 96, rule=rule).id.parameters) for rule in (GateRule.TWO_STAGES, GateRule.SIGNS))
    assert new == {**old, "rule": "signs"}
    assert gate(ONE, 96, rule=GateRule.TWO_STAGES).id.key == "gate-be6cb349-1"


@pytest.mark.parametrize(("alpha", "rounds"), [(0.01, 9), (0.05, 7)])
def test_the_fewest_rounds_find_a_change_without_noise(alpha: float, rounds: int) -> None:
    asked = Question(alpha=alpha)
    assert runs_to_decide(asked, 1) == 2 * rounds
    found, evidence = made(gate(ONE, 96, asked), measured(lambda _: 1.3, 0.0))
    assert (found.verdict, found.explored, len(evidence.runs)) == (ChangeVerdict.SLOWER, rounds, 2 * rounds)
    with pytest.raises(InputError, match=f"--budget {2 * rounds} or more"):
        gate(ONE, 2 * rounds - 1, asked)


def alternating(change: float = 1.0) -> Measured:
    """Two levels 10 % apart, in alternation: the two runs of a pair differ by their order."""
    made = count()

    def of(task: Task) -> dict[str, list[float]]:
        noise = float(np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.002))
        return {
            "time": [(1.0 + 0.1 * (next(made) % 2)) * math.exp(noise) * (change if task.revision == "new" else 1.0)]
        }

    return of


STRATA = tuple(
    Cell(MAIN, Configuration({"a": a, "b": b}), Assignment({"a": a, "b": b}))
    for a, b in product((False, True), repeat=2)
)


def alarmed(study: Gate, values: Measured) -> bool:
    """Whether a check reports any change when it ends."""
    store, engine = MemoryStore(), FakeEngine(values)
    while plan := study.plan(store.evidence(study.id)):
        for run in engine.run(plan.tasks):
            store.record(run)
    found = study.judgement(store.evidence(study.id))
    return any(found.verdict(group) in {ChangeVerdict.SLOWER, ChangeVerdict.FASTER} for group in study.groups)


@pytest.mark.acceptance
def test_noise_that_depends_on_the_order_makes_no_more_false_alarms_than_alpha() -> None:
    """Four strata, at most 12 rounds; a t-test of all rounds reports a change in one check of six."""
    asked = Question(alpha=0.05)
    assert sum(alarmed(gate(STRATA, 12 * 8, asked, seed), alternating()) for seed in range(60)) <= 7


def test_a_change_is_found_beside_noise_that_depends_on_the_order() -> None:
    found = [made(gate(STRATA, 24 * 8, Question(), seed), alternating(1.3))[0] for seed in range(5)]
    assert all(each.verdict is ChangeVerdict.SLOWER for each in found)
    for each in found:
        [row] = each.rows
        assert row.change.interval is not None
        assert row.change.interval[0] < 1.3 < row.change.interval[1]


@pytest.mark.acceptance
def test_twelve_rounds_find_more_than_half_of_clear_changes() -> None:
    """Runs of 10 % noise, 23 % slower: two stages find 114 of 400, bets 256."""
    found = [made(gate(ONE, 24, seed=seed), measured(lambda _: 1.23, 0.1, seed))[0] for seed in range(60)]
    assert sum(each.verdict is ChangeVerdict.SLOWER for each in found) >= 26
