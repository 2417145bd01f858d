"""Replays: the order of revisions, what is passed over, and what becomes of the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    InputError,
    MeasurementError,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
    replace,
)
from hati.stats import Dependence
from hati.studies.comparison import (
    AUTO,
    MEAN,
    MEDIAN,
    Automatic,
    ChoiceBasis,
    Statistic,
    StatisticChoice,
    StatisticChoices,
)
from hati.studies.gate import Cell
from hati.studies.regression import histories
from hati.studies.replay import (
    KnownLevels,
    Replay,
    Replayed,
    ReplayOrder,
    affected_strata,
    refined,
    replay_id,
    typical_noise,
)
from hati.studies.replay.document import skipped_text
from hati.testing import FakeEngine, MemoryStore

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
LINE = tuple(Revision(f"r{number:02}", RevisionKind.GIT, f"r{number:02}") for number in range(20))
CELLS = tuple(Cell(MAIN, Configuration({"a": a}), Assignment({"a": a})) for a in (False, True))
Level = Callable[[int, Configuration], float | str]


def replay(order: ReplayOrder = ReplayOrder.INTERLEAVED, cells: Sequence[Cell] = CELLS, repetitions: int = 3) -> Replay:
    return Replay(replay_id(cells, LINE, repetitions, order, 1, "m"), LINE, tuple(cells), repetitions, order)


def place(task: Task) -> int:
    return int(task.revision[1:])


def made(study: Replay, level: Level, budget: Budget | None = None, store: MemoryStore | None = None) -> Replayed:
    def measured(task: Task) -> Mapping[str, Sequence[float]] | str:
        found = level(place(task), task.configuration)
        if isinstance(found, str):
            return found
        noise = np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.01)
        return {"time": [found * float(np.exp(noise))]}

    return campaign(study, FakeEngine(measured), store or MemoryStore(), budget or Budget())


def flat(_place: int, _configuration: Configuration) -> float:
    return 1.0


def test_steps_show_at_their_revisions_and_in_their_strata() -> None:
    found = made(replay(), lambda place, own: 1.3 if place >= 9 and own["a"] else 1.0)
    concluded = {one.name: one for one in histories(found.series)}
    assert [[change.position for change in concluded[name].change_points] for name in sorted(concluded)] == [
        [],
        ["r09"],
        ["r09"],
    ]
    [(key, spreads)] = found.spreads.items()
    assert key == ("main", "time")
    assert spreads[3].quantiles[4] / spreads[3].quantiles[0] < 1.1 < spreads[12].quantiles[4] / spreads[12].quantiles[0]
    assert (found.left, found.failed, found.skipped) == (0, 0, ())


def test_revisions_that_do_not_work_are_passed_over() -> None:
    found = made(replay(), lambda place, own: "away" if place == 4 else 1.0)
    assert [(one.revision.id, one.why, one.configuration) for one in found.skipped] == [("r04", "away", None)]
    assert found.failed == 2 * len(CELLS)  # at least three, in whole repetitions
    assert all("r04" not in series.positions and len(series) == len(LINE) - 1 for series in found.series)


def test_a_configuration_that_does_not_work_at_a_revision_is_named() -> None:
    found = made(replay(), lambda place, own: "away" if place == 4 and own["a"] else 1.0)
    named = [(one.revision.id, one.benchmark, one.configuration, one.why) for one in found.skipped]
    assert named == [("r04", "main", Configuration({"a": True}), "away")]
    assert skipped_text(found.skipped[0]).startswith("main a=true could not be measured at r04")
    missing = {str(series.stratum): "r04" not in series.positions for series in found.series}
    assert missing == {"": True, "a=false": False, "a=true": True}


def test_a_replay_of_which_nothing_works_says_why() -> None:
    with pytest.raises(MeasurementError, match="away"):
        made(replay(), lambda place, own: "away")


@pytest.mark.parametrize("order", ReplayOrder)
def test_a_replay_goes_on_where_it_was_broken_off(order: ReplayOrder) -> None:
    store = MemoryStore()
    study = replay(order)
    with pytest.raises(MeasurementError):
        made(study, flat, Budget(runs=5), store)
    found = made(study, flat, store=store)
    assert len(store.kept) == len({run.task.id for run in store.kept}) == found.runs == 120


def test_the_newest_come_first() -> None:
    engine = FakeEngine(lambda task: {"time": [1.0]})
    campaign(replay(ReplayOrder.NEWEST), engine, MemoryStore(), Budget())
    assert list(dict.fromkeys(task.revision for task in engine.tasks)) == [one.id for one in reversed(LINE)]


def test_refining_measures_around_the_change_first() -> None:
    engine = FakeEngine(
        lambda task: {"time": [(1.2 if place(task) >= 13 else 1.0) * (1.0 + 0.001 * (task.repetition - 1))]}
    )
    campaign(replay(ReplayOrder.REFINING), engine, MemoryStore(), Budget())
    first = list(dict.fromkeys(place(task) for task in engine.tasks))
    assert first[:2] == [19, 0]
    assert {12, 13} <= set(first[:7])
    assert sorted(first) == list(range(20))


def test_refining_measures_around_a_change_in_any_stratum_and_metric() -> None:
    """One of eight strata has a change of the second metric; over all of them it is within the noise."""
    benchmark = replace(MAIN, metrics=(TIME, Metric("other", "s")))
    cells = [Cell(benchmark, Configuration({"a": number}), Assignment({"a": number})) for number in range(8)]

    def value(task: Task) -> Mapping[str, Sequence[float]]:
        changed = place(task) >= 13 and task.configuration["a"] == 7
        noise = 0.001 * (task.repetition - 1)
        return {"time": [1.0 + noise], "other": [(1.2 if changed else 1.0) * (1.0 + 30.0 * noise)]}

    engine = FakeEngine(value)
    campaign(replay(ReplayOrder.REFINING, cells), engine, MemoryStore(), Budget())
    first = list(dict.fromkeys(place(task) for task in engine.tasks))
    assert {12, 13} <= set(first[:7])


def test_refining_is_not_drawn_to_what_does_not_work() -> None:
    def value(task: Task) -> Mapping[str, Sequence[float]] | str:
        level = 50.0 * (1.2 if place(task) >= 17 else 1.0)
        return "away" if place(task) == 9 else {"time": [level * (1.0 + 0.001 * (task.repetition - 1))]}

    engine = FakeEngine(value)
    campaign(replay(ReplayOrder.REFINING), engine, MemoryStore(), Budget())
    assert {16, 17} <= set(list(dict.fromkeys(map(place, engine.tasks)))[:7])


@given(st.integers(2, 60), st.lists(st.floats(-1.0, 1.0), min_size=60, max_size=60), st.floats(0.0, 0.5))
def test_refining_measures_every_revision_once(number: int, levels: list[float], noise: float) -> None:
    known: dict[int, float] = {}
    while (following := refined(number, [KnownLevels(known, noise)])) is not None:
        assert following not in known
        assert 0 <= following < number
        known[following] = levels[following]
    assert len(known) == number


def test_the_typical_noise_is_of_a_difference() -> None:
    assert typical_noise([0.1, 0.1, 5.0]) == pytest.approx(0.3 * 2.0**0.5)
    assert typical_noise([]) == 0.0


@pytest.mark.parametrize(
    ("order", "dependence"),
    [(ReplayOrder.INTERLEAVED, Dependence.INDEPENDENT), (ReplayOrder.NEWEST, Dependence.ESTIMATED)],
)
def test_only_a_random_order_tells_that_noise_is_independent(order: ReplayOrder, dependence: Dependence) -> None:
    assert all(series.dependence is dependence for series in made(replay(order), flat).series)


def test_steps_beside_a_drift_are_seen_where_the_noise_is_known_to_be_independent() -> None:
    def level(place: int, _own: Configuration) -> float:
        return 1.005**place * (1.14 if place >= 8 else 1.0)

    found = made(replay(cells=CELLS[:1], repetitions=6), level)
    [concluded] = histories(found.series)
    assert [change.position for change in concluded.change_points] == ["r08"]
    assert concluded.trend is not None
    assert concluded.trend.direction.value == "slower"


def test_what_makes_no_replay_is_refused() -> None:
    with pytest.raises(InputError, match="8 revisions or more of a single run each"):
        Replay(replay().id, LINE[:5], CELLS, 1, ReplayOrder.NEWEST)
    with pytest.raises(InputError, match="2 revisions or more of several runs each"):
        Replay(replay().id, LINE[:1], CELLS, 3, ReplayOrder.NEWEST)
    with pytest.raises(InputError, match="a run"):
        Replay(replay().id, LINE, CELLS, 0, ReplayOrder.NEWEST)


def test_two_revisions_of_several_runs_are_compared() -> None:
    line = LINE[:2]
    study = Replay(replay_id(CELLS, line, 4, ReplayOrder.INTERLEAVED, 1, "m"), line, CELLS, 4, ReplayOrder.INTERLEAVED)
    found = made(study, lambda place, own: 1.2 if place == 1 and own["a"] else 1.0)
    concluded = {str(one.stratum): [change.position for change in one.change_points] for one in histories(found.series)}
    assert concluded == {"": ["r01"], str(CELLS[0].stratum): [], str(CELLS[1].stratum): ["r01"]}


def test_the_strata_that_changed_are_named_by_their_options() -> None:
    cells = [
        Cell(MAIN, Configuration(setting), Assignment(setting))
        for setting in ({"a": a, "b": b} for a in (False, True) for b in (False, True))
    ]
    line = LINE[:10]
    study = Replay(
        replay_id(cells, line, 3, ReplayOrder.INTERLEAVED, 1, "m"), line, tuple(cells), 3, ReplayOrder.INTERLEAVED
    )
    found = made(study, lambda place, own: (1.5 if place == 5 else 1.0) * (1.3 if place == 9 and own["b"] else 1.0))
    affected = {one.position: one for one in affected_strata(histories(found.series))}
    assert {"r05", "r06", "r09"} <= set(affected)
    assert [len(affected[name].strata) for name in ("r05", "r06", "r09")] == [4, 4, 2]
    assert (affected["r09"].of, dict(affected["r09"].settings)) == (4, {"b": True})
    assert dict(affected["r05"].settings) == {}


def test_strata_are_those_of_a_benchmark() -> None:
    """Two benchmarks with the same strata: one changes where ``a`` is on, the other where it is off."""
    other = replace(MAIN, name="other")
    cells = [
        Cell(benchmark, Configuration({"a": a}), Assignment({"a": a}))
        for benchmark in (MAIN, other)
        for a in (False, True)
    ]
    line = LINE[:10]
    study = Replay(
        replay_id(cells, line, 3, ReplayOrder.INTERLEAVED, 1, "m"), line, tuple(cells), 3, ReplayOrder.INTERLEAVED
    )

    def value(task: Task) -> Mapping[str, Sequence[float]]:
        changed = place(task) >= 5 and task.configuration["a"] == (task.benchmark == "main")
        noise = np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.01)
        return {"time": [(1.5 if changed else 1.0) * float(np.exp(noise))]}

    found = campaign(study, FakeEngine(value), MemoryStore(), Budget())
    affected = affected_strata(histories(found.series))
    assert [(one.position, one.benchmark, one.of, dict(one.settings)) for one in affected] == [
        ("r05", "main", 2, {"a": True}),
        ("r05", "other", 2, {"a": False}),
    ]


def test_the_error_of_cells_that_vary_unequally_has_few_degrees_of_freedom() -> None:
    """Of eight cells one varies ten times as much as the others: its four degrees of freedom count."""
    cells = [Cell(MAIN, Configuration({"a": number}), Assignment()) for number in range(8)]
    line = LINE[:2]
    study = Replay(
        replay_id(cells, line, 3, ReplayOrder.INTERLEAVED, 1, "m"), line, tuple(cells), 3, ReplayOrder.INTERLEAVED
    )

    def value(task: Task) -> Mapping[str, Sequence[float]]:
        noise = np.random.default_rng(int(task.id[:12], 16)).normal(0.0, 0.01)
        return {"time": [float(np.exp((10.0 if task.configuration["a"] == 0 else 1.0) * noise))]}

    [series] = campaign(study, FakeEngine(value), MemoryStore(), Budget()).series
    assert 4.0 <= series.freedom < 8.0


def test_cells_with_unequal_numbers_of_runs_are_weighted_by_them() -> None:
    """Cells of one run take the variance of the others; a failure leaves fewer runs of a cell."""
    engine = FakeEngine(
        lambda task: (
            "away"
            if task.repetition and (task.configuration["a"] or place(task) % 2)
            else {"time": [1.0 + 0.01 * task.repetition]}
        )
    )
    found = campaign(replay(), engine, MemoryStore(), Budget())
    [whole, off, on] = found.series
    assert whole.freedom == off.freedom == pytest.approx(20.0)
    assert on.freedom == 0.0
    assert off.errors[1] == pytest.approx(off.errors[0] * 3.0**0.5, rel=0.02)
    assert whole.errors[1] > whole.errors[0] > 0.5 * off.errors[0]


def observed(tail: Callable[[int], float], choices: StatisticChoices, statistic: Statistic | Automatic) -> Replayed:
    """Runs of 40 observations with heavy outliers, and of a twentieth of them a tail, by place."""
    line = LINE[:10]
    study = Replay(
        replay_id(CELLS[:1], line, 4, ReplayOrder.INTERLEAVED, 1, "m"),
        line,
        CELLS[:1],
        4,
        ReplayOrder.INTERLEAVED,
        statistic,
        choices,
    )

    def value(task: Task) -> Mapping[str, Sequence[float]]:
        rng = np.random.default_rng(int(task.id[:12], 16))
        values = rng.normal(100.0, 1.0, 40)
        values[:2] *= tail(place(task))
        return {"time": values.tolist()}

    return campaign(study, FakeEngine(value), MemoryStore(), Budget())


CHOSEN = StatisticChoices((("main", "time", StatisticChoice(MEDIAN, ChoiceBasis.HISTORY, 3, 0.2)),))


def test_the_statistic_that_was_chosen_stands_for_a_run() -> None:
    found = observed(lambda place: 1.0, CHOSEN, AUTO).series[0]
    assert found.choice == CHOSEN.rows[0][2]
    assert found.tails is not None
    assert found.values == pytest.approx(observed(lambda place: 1.0, CHOSEN, MEDIAN).series[0].values)
    asked = observed(lambda place: 3.0, CHOSEN, MEAN).series[0]
    assert asked.tails is None
    assert asked.choice is not None
    assert asked.choice.basis is ChoiceBasis.ASKED
    assert asked.values == pytest.approx(np.full(10, 110.0), rel=0.02)


def test_a_change_of_the_tail_alone_is_found() -> None:
    [found] = histories(observed(lambda place: 3.0 if place >= 5 else 1.0, CHOSEN, AUTO).series)
    [change] = found.change_points
    assert (change.position, change.of_tail, change.direction.value) == ("r05", True, "slower")
    assert change.relative == pytest.approx(0.1, rel=0.1)
    assert histories(observed(lambda place: 3.0 if place >= 5 else 1.0, CHOSEN, MEDIAN).series)[0].change_points == ()


def test_runs_of_one_value_have_no_tail() -> None:
    line = LINE[:4]
    study = Replay(
        replay_id(CELLS, line, 3, ReplayOrder.NEWEST, 1, "m"), line, CELLS, 3, ReplayOrder.NEWEST, AUTO, CHOSEN
    )
    assert all(series.tails is None for series in made(study, flat).series)


def test_what_sessions_vary_by_is_no_change_where_revisions_follow_each_other() -> None:
    """Newest first, each revision is a session of its own; interleaved they share all sessions."""
    sessions = np.random.default_rng(6).normal(0.0, 0.03, 20)
    found = made(replay(ReplayOrder.NEWEST), lambda place, own: float(np.exp(sessions[place])))
    assert not any(one.change_points for one in histories(found.series))
