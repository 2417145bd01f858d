"""Detectors of the processor, scheduler, memory, clock, disk and network."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.stats import proportion, t_margin
from hati.studies.probe.finding import (
    CONFIDENCE,
    Property,
    Raw,
    contaminated,
    each,
    inconclusive,
    mean_property,
    median_interval,
    medians,
    pooled,
    ratio_property,
    undisturbed,
)
from hati.studies.probe.intervals import median_property, median_ratio_property, rate_property
from hati.studies.probe.noise import GapMode, gaps_of, mode_of, own_use, used_elsewhere

RATE_METHOD = "cpu-time-3"
CORES_METHOD = "cpu-share-3"
QUOTA_METHOD = "gap-refill-3"
PAIR_METHOD = "rate-ratio-4"

_OTHERS = 0.03
_THROTTLED_MS = 1.0
_FEWEST_PERIODS = 8
_REGULAR = 0.1
_UNUSED = 0.5
_FIFTHS = 5


def work_rate(raw: Raw) -> tuple[Property, ...]:
    """Units of work per ms of CPU time; ``units`` is the work of a repetition, ``work_cpu_ns`` its times in each burst.

    The speed of shared machines wanders within seconds: repetitions of one burst are alike, and their number says
    nothing of it. The interval is Student's over the medians of the bursts. ``others`` is the fraction of the
    CPU's time that others used.
    """
    rates = float(raw["units"][0]) / (medians(raw, "work_cpu_ns") / 1e6)
    return undisturbed(raw, mean_property("cpu.rate", rates, "1/ms"))


def usable_cores(raw: Raw) -> tuple[Property, ...]:
    """The cores that processes get in all, as a real number: CPU time over wall time, with a process for each CPU.

    ``1/`` is from a single process, ``n/`` from one for each CPU and one more; ``others`` is the CPU time of other
    processes, in cores, those that ended meanwhile included. Both have Student's interval, over fifths of their
    windows: with --quick these have .3 s, the whole periods of usual quotas. Time lost in gaps too short to be recorded
    is added to both margins. The ends are the larger ones of both.
    """
    groups = gaps_of(raw, "1/"), gaps_of(raw, "n/")
    values = np.array([sum(gaps.cpu / gaps.wall for gaps in group) for group in groups])
    lost = [np.sum([gaps.lost_in_parts(_FIFTHS) / gaps.wall for gaps in group], axis=0) for group in groups]
    margins = np.array([_margin(each) for each in lost]) + [sum(gaps.unseen for gaps in group) for group in groups]
    value, low, high = (float(ends.max()) for ends in (values, values - margins, values + margins))
    found = Property("cpu.cores", value, "1", (max(0.0, low), high))
    others = float(raw["others"][0])
    if others > _OTHERS * max(1.0, value):
        return (contaminated(found, f"other processes had {others:.2f} cores meanwhile"),)
    return (found,)


def _margin(lost: FloatArray) -> float:
    """The half-width of Student's interval of the total of parts of a window, which do not depend on each other."""
    return t_margin(CONFIDENCE, lost.size - 1) * float(np.std(lost, ddof=1)) * math.sqrt(lost.size)


def quota(raw: Raw) -> tuple[Property, ...]:
    """A limit on CPU time: the quota and the period in ms; no value if there is none.

    A process that never waits is stopped once in each period, and runs again when the quota is refilled. The period is
    the median of the times between refills, refined by those from the first to the last regular one: other gaps may
    come before and after. The quota is the period without the gaps. ``unused`` is the
    fraction of the window in which the CPU was idle, as it would not be with a competitor; ``throttled`` is the
    fraction by the kernel's account of the control group, if known.
    """
    gaps = gaps_of(raw)[0]
    long = gaps.longer(_THROTTLED_MS)
    names = ("cpu.quota", "cpu.quota_period")
    refills = long.ends
    if refills.size < _FEWEST_PERIODS or long.lengths.sum() < 0.02 * gaps.wall:
        reason = "none: the process is not stopped in a period" if gaps.lost < 0.05 else ""
        if reason:
            return tuple(Property(name, None, "ms", None, reason=reason) for name in names)
        reason = f"{100 * gaps.lost:.0f} % of the time is lost, in {refills.size} long gaps; measure longer"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    stopped = max(float(raw["unused"][0]), float(raw.get("throttled", np.zeros(1))[0]))
    if stopped < _UNUSED * long.lengths.sum() / gaps.wall:
        if gaps.lost < 0.05:
            reason = "none: where the process is stopped, others run"
            return tuple(Property(name, None, "ms", None, reason=reason) for name in names)
        reason = f"{100 * gaps.lost:.0f} % of the time is lost to others, which would hide a quota"
        empty = (Property(name, None, "ms", None, reason="none seen") for name in names)
        return tuple(contaminated(each_, reason) for each_ in empty)
    intervals = np.diff(refills)
    apart = intervals[intervals > _THROTTLED_MS]
    period = float(np.median(apart))
    regular = np.flatnonzero(np.abs(intervals / period - 1.0) < _REGULAR)
    if regular.size < 0.6 * apart.size:
        reason = "the process is stopped, but not in a period"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    chosen = slice(regular[0], regular[-1] + 2)
    refills, lengths = refills[chosen], long.lengths[chosen]
    periods = np.round((refills[-1] - refills[0]) / period)
    period = float(refills[-1] - refills[0]) / float(periods)
    run = _runs(refills, lengths, period)
    budget = mean_property(names[0], run, "ms")
    own = intervals[regular]
    spread = 1.96 * float(own.std(ddof=1)) / float(periods)
    return budget, Property(names[1], period, "ms", (period - spread, period + spread))


def _runs(refills: np.ndarray, lengths: np.ndarray, period: float) -> np.ndarray:
    """The time run in each period from the first refill to the last, shape (p,)."""
    number = np.round((refills - refills[0]) / period).astype(int)
    stopped = np.bincount(np.maximum(number[1:] - 1, 0), weights=lengths[1:], minlength=number[-1])
    return period - stopped[: max(1, number[-1])]


def pair_slowdown(raw: Raw) -> tuple[Property, ...]:
    """The time of work on two CPUs at once over its time on one alone; near 1 for separate cores.

    In each round, ``a_alone_ns`` and ``b_alone_ns`` are CPU times on each CPU alone, ``a_both_ns`` and ``b_both_ns``
    those on both at once, of work that fills the units of a core. The median of each burst counts, as in ``work_rate``.
    ``others`` is the fraction of the time of both CPUs that others used.
    """
    logs = [np.log(medians(raw, f"{cpu}_both_ns") / medians(raw, f"{cpu}_alone_ns")) for cpu in "ab"]
    return undisturbed(raw, ratio_property("cpu.pair_slowdown", np.mean(logs, axis=0)))


SLICE_METHOD = "gap-slope-2"
ROUND_ROBIN_METHOD = "gap-mode-1"
DEMAND_METHOD = "response-clusters-2"

_OWN = 0.97
"""The fraction of a core's time that competing processes get in all if nothing else runs there."""
_OWN_REAL_TIME = 0.90
"""The fraction for real-time processes; it is smaller because the kernel keeps 5 % for other processes."""
_SHARE = 0.6
_AGREES = 0.05
_EXPLAINED = 0.9


def timeslice(raw: Raw, counts: Sequence[int] = (2, 3, 4)) -> tuple[Property, ...]:
    """The effective timeslice in ms: the slope of gaps over the number of competitors on one core.

    With k processes on a core, each waits for k - 1 slices. The names of the raw data of k processes begin with ``k/``.
    """
    name = "sched.slice"
    modes: list[tuple[int, GapMode]] = []
    owns: list[float] = []
    for count in counts:
        group = gaps_of(raw, f"{count}/")
        owns.append(own_use(group))
        mode = mode_of(np.concatenate([gaps.lengths for gaps in group]))
        if mode is None:
            return (inconclusive(name, "ms", f"{count} processes on one core hardly interrupt each other"),)
        modes.append((count, mode))
    others = np.array([count - 1.0 for count, _ in modes])
    value = _slope(others, [mode.length for _, mode in modes])
    ends = tuple(_slope(others, [mode.interval[end] for _, mode in modes]) for end in (0, 1))
    found = Property(name, value, "ms", (ends[0], ends[1]))
    worst = min(modes, key=lambda each: each[1].share)
    if min(owns) < _OWN:
        return (contaminated(found, used_elsewhere(min(owns))),)
    if worst[1].share < _SHARE:
        reason = f"with {worst[0]} processes only {100 * worst[1].share:.0f} % of the waiting is in gaps of one length"
        return (inconclusive(name, "ms", reason, value),)
    lengths = np.array([mode.length for _, mode in modes])
    off = float(np.max(np.abs(lengths / (others * value) - 1.0)))
    if off > _AGREES:
        reason = f"gaps are not in proportion to the number of competitors (off by {100 * off:.0f} %)"
        return (inconclusive(name, "ms", reason, value),)
    return (found,)


def requested_slice(raw: Raw) -> Property:
    """The timeslice in ms that the scheduler aims at, by ``requested_ns``, if the kernel shows it.

    It is exact. The effective one is longer where a slice ends at a tick of the clock only.
    """
    name = "sched.requested_slice"
    if "requested_ns" not in raw:
        return inconclusive(name, "ms", "the kernel does not show it (se.slice in /proc/self/sched, from Linux 6.6 on)")
    return Property(name, float(raw["requested_ns"][0]) / 1e6, "ms")


def round_robin_slice(raw: Raw) -> tuple[Property, ...]:
    """The slice of SCHED_RR in ms: the mode of the gaps of two such processes on one core."""
    name, group = "sched.round_robin_slice", gaps_of(raw)
    mode = mode_of(np.concatenate([gaps.lengths for gaps in group]))
    if mode is None:
        return (inconclusive(name, "ms", "the two processes take turns fewer than five times; measure longer"),)
    found = Property(name, mode.length, "ms", mode.interval)
    if (own := own_use(group)) < _OWN_REAL_TIME:
        return (contaminated(found, used_elsewhere(own)),)
    if mode.share < _SHARE:
        reason = f"only {100 * mode.share:.0f} % of the waiting is in gaps of one length"
        return (inconclusive(name, "ms", reason, mode.length),)
    return (found,)


def demand_slice(raw: Raw, demand: float, effective: float | None = None) -> tuple[Property, ...]:
    """The timeslice in ms by response times of a fixed demand under a competitor: section 4.1 of the Ginpex paper.

    Response times are in two clusters: those that fit into a slice, and those that waited for one slice of the
    competitor. The difference of the clusters' means is the slice. Clusters are found by QT_Clust, which the paper
    cites (Heyer, Kruglyak and Yooseph 1999), with a diameter of a quarter of the demand.

    The method assumes a slice longer than the demand. Under CFS and EEVDF, whose slices are shorter, nearly every
    response waits several times, and the difference of clusters is not a slice: the method is then not valid.

    Args:
        raw: ``response_ns``, shape (n,), and ``others``, the fraction of the CPU's time that others used.
        demand: in ms.
        effective: the timeslice by ``timeslice``, in ms, if known.
    """
    name, times = "sched.demand_slice", pooled(raw, "response_ns") / 1e6
    clusters = sorted(_clusters(times, 0.25 * demand)[:2], key=lambda each: float(each.mean()))
    value = float(clusters[1].mean() - clusters[0].mean()) if len(clusters) == 2 else None
    if effective is not None and effective < demand:
        reason = (
            f"not valid here: the method needs a slice longer than its demand of {demand:g} ms, and the effective "
            f"slice is {effective:.3g} ms, as under EEVDF"
        )
        return (inconclusive(name, "ms", reason, value),)
    if value is None:
        return undisturbed(raw, inconclusive(name, "ms", "the response times are in one cluster"))
    within = sum(float(((each - each.mean()) ** 2).sum()) for each in clusters)
    kept = np.concatenate(clusters)
    explained = 1.0 - within / float(((kept - kept.mean()) ** 2).sum()) if kept.size > 2 else 0.0
    if explained < _EXPLAINED or kept.size < _EXPLAINED * times.size:
        held = 100 * kept.size / times.size
        reason = f"two clusters explain {100 * explained:.0f} % of the variance and hold {held:.0f} % of all"
        return undisturbed(raw, inconclusive(name, "ms", reason, value))
    error = float(np.sqrt(sum(each.var(ddof=1) / each.size for each in clusters if each.size > 1)))
    return undisturbed(raw, Property(name, value, "ms", (value - 1.96 * error, value + 1.96 * error)))


def _clusters(values: FloatArray, diameter: float) -> list[FloatArray]:
    """QT_Clust in one dimension: repeatedly take the most values within a diameter; the largest cluster is first."""
    left, found = np.sort(values), []
    while left.size:
        ends = np.searchsorted(left, left + diameter, side="right")
        first = int(np.argmax(ends - np.arange(left.size)))
        found.append(left[first : ends[first]])
        left = np.concatenate([left[:first], left[ends[first] :]])
    return sorted(found, key=lambda each: -each.size)


def _slope(others: FloatArray, lengths: Sequence[float]) -> float:
    """The slope through the origin by relative least squares: the mean of the lengths per competitor."""
    return float(np.mean(np.asarray(lengths) / others))


LEVELS_METHOD = "chase-segments-3"
BANDWIDTH_METHOD = "triad-3"
_LEAST_STEP = 0.35
"""The least step between levels in the logarithm of latencies: a factor of 1.4."""
_PENALTY = 0.25
_MOST_LEVELS = 5
_REMAINDER, _EACH = 0.1, 0.02
"""The cores that others may use, in all, or if there are more than five CPUs, for each of them."""


def memory_levels(raw: Raw) -> tuple[Property, ...]:
    """Sizes and latencies of the levels: constant pieces of the logarithm of the latency over that of the size.

    ``size_bytes/i`` is a region's size, ``load_ps/i`` are times of a load in it, in ps. Pieces are fitted by least
    squares with a penalty for each; a level ends where the latency crosses the geometric mean of its own and the next
    one's. The last level is the memory itself, or what the largest region shows. ``others`` is the number of cores
    of ``cpus`` that others used.
    """
    order = np.argsort([float(size[0]) for size in each(raw, "size_bytes")])
    sizes = np.array([float(each(raw, "size_bytes")[i][0]) for i in order])
    latencies = np.array([float(np.min(each(raw, "load_ps")[i])) / 1000.0 for i in order])
    pieces = _pieces(np.log(latencies))
    if len(pieces) < 2:
        return (inconclusive("mem.level1_size", "B", "the latency does not depend on the size"),)
    found: list[Property] = []
    levels = [float(np.median(latencies[first:end])) for first, end in pieces]
    for number, ((first, end), latency) in enumerate(zip(pieces, levels, strict=True), start=1):
        name = f"mem.level{number}" if number < len(pieces) else "mem.last"
        found.append(Property(f"{name}_latency", latency, "ns", median_interval(latencies[first:end])))
        if number < len(pieces):
            size, interval = _crossing(sizes, latencies, end, float(np.sqrt(latency * levels[number])))
            found.append(Property(f"{name}_size", size, "B", interval))
    largest = found[2 * len(pieces) - 3]
    found.append(Property("mem.caches", largest.value, "B", largest.interval))
    others = float(raw.get("others", np.zeros(1))[0])
    if others > max(_REMAINDER, _EACH * float(raw.get("cpus", np.ones(1))[0])):
        reason = f"others used {others:.2f} cores meanwhile, and caches with them"
        return tuple(contaminated(one, reason) for one in found)
    return tuple(found)


def bandwidth(raw: Raw) -> tuple[Property, ...]:
    """The bytes per second that all processes move together in a triad; ``triad_ns`` has a row for each process.

    Each of its times is of a quarter of a pass over the arrays, ``moved_bytes``.

    ``others`` is the fraction of the time of their CPUs that others used.
    """
    moved, times = float(raw["moved_bytes"][0]), each(raw, "triad_ns")
    rates = np.sum([moved / own for own in times], axis=0)
    return undisturbed(raw, median_property("mem.bandwidth", rates * 1e9, "B/s"))


def _crossing(
    sizes: FloatArray, latencies: FloatArray, end: int, threshold: float
) -> tuple[float, tuple[float, float]]:
    """The size at which the latency last rises above a threshold near ``end``, and the measured sizes around it."""
    above = end
    while above > 1 and latencies[above - 1] > threshold:
        above -= 1
    while above < sizes.size - 1 and latencies[above] <= threshold:
        above += 1
    low, high = np.log(latencies[above - 1]), np.log(latencies[above])
    part = (np.log(threshold) - low) / (high - low) if high > low else 0.5
    at = np.exp(np.log(sizes[above - 1]) + np.clip(part, 0.0, 1.0) * np.log(sizes[above] / sizes[above - 1]))
    return float(at), (float(sizes[above - 1]), float(sizes[above]))


def _pieces(values: FloatArray) -> list[tuple[int, int]]:
    """Constant pieces of least squares with a penalty, found by dynamic programming; each has two values or more."""
    n = values.size
    sums, squares = np.concatenate([[0.0], np.cumsum(values)]), np.concatenate([[0.0], np.cumsum(values**2)])

    def cost(first: int, end: int) -> float:
        return float(squares[end] - squares[first] - (sums[end] - sums[first]) ** 2 / (end - first))

    best: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])]
    for end in range(1, n + 1):
        options = [
            (best[first][0] + cost(first, end) + _PENALTY, [*best[first][1], (first, end)])
            for first in range(max(0, end - 1))
            if best[first][0] < np.inf and len(best[first][1]) < _MOST_LEVELS
        ]
        best.append(min(options, key=lambda option: option[0]) if options else (np.inf, []))
    return _joined(values, best[n][1])


def _joined(values: FloatArray, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pieces, joined if the median rises by less than a level's step, or falls."""
    found = pieces[:1]
    for first, end in pieces[1:]:
        before = found[-1]
        if np.median(values[first:end]) - np.median(values[before[0] : before[1]]) < _LEAST_STEP:
            found[-1] = (before[0], end)
        else:
            found.append((first, end))
    return found


CLOCK_METHOD = "back-to-back-3"
_SPREAD = 0.25


def clock(raw: Raw) -> tuple[Property, ...]:
    """Cost of reading the monotonic clock and the CPU-time clock of a thread, and the smallest step, in ns.

    In each window, ``cost_ps/w`` and ``thread_cost_ps/w`` are means of batches in ps, shape (b,), and ``step_ns/w``
    steps between readings that differ, in ns. The speed of shared machines wanders more between windows than within
    them: costs are means of the windows' medians, with Student's interval. The smallest step is the resolution if it
    is at least twice the cost of a reading; else the resolution is at most that step. ``others`` is the fraction of
    time in which the process did not run.
    """
    costs = undisturbed(
        raw,
        mean_property("clock.cost", medians(raw, "cost_ps") / 1000.0, "ns"),
        mean_property("clock.thread_cost", medians(raw, "thread_cost_ps") / 1000.0, "ns"),
    )
    step = float(np.min(pooled(raw, "step_ns")))
    resolution = Property("clock.resolution", step, "ns", (0.0 if step < 2.0 * _value(costs[0]) else step, step))
    low, high = np.quantile(pooled(raw, "cost_ps"), [0.25, 0.75])
    if high > (1.0 + _SPREAD) * low:
        spread = 100 * (high / low - 1.0)
        reason = f"the middle half of readings spreads by {spread:.0f} %; repeat it when the machine is quiet"
        return (*(contaminated(each_, reason) for each_ in costs), resolution)
    if step <= 0.0:
        return (*costs, inconclusive("clock.resolution", "ns", "the clock went backwards"))
    return (*costs, resolution)


def _value(of: Property) -> float:
    return of.value or 0.0


DISK_METHOD = "durable-rates-3"
NETWORK_METHOD = "acknowledged-3"
_BLOCK, _SMALL = 2.0**20, 4096.0
_MOST_MOVED = 0.5
"""The bytes of others for each own one; a file system also writes a journal."""


def disk(raw: Raw) -> tuple[Property, ...]:
    """Throughput of blocks of 1 MiB, each made durable; latency of an append with fdatasync; reads of 4 KiB.

    Rates are over all of their time: a throttled disk answers in bursts, whose median is meaningless. ``others`` is the
    fraction of the time of the CPUs that others used, without what the kernel does for the file, and ``moved_bytes``
    are those that the disk read and wrote, if known.
    """
    found = [
        _rate("disk.durable", _BLOCK, raw["durable_ns"], "B/s"),
        median_property("disk.append", raw["append_ns"] / 1e3, "us"),
        median_property("disk.cached_read", raw["cached_read_ns"] / 1e3, "us"),
    ]
    if "direct_read_ns" not in raw:
        reason = "the file system permits no direct reads (O_DIRECT)"
        missing = (inconclusive("disk.direct_read", "us", reason), inconclusive("disk.iops", "1/s", reason))
        return (*_alone_on_disk(raw, *found), *missing)
    direct = median_property("disk.direct_read", raw["direct_read_ns"] / 1e3, "us")
    effect = median_ratio_property("disk.cache_effect", raw["direct_read_ns"], raw["cached_read_ns"])
    return _alone_on_disk(raw, *found, direct, _rate("disk.iops", 1.0, raw["direct_read_ns"], "1/s"), effect)


def _alone_on_disk(raw: Raw, *found: Property) -> tuple[Property, ...]:
    """The properties, contaminated where others moved too many bytes on the disk, or used the CPUs."""
    small = sum(raw[name].size for name in ("append_ns", "direct_read_ns") if name in raw)
    own = _BLOCK * raw["durable_ns"].size + _SMALL * small
    others = float(raw.get("moved_bytes", np.array([own]))[0]) / own - 1.0
    if others > _MOST_MOVED:
        reason = f"others moved {others:.1f} times as many bytes on the disk; repeat it when the disk is quiet"
        found = tuple(contaminated(each_, reason) for each_ in found)
    return undisturbed(raw, *found)


def _rate(name: str, amount: float, times: FloatArray, unit: str) -> Property:
    """What operations move per second, each ``amount`` in ``times`` ns, shape (n,), n >= 2."""
    return rate_property(name, np.full(times.size, amount), times, unit)


def link_properties(raw: Raw) -> dict[str, Property]:
    """Round trip and bandwidth of a link, by their names."""
    return {each.name: each for each in network(raw, "net.link")}


def network(raw: Raw, prefix: str = "net.loopback") -> tuple[Property, ...]:
    """The round trip of a byte in µs, and the acknowledged bytes per second of a stream.

    Written bytes may wait in buffers: only acknowledged bytes have arrived. The first window fills the buffers and is
    left out. ``others`` is as in ``remote_link``.
    """
    trips = median_property(f"{prefix}_round_trip", raw["round_trip_ns"] / 1e3, "us")
    arrived, times = raw["acknowledged_bytes"][1:], raw["window_ns"][1:]
    if times.size < 3:
        few = inconclusive(f"{prefix}_bandwidth", "B/s", "the stream has fewer than three windows")
        return (*undisturbed(raw, trips), few)
    return undisturbed(raw, trips, rate_property(f"{prefix}_bandwidth", arrived, times, "B/s"))


LINK_METHOD = "remote-4"
_FEWEST_STREAMS = 3


def remote_link(raw: Raw, prefix: str) -> tuple[Property, ...]:
    """Round trip in us, bandwidth and loss of a link to another machine.

    ``round_trip_ns`` are exchanges of a small message by TCP. Each of ``stream_ns`` is the time for ``stream_bytes`` up
    to the answer to the last one, which comes a round trip after it was sent. Of ``sent`` exchanges by UDP, ``lost``
    had no answer within a second: a message was lost on its way there or back. ``others`` is the fraction of the time
    of this machine's CPUs that others used: times then contain waiting for a CPU.
    """
    trips = median_property(f"{prefix}_round_trip", raw["round_trip_ns"] / 1e3, "us")
    lost = proportion(float(raw["lost"][0]), float(raw["sent"][0]))
    loss = Property(f"{prefix}_loss", lost.estimate, "1", lost.interval)
    times = raw["stream_ns"] - float(np.median(raw["round_trip_ns"]))
    name = f"{prefix}_bandwidth"
    if times.size < _FEWEST_STREAMS or times.min() <= 0.0:
        few = inconclusive(name, "B/s", "the streams are too few, or shorter than a round trip")
        return (*undisturbed(raw, trips), few, loss)
    bandwidth = _rate(name, float(raw["stream_bytes"][0]), times, "B/s")
    return (*undisturbed(raw, trips, bandwidth), loss)
