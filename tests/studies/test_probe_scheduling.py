"""Detectors of the scheduler on simulated raw data whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_gaps import raw_of

from hati.studies.probe import ProbeVerdict
from hati.studies.probe.scheduling import balance, reserve, switch, wakeup, weights

MEASURED, INCONCLUSIVE, CONTAMINATED = ProbeVerdict.MEASURED, ProbeVerdict.INCONCLUSIVE, ProbeVerdict.CONTAMINATED


def woken(rng, late_us, others=0.0, count=500):
    return {"late_ns": 1e3 * late_us + rng.exponential(2e3, count) + 25.0, "others": np.array([others])}


@pytest.mark.parametrize("truth", [5.0, 50.0, 500.0])
def test_the_lateness_of_wake_ups_is_found_without_the_cost_of_the_clock(truth: float) -> None:
    covered = late = 0
    for seed in range(100):
        found, tail = wakeup(woken(np.random.default_rng(seed), truth), 25.0)
        assert found.verdict is MEASURED
        assert found.interval is not None
        covered += found.interval[0] <= truth + 2.0 * np.log(2.0) <= found.interval[1]
        assert tail.value > found.value
        assert tail.interval is not None
        late += tail.interval[0] <= truth + 2.0 * np.log(100.0) <= tail.interval[1]
    assert covered >= 90
    assert late >= 90


def test_wake_ups_on_a_busy_cpu_are_contaminated() -> None:
    found = wakeup(woken(np.random.default_rng(1), 50.0, others=0.6), 25.0)
    assert {each.verdict for each in found} == {CONTAMINATED}
    assert "60 %" in found[0].reason


def handed(rng, switch_us, own=0.99, switched=1.0):
    hands, batches = 1000, 100
    alone = hands * 800.0 * rng.normal(1.0, 0.02, batches)
    return {
        "hands": np.array([hands]),
        "all_hands": np.array([hands * batches]),
        "switches": np.array([switched * hands * batches]),
        "own_ns": alone + 25.0,
        "trip_ns": alone + hands * switch_us * 1e3 * rng.normal(1.0, 0.03, batches) + 25.0,
        "window_ns": np.array([0.0, 1e9, own * 1e9]),
    }


@pytest.mark.parametrize("truth", [0.5, 2.0, 20.0])
def test_the_cost_of_a_switch_is_found_without_that_of_the_pipe(truth: float) -> None:
    for seed in range(20):
        (found,) = switch(handed(np.random.default_rng(seed), truth))
        assert found.verdict is MEASURED
        assert found.value == pytest.approx(truth, rel=0.03)


def test_switches_that_did_not_happen_or_were_not_alone_are_not_measured() -> None:
    rng = np.random.default_rng(2)
    (few,) = switch(handed(rng, 2.0, switched=0.5))
    assert few.verdict is INCONCLUSIVE
    assert "50 %" in few.reason
    (shared,) = switch(handed(rng, 2.0, own=0.8))
    assert shared.verdict is CONTAMINATED
    assert "20 %" in shared.reason


def repeated(shares, wall=500.0):
    """The raw data of processes with these shares of a CPU, for each repetition."""
    raw = {}
    for number, row in enumerate(shares):
        for process, share in enumerate(row):
            raw |= raw_of([], [], wall, f"{number}/", process, share * wall)
    return raw


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_the_ratio_of_weights_is_found_and_covered(steps: int) -> None:
    truth, covered = 1.25**steps, 0
    for seed in range(100):
        own = truth / (1.0 + truth) + np.random.default_rng(seed).normal(0.0, 0.004, 4)
        (found,) = weights(repeated(np.column_stack([own, 1.0 - own])))
        assert found.value == pytest.approx(truth, rel=0.1)
        covered += found.interval[0] <= truth <= found.interval[1]
    assert covered >= 90


def test_weights_are_contaminated_by_a_third_process_and_inconclusive_where_they_scatter() -> None:
    (shared,) = weights(repeated([[0.60, 0.20]] * 4))
    assert shared.verdict is CONTAMINATED
    assert shared.value == pytest.approx(3.0)
    (scattered,) = weights(repeated([[0.75, 0.25], [0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]))
    assert scattered.verdict is INCONCLUSIVE
    (starved,) = weights(repeated([[1.0, 0.0]] * 4))
    assert starved.verdict is INCONCLUSIVE


def reserved(length, period, wall=4200.0, filled=1.0, rng=None):
    starts = np.arange(period - length, wall - length, period)
    if rng is not None:
        starts = np.sort(rng.uniform(0.0, wall - length, starts.size))
    first = raw_of(starts, np.full(starts.size, length), wall, number=0)
    return first | raw_of([], [], wall, number=1, cpu=filled * length * starts.size)


@pytest.mark.parametrize(("length", "period"), [(50.0, 1000.0), (54.0, 1004.0), (100.0, 1000.0), (30.0, 500.0)])
def test_the_reserve_of_normal_processes_and_its_period_are_found(length: float, period: float) -> None:
    found = reserve(reserved(length, period))
    assert [each.verdict for each in found] == [MEASURED] * 2
    assert [each.value for each in found] == pytest.approx([length, period])


def test_a_reserve_that_is_not_one_is_not_reported() -> None:
    none = reserve(raw_of([], [], 4200.0, number=0) | raw_of([], [], 4200.0, number=1, cpu=0.0))
    assert [(each.value, each.verdict) for each in none] == [(None, MEASURED)] * 2
    assert {each.verdict for each in reserve(reserved(50.0, 1000.0, wall=1500.0))} == {INCONCLUSIVE}
    assert {each.verdict for each in reserve(reserved(50.0, 1000.0, filled=0.4))} == {CONTAMINATED}
    random = reserve(reserved(50.0, 500.0, rng=np.random.default_rng(3)))
    assert {each.verdict for each in random} == {INCONCLUSIVE}


def balanced(times_ms, least=0.6, others=0.0):
    shares = np.full((4, 3), (2.0 - least) / 2.0)
    shares[:, 2] = least
    known = {"limit_ns": 1e8, "cpus": 2.0, "others": others}
    return repeated(shares) | {"spread_ns": 1e6 * np.asarray(times_ms)} | {k: np.array([v]) for k, v in known.items()}


def test_evenness_and_the_time_to_spread() -> None:
    even, spread = balance(balanced([4.0, 5.0, 6.0, 5.5, 4.5, 100.0, 5.0]))
    assert (even.verdict, spread.verdict) == (MEASURED, MEASURED)
    assert even.value == pytest.approx(0.9)
    assert spread.value == 5.0
    assert spread.interval is not None
    never = balance(balanced([100.0] * 5))[1]
    assert never.verdict is INCONCLUSIVE
    assert "100 % of the trials" in never.reason


def test_balance_beside_other_load_is_contaminated() -> None:
    assert {each.verdict for each in balance(balanced([5.0] * 7, others=0.5))} == {CONTAMINATED}


def test_processes_that_stay_on_one_of_two_cpus_are_uneven_balancing_and_no_other_load() -> None:
    beside = np.tile([0.25, 0.25, 0.5], (4, 1))
    even, spread = balance(balanced([100.0, 90.0, 80.0, 5.0, 70.0]) | repeated(beside))
    assert (even.verdict, even.value) == (MEASURED, pytest.approx(0.75))
    assert (spread.verdict, spread.value) == (MEASURED, 80.0)
