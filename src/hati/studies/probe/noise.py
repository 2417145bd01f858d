"""Noise: the interruptions of a process, the drift of its times, and the smallest visible change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.stats import noncentrality_of_t, t_margin
from hati.studies.probe.finding import CONFIDENCE, Property, Raw, inconclusive, mean_property, pooled
from hati.studies.probe.gaps import Gaps, gaps_of, rhythm_of

INTERRUPTIONS_METHOD = "gap-sizes-3"
REPEATABILITY_METHOD = "successive-differences-1"

SIZES = (("10us", 0.01, 0.1), ("100us", 0.1, 1.0), ("1ms", 1.0, 10.0), ("10ms", 10.0, math.inf))
"""Classes of interruptions by their length in ms."""
_PARTS = 20
_BLOCK_MS = 50.0
_LEAST_BURST_MS = 0.2
_UNUSED = 0.5
_FEWEST_BLOCKS = 20
ALPHA = 0.01
POWER = 0.8


def interruptions(raw: Raw) -> tuple[Property, ...]:
    """The fraction of time in gaps beyond 10 µs on each CPU, the rate of each size, and the longest gap, in ms.

    Each process is on a CPU of its own, one after the other; intervals are of the mean over parts of the windows.
    ``noise.taken`` is the fraction of time that others take on the CPU where they take most.
    """
    group = gaps_of(raw)
    parts = np.concatenate([_parts(gaps) for gaps in group])
    seconds = sum(gaps.wall for gaps in group) / 1000.0
    lengths = np.concatenate([gaps.lengths for gaps in group])
    rates = [
        Property(f"noise.rate_{size}", float(np.sum((lengths >= low) & (lengths < high))) / seconds, "1/s")
        for size, low, high in SIZES
    ]
    longest = Property("noise.longest", float(lengths.max()) if lengths.size else 0.0, "ms")
    stolen = Property("noise.stolen", float(np.max(raw.get("stolen", np.zeros(1)))), "1")
    unused = raw.get("unused", np.zeros(len(group)))
    taken = max(max(0.0, gaps.lost - idle) for gaps, idle in zip(group, unused, strict=True))
    others = Property("noise.taken", taken, "1")
    return (mean_property("noise.interrupted", parts, "1"), others, longest, *rates, stolen, *_burst(raw, group))


def _burst(raw: Raw, group: Sequence[Gaps]) -> tuple[Property, Property]:
    """The period of recurring interruptions, in ms, and their fraction of the time, for the CPU where it is largest.

    If a CPU is idle in the gaps, the process is stopped by a quota, which is not a burst.
    """
    found = []
    for gaps, unused in zip(group, raw.get("unused", np.zeros(len(group))), strict=True):
        long = gaps.longer(_LEAST_BURST_MS)
        rhythm = rhythm_of(long)
        share = float(long.lengths.sum()) / gaps.wall
        if rhythm is not None and unused < _UNUSED * share:
            found.append((rhythm.share * share, rhythm.period))
    if not found:
        reason = "none: long interruptions do not recur in a period"
        return Property("noise.burst_period", None, "ms", None, reason=reason), Property("noise.burst", 0.0, "1")
    share, period = max(found)
    return Property("noise.burst_period", period, "ms"), Property("noise.burst", share, "1")


def _parts(gaps: Gaps) -> FloatArray:
    """The fraction of time in gaps in each part of the window, shape (20,)."""
    bins = np.minimum((gaps.starts / gaps.wall * _PARTS).astype(int), _PARTS - 1)
    return np.bincount(bins, weights=gaps.lengths, minlength=_PARTS) * _PARTS / gaps.wall


def repeatability(raw: Raw, runs: int = 10) -> tuple[Property, ...]:
    """The repeatability of work on this machine: drift, spread, smallest visible change, as fractions.

    Repetitions of ``work_wall_ns`` are pooled into blocks of 50 ms, which count as runs. Differences of successive
    blocks are those of interleaved runs of one program; the smallest change is what a paired t-test at 1 % finds with a
    power of 80 % in ``runs`` pairs. Drift is the standard deviation between blocks beyond that of successive ones.
    """
    blocks = np.log(_blocks(pooled(raw, "work_wall_ns") / 1e6))
    if blocks.size < _FEWEST_BLOCKS:
        return (inconclusive("noise.detectable", "1", f"only {blocks.size} blocks of 50 ms; measure longer"),)
    differences = np.diff(blocks)
    spread = float(np.std(differences, ddof=1))
    drift = math.sqrt(max(0.0, float(np.var(blocks, ddof=1)) - spread**2 / 2.0))
    low, high = _deviation_interval(differences)
    factor = detectable(1.0, runs)
    cpu = pooled(raw, "work_cpu_ns")
    return (
        Property("noise.detectable", factor * spread, "1", (factor * low, factor * high)),
        Property("noise.spread", spread / math.sqrt(2.0), "1", (low / math.sqrt(2.0), high / math.sqrt(2.0))),
        Property("noise.drift", drift, "1"),
        Property("noise.cpu_time_cv", float(np.std(cpu) / np.mean(cpu)), "1"),
    )


def detectable(deviation: float, runs: int) -> float:
    """The smallest relative change that a paired t-test finds, from the standard deviation of the pairs' differences.

    The test is two-sided at 1 %, with a power of 80 %, in ``runs`` >= 2 pairs.
    """
    noncentral = noncentrality_of_t(t_margin(1.0 - ALPHA, runs - 1), runs - 1, POWER)
    return noncentral * deviation / math.sqrt(runs)


def _blocks(times: FloatArray) -> FloatArray:
    """Mean times of blocks of 50 ms of repetitions, shape (b,)."""
    size = max(1, round(_BLOCK_MS / float(np.median(times))))
    count = times.size // size
    return np.asarray(times[: count * size].reshape(count, size).mean(axis=1))


def _deviation_interval(differences: FloatArray) -> tuple[float, float]:
    """The interval of the standard deviation, by a jackknife on its logarithm: heavy tails widen it."""
    squares = (differences - differences.mean()) ** 2
    n, total = squares.size, float(squares.sum())
    logs = 0.5 * np.log((total - squares) / (n - 2))
    error = math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    center, margin = 0.5 * math.log(total / (n - 1)), t_margin(CONFIDENCE, n - 1) * error
    return math.exp(center - margin), math.exp(center + margin)
