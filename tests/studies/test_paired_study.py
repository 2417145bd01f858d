"""Comparisons of pairs: what is planned, when it ends, what is said of failures and of little evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Better,
    Budget,
    Configuration,
    Evidence,
    InputError,
    MeasurementError,
    Metric,
    Pairing,
    Reader,
    ReaderKind,
    Stopping,
    Task,
    replace,
)
from hati.harness import RULES
from hati.render.terminal import document_text
from hati.studies.comparison import ChangeVerdict, Question
from hati.studies.paired import PairedComparison, PairedConclusion, PairedDesign, Variant, paired_id, shared_metrics
from hati.studies.paired.document import paired_document
from hati.testing import FakeEngine, MemoryStore
from interrupts import run_until_killed

TIME = Metric("time", "s")
OLD = Variant(Benchmark("old", ("true",), Reader(ReaderKind.HATI), (TIME,)), Configuration())
NEW = Variant(Benchmark("new", ("true",), Reader(ReaderKind.HATI), (TIME,)), Configuration())


def comparison(
    budget: Budget,
    stopping: Stopping = Stopping.ANYTIME,
    question: Question | None = None,
    metrics: tuple[Metric, ...] = (TIME,),
) -> PairedComparison:
    before, after = (replace(v, benchmark=replace(v.benchmark, metrics=metrics)) for v in (OLD, NEW))
    study = paired_id(before, after, "r", stopping, "any", 1, "m")
    design = PairedDesign(before, after, "r", "m", question or Question(), RULES[stopping])
    return PairedComparison(study, design, metrics, budget)


def values(ratio: float, deviation: float = 0.01) -> Callable[[Task], Mapping[str, Sequence[float]] | str]:
    def measured(task: Task) -> dict[str, list[float]]:
        rng = np.random.default_rng([task.repetition, task.stage == "after"])
        mean = 2.0 * (ratio if task.stage == "after" else 1.0)
        drift = 1.0 + 0.1 * task.repetition
        return {"time": [mean * drift * math.exp(deviation * rng.standard_normal())]}

    return measured


def concluded(study: PairedComparison, engine: FakeEngine) -> PairedConclusion:
    return campaign(study, engine, MemoryStore(), study.budget)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(1.1, ChangeVerdict.SLOWER), (0.9, ChangeVerdict.FASTER), (1.0, ChangeVerdict.SAME), (1.02, ChangeVerdict.SAME)],
)
def test_it_ends_when_it_is_decided_whatever_drifts(ratio: float, verdict: ChangeVerdict) -> None:
    engine = FakeEngine(values(ratio, 0.005))
    found = concluded(comparison(Budget(runs=100)), engine)
    (row,), (weighed,) = found.comparisons.rows, found.weighed
    assert row.change.verdict is verdict
    assert 16 <= len(engine.tasks) == 2 * weighed.pairs < 60
    assert row.change.interval is not None
    assert row.change.interval[0] < ratio < row.change.interval[1]
    assert weighed.e_value is not None
    assert weighed.looks == weighed.pairs - 7


def test_what_should_be_high_is_slower_where_it_is_lower() -> None:
    rate = (Metric("time", "s", Better.HIGHER),)
    found = concluded(comparison(Budget(runs=40), metrics=rate), FakeEngine(values(0.9)))
    assert found.comparisons.rows[0].change.verdict is ChangeVerdict.SLOWER


def test_pairs_are_whole_and_in_random_order() -> None:
    engine = FakeEngine(values(1.0, 0.5))
    found = concluded(comparison(Budget(runs=61)), engine)
    assert found.comparisons.rows[0].change.verdict is ChangeVerdict.INCONCLUSIVE
    assert found.comparisons.rows[0].change.runs_needed is None or found.comparisons.rows[0].change.runs_needed > 30
    assert [task.repetition for task in engine.tasks] == [pair for pair in range(30) for _ in range(2)]
    firsts = [task.stage for task in engine.tasks[::2]]
    assert 5 < firsts.count("before") < 25
    assert all({a.stage, b.stage} == {"before", "after"} for a, b in list(pairwise(engine.tasks))[::2])


def test_a_fixed_number_is_students_test_once() -> None:
    engine = FakeEngine(values(1.2))
    found = concluded(comparison(Budget(runs=20), Stopping.FIXED), engine)
    (row,) = found.comparisons.rows
    assert len(engine.tasks) == 20
    by_pair = {}
    for task in engine.tasks:
        measured = engine.measure(task)
        assert not isinstance(measured, str)
        by_pair[task.repetition, task.stage] = math.log(measured["time"][0])
    apart = [by_pair[pair, "after"] - by_pair[pair, "before"] for pair in range(10)]
    assert row.change.p_value == pytest.approx(stats.ttest_1samp(apart, 0.0).pvalue)
    interval = stats.t.interval(0.99, 9, np.mean(apart), stats.sem(apart))
    assert row.change.interval == pytest.approx(tuple(np.exp(interval)))
    assert found.weighed[0].e_value is None


def test_a_time_is_a_budget_too() -> None:
    for stopping in Stopping:
        engine = FakeEngine(values(1.0, 0.5), seconds=0.5)
        found = concluded(comparison(Budget(seconds=30.0), stopping), engine)
        assert len(engine.tasks) == 60
        assert found.weighed[0].pairs == 30


@settings(max_examples=8)
@given(st.integers(0, 40))
def test_a_killed_comparison_goes_on(killed_after: int) -> None:
    store, first, second = MemoryStore(), FakeEngine(values(1.03, 0.02)), FakeEngine(values(1.03, 0.02))
    study = comparison(Budget(runs=40))

    run_until_killed(study, first, store, study.budget, killed_after)
    again = campaign(study, second, store, study.budget)
    assert again == concluded(study, FakeEngine(values(1.03, 0.02)))
    assert len({run.task.id for run in store.kept}) == len(first.tasks) + len(second.tasks) == again.done


def test_more_budget_continues_what_was_not_decided() -> None:
    store, engine = MemoryStore(), FakeEngine(values(1.05, 0.08))
    few, more = comparison(Budget(runs=16)), comparison(Budget(runs=400))
    assert not campaign(few, engine, store, few.budget).decided
    found = campaign(more, engine, store, more.budget)
    assert found.decided
    assert len(engine.tasks) == found.done == 2 * found.weighed[0].pairs > 16


@pytest.mark.parametrize(
    ("ratio", "deviation", "runs", "verdict"),
    [
        (1.2, 0.01, 100, "slower"),
        (0.8, 0.01, 100, "faster"),
        (1.0, 0.01, 100, "same"),
        (1.05, 0.08, 16, "inconclusive"),
    ],
)
def test_a_narrow_terminal_shows_the_change_with_its_interval_and_the_verdict_first(
    ratio: float, deviation: float, runs: int, verdict: str
) -> None:
    found = concluded(comparison(Budget(runs=runs)), FakeEngine(values(ratio, deviation)))
    first = next(line for line in document_text(paired_document(found)).splitlines() if line.startswith("time "))
    assert re.match(rf"time +\S+ % +\S+ to \S+ % +{verdict} +", first), first


def test_what_fails_leaves_its_pair_out() -> None:
    good = values(1.1)

    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        return "out of memory" if task.stage == "after" and task.repetition in {2, 3} else good(task)

    found = concluded(comparison(Budget(runs=40)), FakeEngine(measured))
    assert (found.weighed[0].pairs, found.done, found.failed) == (8, 18, 2)
    assert found.failures == ("out of memory (2 runs)",)
    assert found.decided


@pytest.mark.parametrize("side", ["before", "after", "both"])
def test_what_always_fails_is_given_up(side: str) -> None:
    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        return "exit status 1" if side in {task.stage, "both"} else {"time": [1.0]}

    engine = FakeEngine(measured)
    with pytest.raises(MeasurementError, match="exit status 1"):
        concluded(comparison(Budget(runs=1000)), engine)
    assert len(engine.tasks) == 10


def test_runs_that_never_differ_are_the_same() -> None:
    found = concluded(comparison(Budget(runs=100)), FakeEngine(lambda task: {"time": [1.0]}))
    (row,) = found.comparisons.rows
    assert (row.change.verdict, row.change.ratio, row.change.interval, row.change.p_value) == (
        ChangeVerdict.SAME,
        1.0,
        (1.0, 1.0),
        None,
    )


def test_values_at_zero_and_below_are_compared_as_fractions() -> None:
    def measured(task: Task) -> dict[str, list[float]]:
        noise = np.random.default_rng([task.repetition, task.stage == "after"]).standard_normal()
        return {"time": [(-20.0 if task.stage == "before" else -10.0) + 0.5 * noise]}

    (row,) = concluded(comparison(Budget(runs=100)), FakeEngine(measured)).comparisons.rows
    assert (row.change.verdict, row.change.ratio) == (ChangeVerdict.SLOWER, pytest.approx(1.5, abs=0.1))
    (zero,) = concluded(comparison(Budget(runs=16)), FakeEngine(lambda task: {"time": [0.0]})).comparisons.rows
    assert (zero.change.ratio, zero.change.interval) == (None, None)
    assert zero.change.verdict is ChangeVerdict.SAME


def test_a_metric_that_is_never_negative_cannot_fall_by_more_than_all_of_it() -> None:
    def measured(task: Task) -> dict[str, list[float]]:
        rng = np.random.default_rng([task.repetition, task.stage == "after"])
        return {"time": [float(rng.poisson(5.0 if task.stage == "before" else 0.3))]}

    (row,) = concluded(comparison(Budget(runs=24)), FakeEngine(measured)).comparisons.rows
    assert row.change.interval is not None
    assert 0.0 <= row.change.interval[0] < row.change.ratio < row.change.interval[1] < 1.0


@pytest.mark.parametrize("stopping", Stopping)
def test_no_margin_is_a_share_of_zero(stopping: Stopping) -> None:
    def measured(task: Task) -> dict[str, list[float]]:
        return {"time": [0.0 if task.stage == "before" else 0.01 + 1e-4 * task.repetition]}

    (row,) = concluded(comparison(Budget(runs=20), stopping), FakeEngine(measured)).comparisons.rows
    assert (row.change.verdict, row.change.ratio, row.change.detectable) == (ChangeVerdict.SLOWER, None, None)


def test_what_turned_into_its_opposite_is_not_decided() -> None:
    """Another metric keeps it measuring: the evidence is the early one, the estimate the late one."""

    def measured(task: Task) -> dict[str, list[float]]:
        noise = np.random.default_rng([task.repetition, task.stage == "after", 6]).standard_normal(2)
        change = 1.0 if task.stage == "before" else 1.03 if task.repetition < 12 else 0.91
        return {"time": [2.0 * change * math.exp(0.002 * noise[0])], "other": [100.0 * math.exp(noise[1])]}

    metrics = (TIME, Metric("other", "s"))
    time, _ = concluded(comparison(Budget(runs=64), metrics=metrics), FakeEngine(measured)).comparisons.rows
    assert time.change.ratio is not None
    assert time.change.ratio < 1.0
    assert time.change.p_value is not None
    assert time.change.p_value < 1e-4
    assert time.change.verdict is ChangeVerdict.INCONCLUSIVE


def test_the_level_is_that_of_all_metrics() -> None:
    metrics = (TIME, Metric("memory", "B"))

    def measured(task: Task) -> dict[str, list[float]]:
        noise = np.random.default_rng([task.repetition, task.stage == "after", 5]).standard_normal(2)
        return {
            "time": [math.exp(0.02 * noise[0] + 0.1 * (task.stage == "after"))],
            "memory": [math.exp(0.3 * noise[1])],
        }

    found = concluded(comparison(Budget(runs=16), metrics=metrics), FakeEngine(measured, units={"memory": "B"}))
    time, memory = found.comparisons.rows
    assert time.change.p_value is not None
    assert time.change.q_value == pytest.approx(2.0 * time.change.p_value)
    assert memory.change.verdict is ChangeVerdict.INCONCLUSIVE
    assert not found.decided


def test_one_pair_says_nothing_and_no_pair_is_an_error() -> None:
    study = comparison(Budget(seconds=1.0))
    (row,) = campaign(study, FakeEngine(values(2.0), seconds=0.6), MemoryStore(), study.budget).comparisons.rows
    assert row.change.verdict is ChangeVerdict.INCONCLUSIVE
    assert (row.change.interval, row.change.p_value, row.change.detectable, row.change.runs_needed) == (
        None,
        None,
        None,
        None,
    )
    with pytest.raises(MeasurementError, match="no run was made"):
        study.conclude(Evidence())


def test_a_budget_that_cannot_decide_is_refused() -> None:
    with pytest.raises(InputError, match="8 are the fewest that can decide") as refused:
        comparison(Budget(runs=15))
    assert refused.value.fix == "give --budget 16 or more"


def test_metrics_in_common() -> None:
    def variant(*metrics: Metric) -> Variant:
        return Variant(Benchmark("b", ("true",), Reader(ReaderKind.HATI), metrics), Configuration())

    both = variant(TIME, Metric("memory", "B"))
    assert shared_metrics(both, variant(Metric("memory", "kB"))) == (Metric("memory", "B"),)
    assert shared_metrics(both, both, "time") == (TIME,)
    with pytest.raises(InputError, match="no metric 'rate' in common"):
        shared_metrics(both, both, "rate")
    with pytest.raises(InputError, match="no metric in common"):
        shared_metrics(both, variant(Metric("rate", "1/s")))
    with pytest.raises(InputError, match="converted"):
        shared_metrics(both, variant(Metric("time", "B")))
    with pytest.raises(InputError, match="should be low"):
        shared_metrics(both, variant(Metric("time", "s", Better.HIGHER)))


def test_units_are_converted() -> None:
    store = MemoryStore()
    study = comparison(Budget(runs=16))
    good = values(1.1)

    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        found = good(task)
        assert not isinstance(found, str)
        return {"time": [1000.0 * found["time"][0]]} if task.stage == "after" else found

    def record(unit: str, engine: FakeEngine, stage: str) -> None:
        tasks = tuple(task for task in study.tasks(8) if task.stage == stage)
        for run in replace(engine, units={"time": unit}).run(tasks):
            store.record(run)

    record("s", FakeEngine(measured), "before")
    record("ms", FakeEngine(measured), "after")
    (row,) = study.conclude(store.evidence(study.id)).comparisons.rows
    assert row.change.ratio == pytest.approx(1.1, rel=0.02)


def test_of_a_duet_that_was_broken_off_neither_run_is_made_again() -> None:
    whole = comparison(Budget(runs=20))
    study = replace(whole, design=whole.design._replace(pairing=Pairing.DUET))
    store, engine = MemoryStore(), FakeEngine(values(1.1))
    store.kept += list(engine.run(study.tasks(3)[:5]))
    found = campaign(study, engine, store, study.budget)
    assert found.pairing is Pairing.DUET
    assert [task.repetition for task in engine.tasks[5:]] == [pair for pair in range(3, 9) for _ in range(2)]
    assert (found.weighed[0].pairs, found.done) == (8, 17)


def test_a_duet_is_another_study() -> None:
    ids = {paired_id(OLD, NEW, "r", Stopping.ANYTIME, "64", 1, "m", pairing) for pairing in Pairing}
    assert len(ids) == 2
