"""Virtualisation: slow-downs are covered by their intervals, and stolen time is what the kernel counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import FloatArray
from hati.studies.probe import (
    ProbeVerdict,
    Property,
    RecoveryOutcome,
    recovered_ratio,
    slowdown_against,
    slowdown_inside,
)
from hati.studies.probe.virtual import stolen_share

MS = 1e6
QUIET, LOADED = {"others": np.zeros(1)}, {"others": np.array([0.4])}


def pairs(rng: np.random.Generator, factor: float, count: int = 8) -> dict[str, FloatArray]:
    """Bursts on a machine whose speed drifts; elapsed time is CPU time and interruptions."""
    speeds = np.exp(np.cumsum(rng.normal(0.0, 0.02, count)))
    found = {}
    for pair, speed in enumerate(speeds):
        for side, own in (("outside", 1.0), ("inside", factor)):
            times = 2.0 * MS * own * speed * rng.lognormal(0.0, 0.008) * rng.lognormal(0.0, 0.005, 99)
            found[f"{side}_cpu_ns/{pair}"] = times
            found[f"{side}_wall_ns/{pair}"] = times * (1.0 + rng.exponential(0.003, times.size))
    return found


def test_the_overhead_of_the_paper_is_covered_and_1_excluded_however_the_machine_drifts() -> None:
    covered = {"virt.slowdown": 0, "virt.cpu_slowdown": 0}
    for seed in range(200):
        for found in slowdown_inside(pairs(np.random.default_rng(seed), 1.067) | QUIET):
            covered[found.name] += recovered_ratio("x", 1.067, found).outcome is RecoveryOutcome.RECOVERED
    assert min(covered.values()) >= 180, covered


def test_the_same_work_is_rarely_called_slower() -> None:
    excluded = 0
    for seed in range(200):
        low, high = slowdown_inside(pairs(np.random.default_rng(seed), 1.0) | QUIET)[1].interval or (0.0, 0.0)
        excluded += not low <= 1.0 <= high
    assert excluded <= 20


def under_quota(quota: float, period: float, since: float, length: float = 500.0) -> FloatArray:
    """Elapsed times in ns of work of 2 ms in a burst that begins ``since`` ms after a period did, its quota unused."""
    now, left, found = since, quota, []
    while now < since + length:
        began, work = now, 2.0
        while work > left:
            work, left, now = work - left, quota, period * (now // period + 1.0)
        if (now + work) // period > now // period:
            left = quota
        now, left = now + work, left - work
        found.append((now - began) * MS)
    return np.array(found)


def with_quota(quota: float, period: float, since: float) -> dict[str, FloatArray]:
    """Three pairs of bursts, those inside under a quota."""
    steady, stopped = np.full(250, 2.0 * MS), under_quota(quota, period, since)
    raw = {f"outside_{clock}_ns/{pair}": steady for clock in ("wall", "cpu") for pair in range(3)}
    raw |= {f"inside_wall_ns/{pair}": stopped for pair in range(3)}
    return raw | {f"inside_cpu_ns/{pair}": steady[: stopped.size] for pair in range(3)} | QUIET


@pytest.mark.parametrize(("quota", "period"), [(125.0, 250.0), (50.0, 300.0), (100.0, 400.0)])
@pytest.mark.parametrize("since", [0.0, 30.0])
def test_a_period_too_long_for_bursts_leaves_elapsed_time_inconclusive(
    quota: float, period: float, since: float
) -> None:
    slowdown, used = slowdown_inside(with_quota(quota, period, since))
    assert (slowdown.verdict, used.verdict) == (ProbeVerdict.INCONCLUSIVE, ProbeVerdict.MEASURED)
    assert "too short for whole periods of a quota: run `hati probe cpu.limit` inside" in slowdown.reason


def test_stops_of_the_machine_itself_are_no_quota() -> None:
    raw = with_quota(100.0, 300.0, 0.0)
    raw |= {f"outside_wall_ns/{pair}": raw["inside_wall_ns/0"] for pair in range(3)}
    assert slowdown_inside(raw)[0].verdict is ProbeVerdict.MEASURED


@pytest.mark.parametrize(("quota", "period"), [(50.0, 100.0), (25.0, 100.0), (80.0, 100.0), (10.0, 20.0)])
@pytest.mark.parametrize("since", [0.0, 30.0, 77.0])
def test_a_quota_is_a_slow_down_of_elapsed_time_alone(quota: float, period: float, since: float) -> None:
    slowdown, used = slowdown_inside(with_quota(quota, period, since))
    assert {slowdown.verdict, used.verdict} == {ProbeVerdict.MEASURED}
    assert (slowdown.value, used.value) == (pytest.approx(period / quota, rel=0.03), pytest.approx(1.0))


def test_other_load_contaminates_both_comparisons() -> None:
    found = slowdown_inside(pairs(np.random.default_rng(1), 1.0) | LOADED)
    found += slowdown_against(bursts(np.random.default_rng(1), 500.0) | LOADED, "host")
    assert {each.verdict for each in found} == {ProbeVerdict.CONTAMINATED}
    assert all("others used 40 % of the CPUs" in each.reason for each in found)


def bursts(
    rng: np.random.Generator, rate: float, reference: float = 500.0, error: float = 0.0
) -> dict[str, FloatArray]:
    """Bursts of work here at a rate, and the rate on another machine, whose interval is as wide as its error."""
    known = reference * rng.lognormal(0.0, error) * np.exp(np.array([0.0, -1.96, 1.96]) * error)
    found = {"units": np.array([200_000.0]), "reference_rate": known}
    for burst in range(6):
        found[f"work_cpu_ns/{burst}"] = 200_000.0 / rate * MS * rng.lognormal(0.0, 0.01) * rng.lognormal(0.0, 0.005, 99)
    return found


def test_the_interval_against_another_machine_has_the_uncertainty_of_both() -> None:
    covered, widths = 0, []
    for error in (0.0, 0.03):
        for seed in range(200):
            raw = bursts(np.random.default_rng(seed), 500.0 / 1.067, error=error) | QUIET
            (found,) = slowdown_against(raw, "host")
            assert (found.name, found.verdict) == ("virt.cpu_slowdown", ProbeVerdict.MEASURED)
            assert "not interleaved: host was measured at another time" in found.reason
            low, high = found.interval or (0.0, 0.0)
            covered += low <= 1.067 <= high
        widths.append(high / low)
    assert covered >= 370
    assert widths[1] > widths[0] * 1.05


def steal(windows: list[float], tick: float = 0.01, before: float = 5.0) -> Property:
    (found,) = stolen_share({"stolen": np.array(windows), "tick": np.array([tick]), "before": np.array([before])})
    return found


@given(st.lists(st.floats(1e-3, 1.0), min_size=5, max_size=20), st.floats(1e-4, 0.1))
def test_stolen_time_has_an_interval_of_a_tick_or_more(windows: list[float], tick: float) -> None:
    found = steal(windows, tick)
    assert found.value is not None
    low, high = found.interval or (0.0, 0.0)
    assert 0.0 <= low <= found.value < high
    assert high - found.value >= 0.99 * tick
    assert found.verdict is ProbeVerdict.MEASURED


def test_a_hypervisor_that_never_counted_stolen_time_may_not_report_it() -> None:
    found = steal([0.0, 0.0], before=0.0)
    assert (found.value, found.verdict) == (0.0, ProbeVerdict.INCONCLUSIVE)
    assert "may not report it" in found.reason
    assert steal([0.0, *[0.1] * 5], before=0.0).verdict is ProbeVerdict.MEASURED


@pytest.mark.parametrize("windows", [1, 4])
def test_time_stolen_in_few_windows_is_inconclusive(windows: int) -> None:
    found = steal([*[0.04] * windows, *[0.0] * (8 - windows)])
    assert (found.value, found.verdict) == (0.04 * windows / 8.0, ProbeVerdict.INCONCLUSIVE)
    assert f"in {windows} window" in found.reason
    assert found.reason.endswith("; measure without `--quick`, or again while the machine is used as usual")


def test_where_nothing_was_stolen_the_upper_limit_is_garwoods() -> None:
    found = steal([0.0] * 8)
    assert (found.verdict, found.interval) == (ProbeVerdict.MEASURED, (0.0, pytest.approx(0.03689, rel=1e-3)))


@pytest.mark.acceptance
@pytest.mark.parametrize(("expected", "length"), [(8, 0.02), (16, 0.02), (32, 0.02), (8, 0.06)])
def test_measured_stolen_time_is_covered(expected: int, length: float) -> None:
    """Intervals of exponential length in 1 s of two CPUs, counted in ticks of 10 ms: 91 % or more are covered."""
    rng, measured, covered = np.random.default_rng(7), 0, 0
    for _ in range(2000):
        count, windows = rng.poisson(expected), np.zeros(8)
        np.add.at(windows, rng.integers(0, 8, count), rng.exponential(length, count))
        ticks = np.diff(np.floor(np.concatenate([[0.0], np.cumsum(windows)]) / 0.01 + rng.uniform())) * 0.01
        found = steal(list(ticks / 0.25))
        if found.verdict is ProbeVerdict.MEASURED:
            low, high = found.interval or (0.0, 0.0)
            measured, covered = measured + 1, covered + (low <= expected * length / 2.0 <= high)
    assert covered >= 0.91 * measured > 0
