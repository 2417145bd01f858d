"""Detectors of infrastructure experiments on simulated raw data whose truth is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_gaps import raw_of, round_robin, throttled

from hati.core import InputError
from hati.stats import proportion
from hati.studies.probe import ProbeVerdict, Property, PropertyChange, differences, gaps_of, mode_of, rhythm_of
from hati.studies.probe.detectors import (
    bandwidth,
    clock,
    demand_slice,
    disk,
    memory_levels,
    network,
    pair_slowdown,
    quota,
    remote_link,
    requested_slice,
    round_robin_slice,
    timeslice,
    usable_cores,
    work_rate,
)
from hati.studies.probe.noise import detectable, interruptions, repeatability

ALONE, BUSY = {"others": np.array([0.02])}, {"others": np.array([0.4])}
"""Raw data of other load: little, and 40 % of the CPUs' time."""


def by_name(found):
    return {each.name: each for each in found}


def slices(rng, slice_ms, **options):
    raw = {}
    for processes in (2, 3, 4):
        raw |= round_robin(rng, slice_ms, processes, prefix=f"{processes}/", **options)
    return raw


@settings(max_examples=12)
@given(st.floats(1.0, 40.0), st.integers(0, 99))
def test_the_timeslice_is_the_slope_of_the_gaps(slice_ms: float, seed: int) -> None:
    (found,) = timeslice(slices(np.random.default_rng(seed), slice_ms))
    assert found.verdict is ProbeVerdict.MEASURED
    assert found.value == pytest.approx(slice_ms, rel=0.03)


def test_a_competing_load_makes_the_timeslice_contaminated() -> None:
    raw = slices(np.random.default_rng(1), 4.0)
    for name in [name for name in raw if "window" in name]:
        raw[name] = raw[name] * [1.0, 1.0, 0.8]
    (found,) = timeslice(raw)
    assert found.verdict is ProbeVerdict.CONTAMINATED
    assert "20 %" in found.reason


def test_gaps_out_of_proportion_are_inconclusive() -> None:
    raw = slices(np.random.default_rng(1), 4.0) | round_robin(np.random.default_rng(2), 6.0, 4, prefix="4/")
    (found,) = timeslice(raw)
    assert found.verdict is ProbeVerdict.INCONCLUSIVE
    assert "proportion" in found.reason


@pytest.mark.parametrize("truth", [8.0, 20.0, 40.0, 100.0])
def test_slices_of_round_robin_are_found_within_one_percent(truth: float) -> None:
    (found,) = round_robin_slice(round_robin(np.random.default_rng(3), truth, 2, wall_ms=3000.0))
    assert found.verdict is ProbeVerdict.MEASURED
    assert found.value == pytest.approx(truth, rel=0.01)


def test_few_turns_are_inconclusive() -> None:
    (found,) = round_robin_slice(round_robin(np.random.default_rng(3), 900.0, 2, ticks=False))
    assert found.verdict is ProbeVerdict.INCONCLUSIVE


@pytest.mark.parametrize("truth", [31.0, 50.0, 100.0])
def test_clusters_of_response_times_find_a_long_slice(truth: float) -> None:
    rng = np.random.default_rng(4)
    waits = rng.random(300) < 20.0 / truth
    times = 20.0 + rng.normal(0, 0.2, 300) + waits * truth
    (found,) = demand_slice({"response_ns": times * 1e6} | ALONE, 20.0)
    assert found.verdict is ProbeVerdict.MEASURED
    assert found.value == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize("waits", [0.0, 0.2])
def test_response_times_beside_other_load_are_contaminated(waits: float) -> None:
    rng = np.random.default_rng(4)
    times = 20.0 + rng.normal(0, 0.2, 300) + 50.0 * (rng.random(300) < waits)
    (found,) = demand_slice({"response_ns": times * 1e6} | BUSY, 20.0)
    assert found.verdict is ProbeVerdict.CONTAMINATED
    assert "others used 40 %" in found.reason


def test_the_requested_timeslice_is_the_kernels() -> None:
    found = requested_slice({"requested_ns": np.array([2.8e6])})
    assert (found.value, found.verdict) == (pytest.approx(2.8), ProbeVerdict.MEASURED)
    assert requested_slice({}).verdict is ProbeVerdict.INCONCLUSIVE


def test_the_method_of_clusters_says_where_it_is_not_valid() -> None:
    times = 40.0 + np.random.default_rng(5).normal(0, 0.3, 200)
    (found,) = demand_slice({"response_ns": times * 1e6} | BUSY, 20.0, effective=4.0)
    assert found.verdict is ProbeVerdict.INCONCLUSIVE
    assert "not valid here" in found.reason
    assert "EEVDF" in found.reason


QUOTAS = [(50, 100), (25, 100), (80, 100), (10, 20), (10, 50), (100, 200)]


@pytest.mark.parametrize(("truth", "period"), QUOTAS)
def test_quotas_are_found_within_five_percent(truth: float, period: float) -> None:
    for seed in range(20):
        found = by_name(quota(throttled(np.random.default_rng(seed), truth, period)))
        assert found["cpu.quota"].verdict is ProbeVerdict.MEASURED
        assert found["cpu.quota"].value == pytest.approx(truth, rel=0.05)
        assert found["cpu.quota_period"].value == pytest.approx(period, rel=0.05)


def test_gaps_before_the_first_refill_and_after_the_last_do_not_shift_the_period() -> None:
    starts = np.array([20.0, *np.arange(100.0, 2900.0, 200.0), 2880.0])
    lengths = np.array([4.0, *np.full(14, 100.0), 4.0])
    found = by_name(quota(raw_of(starts, lengths, 2900.0) | {"unused": np.array([0.5])}))
    assert found["cpu.quota"].value == pytest.approx(100.0, rel=0.001)
    assert found["cpu.quota_period"].value == pytest.approx(200.0, rel=0.001)


def test_no_quota_is_none() -> None:
    found = quota(raw_of([100.0, 900.0], [0.1, 2.0]) | {"unused": np.zeros(1)})
    assert [(each.value, each.verdict) for each in found] == [(None, ProbeVerdict.MEASURED)] * 2


def test_a_neighbour_is_not_a_quota() -> None:
    starts = np.arange(0.0, 2000.0, 8.0)
    found = quota(raw_of(starts, np.full(starts.size, 4.0)) | {"unused": np.zeros(1)})
    assert {each.verdict for each in found} == {ProbeVerdict.CONTAMINATED}
    assert all(each.value is None for each in found)


def test_usable_cores_are_a_real_number_and_others_contaminate_it() -> None:
    raw: dict[str, np.ndarray] = {"others": np.zeros(1)} | raw_of([], [], 1500.0, "1/", cpu=750.0)
    for number, cpu in enumerate((250.0, 260.0, 240.0)):
        raw |= raw_of([], [], 1500.0, "n/", number, cpu)
    (found,) = usable_cores(raw)
    assert found.value == pytest.approx(0.5, rel=0.02)
    assert found.verdict is ProbeVerdict.MEASURED
    (disturbed,) = usable_cores(raw | {"others": np.array([0.6])})
    assert disturbed.verdict is ProbeVerdict.CONTAMINATED


def test_work_rate() -> None:
    rng = np.random.default_rng(6)
    bursts = {
        f"work_cpu_ns/{n}": 2e6 * speed * rng.normal(1.0, 0.005, 999) for n, speed in enumerate((1.0, 1.04, 0.96))
    }
    (rate,) = work_rate({"units": np.array([1e6]), **bursts, **ALONE})
    assert rate.verdict is ProbeVerdict.MEASURED
    assert rate.value == pytest.approx(5e5, rel=0.01)
    assert rate.interval is not None
    assert rate.interval[1] - rate.interval[0] > 0.08 * rate.value  # as the bursts differ, however many repetitions
    (disturbed,) = work_rate({"units": np.array([1e6]), **bursts, **BUSY})
    assert (disturbed.verdict, disturbed.value) == (ProbeVerdict.CONTAMINATED, rate.value)
    assert "others used 40 %" in disturbed.reason


def pair_raw(rng: np.random.Generator, slowdown: float, between: float) -> dict[str, np.ndarray]:
    """Six rounds of bursts on two CPUs, whose speeds scatter ``between`` bursts by that fraction."""
    ns = {"a_alone_ns": 5e5, "b_alone_ns": 5.2e5, "a_both_ns": 5e5 * slowdown, "b_both_ns": 5.2e5 * slowdown}
    return {
        f"{name}/{burst}": mean * rng.lognormal(0.0, between) * rng.lognormal(0.0, 0.01, 99)
        for name, mean in ns.items()
        for burst in range(6)
    }


@pytest.mark.acceptance
def test_the_slow_down_of_a_pair_is_covered_however_the_speed_wanders_between_bursts() -> None:
    covered = 0
    for seed in range(400):
        (found,) = pair_slowdown(pair_raw(np.random.default_rng(seed), 1.5, 0.03) | ALONE)
        assert found.verdict is ProbeVerdict.MEASURED
        assert found.interval is not None
        covered += found.interval[0] <= 1.5 <= found.interval[1]
    assert 0.92 <= covered / 400 <= 0.98
    (disturbed,) = pair_slowdown(pair_raw(np.random.default_rng(1), 1.5, 0.03) | BUSY)
    assert disturbed.verdict is ProbeVerdict.CONTAMINATED


def levels_raw(rng: np.random.Generator, sizes: list[float], latencies: list[float]) -> dict[str, np.ndarray]:
    regions = 2.0 ** np.arange(12, 26.01, 1 / 3)
    raw = {}
    for number, region in enumerate(regions):
        hit = [1.0 / (1.0 + (region / size) ** 12) for size in sizes]
        latency = latencies[0]
        for missed, (low, high) in zip(hit, itertools.pairwise(latencies), strict=True):
            latency += (1.0 - missed) * (high - low)
        raw[f"size_bytes/{number}"] = np.array([region])
        raw[f"load_ps/{number}"] = 1000.0 * latency * (1.0 + np.abs(rng.normal(0, 0.03, 5)))
    return raw


def test_levels_of_memory_are_found() -> None:
    sizes, latencies = [48 * 1024.0, 2 * 2**20, 16 * 2.0**20], [1.2, 4.5, 20.0, 120.0]
    for seed in range(10):
        found = by_name(memory_levels(levels_raw(np.random.default_rng(seed), sizes, latencies)))
        for number, (size, latency) in enumerate(zip(sizes, latencies, strict=False), start=1):
            assert 1 / 1.5 < found[f"mem.level{number}_size"].value / size < 1.5
            assert found[f"mem.level{number}_latency"].value == pytest.approx(latency, rel=0.2)
        assert found["mem.last_latency"].value == pytest.approx(120.0, rel=0.2)
        assert found["mem.caches"].value == found["mem.level3_size"].value


@pytest.mark.parametrize(
    ("others", "cpus", "alone"), [(0.09, 2, True), (0.3, 2, False), (0.3, 32, True), (1.0, 32, False)]
)
def test_caches_beside_other_load_are_contaminated(others: float, cpus: float, alone: bool) -> None:
    raw = levels_raw(np.random.default_rng(1), [48 * 1024.0], [1.2, 4.5])
    found = memory_levels(raw | {"others": np.array([others]), "cpus": np.array([float(cpus)])})
    assert {each.verdict for each in found} == {ProbeVerdict.MEASURED if alone else ProbeVerdict.CONTAMINATED}


def test_memory_without_levels_is_inconclusive() -> None:
    (found,) = memory_levels(levels_raw(np.random.default_rng(1), [2.0**30], [5.0, 5.0]))
    assert found.verdict is ProbeVerdict.INCONCLUSIVE


def test_bandwidth_is_that_of_all_processes() -> None:
    raw = {"moved_bytes": np.array([1e8])} | {f"triad_ns/{i}": np.full(9, 1e7) for i in range(2)}
    (found,) = bandwidth(raw | {"others": np.zeros(1)})
    assert (found.value, found.verdict) == (pytest.approx(2e10), ProbeVerdict.MEASURED)
    (disturbed,) = bandwidth(raw | {"others": np.array([0.4])})
    assert disturbed.verdict is ProbeVerdict.CONTAMINATED
    assert "others used 40 %" in disturbed.reason


def test_interruptions_by_size() -> None:
    one = raw_of(np.arange(0, 2000, 4.0), np.full(500, 0.04), number=0)
    two = raw_of([500.0, 1500.0], [20.0, 5.0], number=1)
    found = by_name(interruptions(one | two))
    assert found["noise.interrupted"].value == pytest.approx((0.01 + 0.0125) / 2)
    assert found["noise.rate_10us"].value == pytest.approx(125.0)
    assert found["noise.rate_10ms"].value == pytest.approx(0.25)
    assert found["noise.longest"].value == 20.0


def test_the_smallest_visible_change_is_seen_in_four_of_five_comparisons() -> None:
    rng, runs, deviation = np.random.default_rng(7), 10, 0.01
    change = detectable(deviation, runs)
    pairs = rng.normal(change, deviation, (4000, runs))
    statistic = pairs.mean(axis=1) / (pairs.std(axis=1, ddof=1) / np.sqrt(runs))
    assert np.mean(np.abs(statistic) > 3.2498355) == pytest.approx(0.8, abs=0.02)  # t at 0.995 with 9 degrees


def work_raw(times: np.ndarray) -> dict[str, np.ndarray]:
    return {"work_wall_ns": times, "work_cpu_ns": times}


@pytest.mark.acceptance
def test_repeatability_covers_the_true_spread_and_shows_drift() -> None:
    covered = 0
    for seed in range(2000):
        times = np.repeat(np.exp(np.random.default_rng(seed).normal(0, 0.02, 80)), 2) * 25e6
        found = by_name(repeatability(work_raw(times) | ALONE))
        low, high = found["noise.spread"].interval
        covered += low < 0.02 < high
    assert 0.93 <= covered / 2000 <= 0.97
    drifting = times * np.linspace(1.0, 1.5, times.size)
    assert by_name(repeatability(work_raw(drifting) | ALONE))["noise.drift"].value > 0.08
    (short,) = repeatability(work_raw(times[:8]) | ALONE)
    assert short.verdict is ProbeVerdict.INCONCLUSIVE
    disturbed = repeatability(work_raw(times) | BUSY)
    assert {each.verdict for each in disturbed} == {ProbeVerdict.CONTAMINATED}
    assert [each.value for each in disturbed] == [each.value for each in found.values()]


def clock_raw(rng: np.random.Generator, between: float, within: float = 0.003) -> dict[str, np.ndarray]:
    """Eight windows, whose speeds scatter by the fraction ``between``."""
    return clock_windows(rng, rng.normal(1.0, between, 8), within)


def clock_windows(rng: np.random.Generator, speeds: np.ndarray, within: float = 0.003) -> dict[str, np.ndarray]:
    raw = {}
    for window, speed in enumerate(speeds):
        raw |= {
            f"{name}/{window}": cost * speed * rng.normal(1.0, within, 24)
            for name, cost in (("cost_ps", 22600.0), ("thread_cost_ps", 245e3))
        }
        raw[f"step_ns/{window}"] = rng.integers(22, 30, 24).astype(float)
    return raw | ALONE


def test_the_clock() -> None:
    rng = np.random.default_rng(9)
    raw = clock_raw(rng, 0.0)
    found = by_name(clock(raw))
    assert found["clock.cost"].value == pytest.approx(22.6, rel=0.01)
    assert found["clock.resolution"].interval == (0.0, 22.0)
    coarse = by_name(clock(raw | {f"step_ns/{window}": np.full(24, 4e6) for window in range(8)}))
    assert coarse["clock.resolution"].interval == (4e6, 4e6)
    noisy = by_name(clock(raw | {f"cost_ps/{window}": rng.uniform(2e4, 9e4, 24) for window in range(8)}))
    beside = by_name(clock(raw | BUSY))
    for doubted in (noisy, beside):
        assert {doubted[name].verdict for name in ("clock.cost", "clock.thread_cost")} == {ProbeVerdict.CONTAMINATED}
    assert "others used 40 %" in beside["clock.cost"].reason


@pytest.mark.acceptance
@pytest.mark.parametrize("between", [pytest.param(0.01, marks=pytest.mark.acceptance), 0.08])
def test_the_clock_of_one_machine_rarely_differs_from_itself(between: float) -> None:
    truths = {"clock.cost": 22.6, "clock.thread_cost": 245.0}
    covered = differing = 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        first, second = (by_name(clock(clock_raw(rng, between))) for _ in range(2))
        intervals = [(one[name].interval, truth) for one in (first, second) for name, truth in truths.items()]
        covered += sum(low <= truth <= high for (low, high), truth in intervals)
        differing += any(each.change is PropertyChange.DIFFERS for each in differences(first, second))
    assert covered / 2000 >= 0.93
    assert differing / 500 <= 0.03


@pytest.mark.acceptance
def test_two_speeds_by_window_are_no_difference_of_the_clock() -> None:
    """As of processes whose readings take 27 or 34 ns; the mean is that of both."""
    covered = differing = 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        first, second = (
            by_name(clock(clock_windows(rng, rng.choice([27.0 / 22.6, 34.0 / 22.6], 8)))) for _ in range(2)
        )
        for found in (first, second):
            low, high = found["clock.cost"].interval
            covered += low <= 30.5 <= high
        differing += any(each.change is PropertyChange.DIFFERS for each in differences(first, second))
    assert covered / 1000 >= 0.91
    assert differing / 500 <= 0.03


def test_a_largest_value_never_decides_a_difference() -> None:
    first, second = ({"noise.longest": Property("noise.longest", value, "ms")} for value in (1.0, 9.0))
    (found,) = differences(first, second)
    assert found.change is PropertyChange.UNDECIDED
    assert "a largest value" in found.reason


@pytest.mark.acceptance
@pytest.mark.parametrize("length", [0.2, pytest.param(5.0, marks=pytest.mark.acceptance)])
def test_usable_cores_are_covered(length: float) -> None:
    """Of two CPUs, others take 5 % in pieces; the third process does not run."""
    covered, events = 0, 0.05 * 1500.0 / length
    for seed in range(2000):
        rng, raw = np.random.default_rng(seed), {"others": np.zeros(1)} | raw_of([], [], 1500.0, "1/")
        for number in range(2):
            starts = np.sort(rng.uniform(0.0, 1500.0 - length, rng.poisson(events)))
            raw |= raw_of(starts, np.full(starts.size, length), 1500.0, "n/", number)
        (found,) = usable_cores(raw | raw_of([0.0], [1500.0], 1500.0, "n/", 2))
        covered += found.interval[0] <= 1.9 <= found.interval[1]
    assert proportion(covered, 2000).interval[1] >= 0.95


def test_a_quota_does_not_widen_the_interval_of_usable_cores() -> None:
    starts = np.arange(30.0, 1500.0, 100.0)
    stopped = raw_of(starts, np.full(starts.size, 50.0), 1500.0, "1/")
    (found,) = usable_cores(
        {"others": np.zeros(1)} | stopped | raw_of(starts, np.full(starts.size, 50.0), 1500.0, "n/", 0)
    )
    assert found.interval[1] - found.interval[0] < 0.02 * found.value


def test_rates_of_a_bursty_disk_are_those_of_all_its_time() -> None:
    durable = np.where(np.arange(32) % 8 == 7, 4e8, 1e5)
    reads = {"cached_read_ns": np.full(50, 2e3), "direct_read_ns": np.full(50, 6e4)}
    raw = {"durable_ns": durable, "append_ns": np.full(50, 3e5)} | reads
    found = by_name(disk(raw | ALONE))
    assert found["disk.durable"].value == pytest.approx(2**20 * 32 / durable.sum() * 1e9)
    assert found["disk.iops"].value == pytest.approx(1e9 / 6e4)
    assert found["disk.cache_effect"].value == pytest.approx(30.0)
    assert {each.verdict for each in found.values()} == {ProbeVerdict.MEASURED}
    assert {each.verdict for each in disk(raw | BUSY)} == {ProbeVerdict.CONTAMINATED}
    own = 32 * 2**20 + 100 * 4096
    journal, shared = ({"moved_bytes": np.array([factor * own])} for factor in (1.2, 2.5))
    assert {each.verdict for each in disk(raw | ALONE | journal)} == {ProbeVerdict.MEASURED}
    assert {each.verdict for each in disk(raw | ALONE | shared)} == {ProbeVerdict.CONTAMINATED}
    assert "others moved 1.5 times as many bytes" in disk(raw | ALONE | shared)[0].reason
    without = by_name(disk({name: values for name, values in raw.items() if "direct" not in name} | ALONE))
    assert {without[name].verdict for name in ("disk.direct_read", "disk.iops")} == {ProbeVerdict.INCONCLUSIVE}


@pytest.mark.acceptance
def test_rates_of_a_disk_are_covered() -> None:
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        times = {
            "durable_ns": 8e5 * rng.lognormal(-0.02, 0.2, 32),
            "direct_read_ns": 6e4 * rng.lognormal(-0.02, 0.2, 200),
        }
        raw = times | {name: np.ones(9) for name in ("append_ns", "cached_read_ns")}
        found = by_name(disk(raw | ALONE))
        for name, truth in (("disk.durable", 2**20 / 8e5 * 1e9), ("disk.iops", 1e9 / 6e4)):
            low, high = found[name].interval
            covered += low <= truth <= high
    assert 0.93 <= covered / 800 <= 0.98


def test_the_network_counts_what_arrived() -> None:
    windows = {"window_ns": np.full(10, 5e7), "acknowledged_bytes": np.array([9e6] + [5e5] * 9)}
    raw = {"round_trip_ns": np.full(99, 2e4), "others": np.zeros(1)} | windows
    found = by_name(network(raw))
    assert found["net.loopback_bandwidth"].value == pytest.approx(1e7)
    assert found["net.loopback_round_trip"].value == pytest.approx(20.0)
    assert {each.verdict for each in found.values()} == {ProbeVerdict.MEASURED}
    assert {each.verdict for each in network(raw | {"others": np.array([0.4])})} == {ProbeVerdict.CONTAMINATED}


def link_raw(rng, trip_us, rate, loss, lost_of=200, others=0.02):
    trips = 1e3 * trip_us * rng.normal(1.0, 0.02, 200)
    size = 0.4 * rate
    times = 1e9 * (size / rate) * rng.normal(1.0, 0.01, 6) + 1e3 * trip_us
    lost = float(rng.binomial(lost_of, loss))
    known = {"stream_bytes": size, "sent": float(lost_of), "lost": lost, "others": others}
    return {"round_trip_ns": trips, "stream_ns": times, **{name: np.array([each]) for name, each in known.items()}}


@pytest.mark.parametrize(("trip", "rate", "loss"), [(40e3, 1.2e6, 0.0), (2e3, 1.2e7, 0.04), (50.0, 1e9, 0.2)])
def test_the_link_to_another_machine(trip: float, rate: float, loss: float) -> None:
    covered = 0
    for seed in range(100):
        found = by_name(remote_link(link_raw(np.random.default_rng(seed), trip, rate, loss), "net.two"))
        assert found["net.two_round_trip"].value == pytest.approx(trip, rel=0.01)
        assert found["net.two_bandwidth"].value == pytest.approx(rate, rel=0.02)
        low, high = found["net.two_loss"].interval
        covered += low <= loss <= high
    assert covered >= 93


def test_a_link_beside_other_load_is_contaminated_but_for_its_loss() -> None:
    found = by_name(remote_link(link_raw(np.random.default_rng(1), 2e3, 1.2e7, 0.04, others=0.7), "net.two"))
    assert found["net.two_round_trip"].verdict is ProbeVerdict.CONTAMINATED
    assert found["net.two_bandwidth"].verdict is ProbeVerdict.CONTAMINATED
    assert "70 %" in found["net.two_bandwidth"].reason
    assert found["net.two_loss"].verdict is ProbeVerdict.MEASURED


def test_streams_that_are_shorter_than_a_round_trip_are_inconclusive() -> None:
    raw = link_raw(np.random.default_rng(1), 1e3, 1e9, 0.0)
    assert {each.verdict for each in remote_link(raw, "net.two")} == {ProbeVerdict.MEASURED}
    found = by_name(remote_link(raw | {"stream_ns": np.full(6, 1e5)}, "net.two"))
    assert found["net.two_bandwidth"].verdict is ProbeVerdict.INCONCLUSIVE
    assert found["net.two_round_trip"].verdict is ProbeVerdict.MEASURED
    busy = by_name(remote_link(raw | {"stream_ns": np.full(6, 1e5), "others": np.array([0.9])}, "net.two"))
    assert busy["net.two_bandwidth"].verdict is ProbeVerdict.INCONCLUSIVE
    assert busy["net.two_round_trip"].verdict is ProbeVerdict.CONTAMINATED
    assert "90 %" in busy["net.two_round_trip"].reason


@pytest.mark.parametrize("period", [50.0, 100.0, 250.0])
def test_a_rhythm_is_found_among_other_gaps(period: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        own = np.arange(rng.uniform(0, period), 4000.0, period) + rng.normal(0, 0.5, int(4000 / period) + 1)[:1]
        starts = np.concatenate([own, rng.uniform(0, 4000, 10)])
        lengths = np.concatenate([np.full(own.size, 5.0), np.full(10, 1.0)])
        order = np.argsort(starts)
        (gaps,) = gaps_of(raw_of(starts[order], lengths[order], 4000.0))
        found = rhythm_of(gaps)
        assert found is not None
        assert found.period == pytest.approx(period, rel=0.02)


def test_random_gaps_and_a_neighbours_turns_have_no_rhythm() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        starts = np.sort(rng.uniform(0, 4000, 40))
        (gaps,) = gaps_of(raw_of(starts, np.full(40, 2.0), 4000.0))
        assert rhythm_of(gaps) is None
    turns = np.arange(0, 4000, 8.0)
    (gaps,) = gaps_of(raw_of(turns, np.full(turns.size, 4.0), 4000.0))
    assert rhythm_of(gaps) is None


def test_the_mode_is_weighted_by_time() -> None:
    lengths = np.concatenate([np.full(500, 0.06), np.full(20, 4.0), [9.0, 17.0]])
    found = mode_of(lengths)
    assert found is not None
    assert found.length == 4.0
    assert found.count == 20
    assert mode_of(np.full(4, 1.0)) is None


def test_a_verdict_needs_a_reason() -> None:
    with pytest.raises(InputError, match="without a reason"):
        Property("cpu.quota", 1.0, "ms", None, ProbeVerdict.CONTAMINATED)
    with pytest.raises(InputError, match="finite"):
        Property("cpu.quota", float("nan"), "ms")


def test_time_lost_in_gaps_too_short_to_be_recorded_is_in_the_interval_of_usable_cores() -> None:
    both = raw_of([], [], 1500.0, "n/", 0, cpu=1480.0) | raw_of([], [], 1500.0, "n/", 1, cpu=1480.0)
    (found,) = usable_cores({"others": np.zeros(1)} | raw_of([], [], 1500.0, "1/") | both)
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] >= 0.05
