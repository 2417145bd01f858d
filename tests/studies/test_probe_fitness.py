"""The fitness of a machine, differences of properties, and recovered truths, on simulated raw data."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_gaps import raw_of, throttled

from hati.studies.probe import (
    Conditions,
    Disturbance,
    DisturbanceKind,
    Neighbour,
    ProbeConclusion,
    Probed,
    ProbeVerdict,
    Property,
    PropertyChange,
    RecoveryOutcome,
    differences,
    fitness,
    recovered,
    recovered_ratio,
)
from hati.studies.probe.detectors import quota
from hati.studies.probe.document import fitness_document, probe_diff_document
from hati.studies.probe.noise import interruptions, repeatability


def repeated(times: np.ndarray) -> tuple[Property, ...]:
    return repeatability({"work_wall_ns": times, "work_cpu_ns": times, "others": np.zeros(1)})


NAMED = {DisturbanceKind.NEIGHBOUR, DisturbanceKind.BURST, DisturbanceKind.QUOTA}


def found(rng: np.random.Generator, gaps, limit=None, neighbours=(), cpus=(0, 1, 2)) -> tuple[Disturbance, ...]:
    """What is named for these gaps of a CPU in 2 s, with the ticks and a few long interruptions of any machine."""
    starts, lengths, unused = gaps
    own = np.concatenate([starts, rng.uniform(0, 2000, 3)]), np.concatenate([lengths, rng.uniform(0.2, 3, 3)])
    order = np.argsort(own[0])
    raw = raw_of(own[0][order], own[1][order]) | {"unused": np.array([unused]), "stolen": np.zeros(1)}
    limits = limit if limit is not None else raw_of([], [], 3000.0) | {"unused": np.zeros(1)}
    times = np.repeat(np.exp(rng.normal(0, 0.01, 80)), 25) * 2e6
    probed = (
        Probed("cpu.limit", "", "1", properties=quota(limits)),
        Probed("noise.gaps", "", "1", properties=interruptions(raw), neighbours=tuple(neighbours)),
        Probed("noise.repetition", "", "1", properties=repeated(times)),
    )
    return fitness(ProbeConclusion("m", "f", probed), Conditions(randomised=True, cpus=cpus)).disturbances


def first(disturbances: tuple[Disturbance, ...]) -> DisturbanceKind | None:
    return next((each.kind for each in disturbances if each.kind in NAMED), None)


def test_a_busy_neighbour_is_named_first() -> None:
    starts = np.arange(0.0, 2000.0, 8.0)
    for seed in range(20):
        named = found(
            np.random.default_rng(seed),
            (starts, np.full(starts.size, 4.0), 0.0),
            neighbours=[Neighbour("busy", 17, 0, 0.5), Neighbour("other", 18, 1, 0.2)],
        )
        assert first(named) is DisturbanceKind.NEIGHBOUR
        assert "busy (process 17" in named[0].evidence
        assert named[0].command == "taskset -cp 1-2 17"


def test_other_cpus_are_named_by_ranges() -> None:
    starts = np.arange(0.0, 2000.0, 8.0)
    gaps = (starts, np.full(starts.size, 4.0), 0.0)
    neighbours = [Neighbour("busy", 17, 2, 0.5)]
    named = found(np.random.default_rng(1), gaps, neighbours=neighbours, cpus=(0, 2, *range(4, 64)))
    assert named[0].command == "taskset -cp 0,4-63 17"


def test_a_neighbour_on_the_only_cpu_is_shown_and_not_suspended() -> None:
    starts = np.arange(0.0, 2000.0, 8.0)
    gaps = (starts, np.full(starts.size, 4.0), 0.0)
    named = found(np.random.default_rng(1), gaps, neighbours=[Neighbour("busy", 17, 0, 0.5)], cpus=(0,))
    assert (named[0].remedy, named[0].command) == ("end it, or move it to another machine", "ps -o pid,user,args -p 17")


def test_a_burst_of_ten_a_second_is_named_first() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        starts = np.arange(rng.uniform(0, 100), 2000.0, 100.0)
        lengths = rng.normal(5.0, 0.3, starts.size)
        named = found(rng, (starts + rng.normal(0, 0.3), lengths, 0.0), neighbours=[Neighbour("poll", 9, 0, 0.05)])
        assert first(named) is DisturbanceKind.BURST
        assert named[0].evidence.startswith(("10 times", "9.9", "10."))


def test_a_quota_is_named_first() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        limit = throttled(rng, 50, 100)
        starts = np.arange(50.0, 2000.0, 100.0)
        named = found(rng, (starts, np.full(starts.size, 49.0), 0.49), limit)
        assert first(named) is DisturbanceKind.QUOTA
        assert named[0].share == pytest.approx(0.5, abs=0.02)


def test_a_quiet_machine_names_none_of_them_and_its_settings_last() -> None:
    for seed in range(50):
        named = found(
            np.random.default_rng(seed), (np.empty(0), np.empty(0), 0.0), neighbours=[Neighbour("k", 1, 0, 0.02)]
        )
        assert first(named) is None
        assert [each.kind for each in named] == [DisturbanceKind.ASLR]


def test_a_process_that_ran_elsewhere_is_not_a_neighbour() -> None:
    named = found(np.random.default_rng(1), (np.empty(0), np.empty(0), 0.0), neighbours=[Neighbour("k", 1, 0, 0.95)])
    assert first(named) is None


def test_properties_that_differ_stand_first_and_doubtful_ones_are_undecided() -> None:
    before = {
        "clock.cost": Property("clock.cost", 20.0, "ns", (19.0, 21.0)),
        "mem.caches": Property("mem.caches", 260.0, "B", (250.0, 270.0)),
        "cpu.quota": Property("cpu.quota", None, "ms", reason="none"),
        "cpu.cores": Property("cpu.cores", 2.0, "1"),
        "gone": Property("gone", 1.0, "1"),
    }
    doubtful = Property("cpu.cores", 1.0, "1", None, ProbeVerdict.CONTAMINATED, "others ran")
    after = {
        "clock.cost": Property("clock.cost", 20.9, "ns", (20.0, 22.0)),
        "mem.caches": Property("mem.caches", 32.0, "B", (30.0, 34.0)),
        "cpu.quota": Property("cpu.quota", 50.0, "ms", (49.0, 51.0)),
        "cpu.cores": doubtful,
    }
    named = {each.name: each.change for each in differences(before, after)}
    assert named == {
        "mem.caches": PropertyChange.DIFFERS,
        "cpu.quota": PropertyChange.DIFFERS,
        "clock.cost": PropertyChange.ALIKE,
        "cpu.cores": PropertyChange.UNDECIDED,
    }
    assert list(named) == ["mem.caches", "cpu.quota", "clock.cost", "cpu.cores"]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ((8.0, 12.0), (8.0, 12.0), PropertyChange.UNDECIDED),
        ((9.0, 11.0), (9.5, 11.5), PropertyChange.ALIKE),
        ((9.9, 10.1), (10.2, 10.3), PropertyChange.ALIKE),
        ((9.0, 11.0), (11.5, 12.5), PropertyChange.DIFFERS),
        ((-1.0, 1.0), (-1.0, 1.0), PropertyChange.UNDECIDED),
        ((0.0, 0.0), (0.0, 0.0), PropertyChange.ALIKE),
    ],
)
def test_properties_are_alike_where_their_intervals_exclude_a_difference(
    before: tuple[float, float], after: tuple[float, float], change: PropertyChange
) -> None:
    sides = ({"x": Property("x", sum(each) / 2.0, "ms", each)} for each in (before, after))
    (found,) = differences(*sides)
    assert found.change is change
    assert ("do not exclude" in found.reason) == (change is PropertyChange.UNDECIDED)


def test_a_property_that_is_inconclusive_on_both_sides_is_listed() -> None:
    same = Property("x", 2.0, "ms", None, ProbeVerdict.INCONCLUSIVE, "too short")
    alike = Property("y", 2.0, "ms", (1.9, 2.1))
    sides = {"x": same, "y": alike}
    document = probe_diff_document("a", "b", differences(sides, sides))
    (table,) = document.sections
    assert [row[0] for row in table.rows] == ["x"]
    assert table.notes == ("x: too short",)
    assert dict(document.facts)["alike"] == "1, not listed"


def test_a_truth_is_recovered_disturbed_or_missed() -> None:
    near, far = Property("x", 50.0, "ms"), Property("x", 60.0, "ms")
    doubted = Property("x", 60.0, "ms", None, ProbeVerdict.CONTAMINATED, "others ran")
    outcomes = [recovered("x", 51.0, 0.05, each).outcome for each in (near, far, doubted, None)]
    assert outcomes == [
        RecoveryOutcome.RECOVERED,
        RecoveryOutcome.MISSED,
        RecoveryOutcome.DISTURBED,
        RecoveryOutcome.MISSED,
    ]


def test_that_there_is_none_is_a_truth() -> None:
    none = Property("x", None, "ms", reason="none")
    doubted = Property("x", None, "ms", None, ProbeVerdict.INCONCLUSIVE, "too short")
    outcomes = [recovered("x", None, 0.0, each).outcome for each in (none, Property("x", 50.0, "ms"), doubted)]
    assert outcomes == [RecoveryOutcome.RECOVERED, RecoveryOutcome.MISSED, RecoveryOutcome.DISTURBED]
    assert recovered("x", 50.0, 0.05, none).outcome is RecoveryOutcome.MISSED


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [
        ((1.05, 1.08), RecoveryOutcome.RECOVERED),
        ((0.99, 1.10), RecoveryOutcome.MISSED),
        ((1.07, 1.08), RecoveryOutcome.MISSED),
    ],
)
def test_a_ratio_is_recovered_where_its_interval_has_it_and_not_1(
    interval: tuple[float, float], outcome: RecoveryOutcome
) -> None:
    assert recovered_ratio("x", 1.067, Property("x", 1.06, "1", interval)).outcome is outcome


@pytest.mark.parametrize(("spread", "expected"), [(0.2, "Valgrind"), (0.005, "")])
def test_counting_is_proposed_where_times_cannot_decide(spread: float, expected: str) -> None:
    times = np.repeat(np.exp(np.random.default_rng(4).normal(0, spread, 80)), 25) * 2e6
    conclusion = ProbeConclusion("m", "f", (Probed("noise.repetition", "", "1", properties=repeated(times)),))
    made = fitness(conclusion, Conditions(), "Valgrind")
    assert made.counter == expected
    assert (made.visible[1].change > 0.05) == bool(expected)
    assert ("measure `instructions`" in str(fitness_document(made).sections)) == bool(expected)
