"""The processor: usable cores, a quota on CPU time, and the slow-down of cores by each other."""

from __future__ import annotations

import numpy as np

from hati.studies.probe.finding import (
    Property,
    Raw,
    contaminated,
    each,
    inconclusive,
    mean_property,
    median_property,
    pooled,
)
from hati.studies.probe.gaps import gaps_of

RATE_METHOD = "cpu-time-2"
CORES_METHOD = "cpu-share-1"
QUOTA_METHOD = "gap-refill-2"
PAIR_METHOD = "rate-ratio-1"

_OTHERS = 0.03
_THROTTLED_MS = 1.0
_FEWEST_PERIODS = 8
_REGULAR = 0.1
_UNUSED = 0.5


def work_rate(raw: Raw) -> tuple[Property, ...]:
    """Units of work per ms of CPU time; ``units`` is the work of a repetition, ``work_cpu_ns`` its times in each burst.

    The speed of shared machines wanders within seconds: repetitions of one burst are alike, and their number says
    nothing of it. The interval is Student's over the medians of the bursts.
    """
    bursts = np.array([np.median(times) for times in each(raw, "work_cpu_ns")])
    return (mean_property("cpu.rate", float(raw["units"][0]) / (bursts / 1e6), "1/ms"),)


def usable_cores(raw: Raw) -> tuple[Property, ...]:
    """The cores that processes get in all, as a real number: CPU time over wall time, with a process for each CPU.

    ``1/`` is from a single process, ``n/`` from one for each CPU and one more; ``others`` is the CPU time of other
    processes, in cores.
    """
    several = gaps_of(raw, "n/")
    alone = gaps_of(raw, "1/")
    shares = np.array([gaps.cpu / gaps.wall for gaps in several])
    value = max(float(shares.sum()), *(gaps.cpu / gaps.wall for gaps in alone))
    half = 0.01 + 1.96 * float(np.std(shares, ddof=1)) / len(shares) if len(shares) > 1 else 0.02
    found = Property("cpu.cores", value, "1", (max(0.0, value - half), value + half))
    others = float(raw["others"][0])
    if others > _OTHERS * max(1.0, value):
        return (contaminated(found, f"other processes had {others:.2f} cores meanwhile"),)
    return (found,)


def quota(raw: Raw) -> tuple[Property, ...]:
    """A limit on CPU time: the quota and the period in ms; no value if there is none.

    A process that never waits is stopped once in each period, and runs again when the quota is refilled. The period is
    the median of the times between refills, refined; the quota is the period without the gaps. ``unused`` is the
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
        reason = f"{gaps.lost:.0%} of the time is lost, in {refills.size} long gaps; measure longer"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    stopped = max(float(raw["unused"][0]), float(raw.get("throttled", np.zeros(1))[0]))
    if stopped < _UNUSED * long.lengths.sum() / gaps.wall:
        if gaps.lost < 0.05:
            reason = "none: where the process is stopped, others run"
            return tuple(Property(name, None, "ms", None, reason=reason) for name in names)
        reason = f"{gaps.lost:.0%} of the time is lost to others, which would hide a quota"
        empty = (Property(name, None, "ms", None, reason="none seen") for name in names)
        return tuple(contaminated(each_, reason) for each_ in empty)
    intervals = np.diff(refills)
    intervals = intervals[intervals > _THROTTLED_MS]
    period = float(np.median(intervals))
    regular = np.abs(intervals / period - 1.0) < _REGULAR
    if regular.mean() < 0.6:
        reason = "the process is stopped, but not in a period"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    periods = np.round((refills[-1] - refills[0]) / period)
    period = float(refills[-1] - refills[0]) / float(periods)
    run = _runs(refills, long.lengths, period)
    budget = Property(names[0], float(run.mean()), "ms", _bounds(run))
    own = intervals[regular]
    spread = 1.96 * float(own.std(ddof=1)) / float(periods)
    return budget, Property(names[1], period, "ms", (period - spread, period + spread))


def _runs(refills: np.ndarray, lengths: np.ndarray, period: float) -> np.ndarray:
    """The time run in each period from the first refill to the last, shape (p,)."""
    number = np.round((refills - refills[0]) / period).astype(int)
    stopped = np.bincount(np.maximum(number[1:] - 1, 0), weights=lengths[1:], minlength=number[-1])
    return period - stopped[: max(1, number[-1])]


def _bounds(values: np.ndarray) -> tuple[float, float]:
    mean, margin = float(values.mean()), 1.96 * float(values.std()) / np.sqrt(values.size)
    return float(mean - margin), float(mean + margin)


def pair_slowdown(raw: Raw) -> tuple[Property, ...]:
    """The time of work on two CPUs at once over its time on one alone; near 1 for separate cores.

    ``a/`` and ``b/`` are from each CPU alone, ``both/`` from both; CPU time is compared, so that other processes count
    less.
    """
    alone = [float(np.median(pooled(raw, f"{which}work_cpu_ns"))) for which in ("a/", "b/")]
    both = each(raw, "both/work_cpu_ns")
    ratios = np.concatenate([own / single for own, single in zip(both, alone, strict=True)])
    return (median_property("cpu.pair_slowdown", ratios, "1"),)
