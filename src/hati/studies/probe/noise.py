"""Noise: gaps in the progress of a process, interruptions, the drift of its times, and the smallest visible change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray, replace
from hati.core.wording import counted
from hati.stats import noncentrality_of_t, t_margin
from hati.studies.probe.finding import (
    CONFIDENCE,
    Property,
    Raw,
    each,
    inconclusive,
    pooled,
    undisturbed,
)
from hati.studies.probe.intervals import (
    MORE_EVENTS,
    Total,
    mean_factor,
    mean_margin,
    number_of_events,
    total_of_events,
    variance_factor,
    variance_of,
)

_PARTS = 20
_TICK_MS = 10.0
"""The unit in which Linux shows processor times."""
_WIDTH = 0.05
"""The width of the window, in the logarithm of lengths, in which a mode is sought."""
_FEWEST = 5
_CARRIED = 1.2
"""The variance of a slope through a random walk, of that through its ends."""
_CYCLES = 8.0
"""The fewest periods in which a rhythm is recognised."""


@dataclass(frozen=True, eq=False, slots=True)
class Gaps:
    """Gaps of a process in a window of ``wall`` ms in which it had ``cpu`` ms of CPU time.

    ``starts`` and ``lengths``, in ms, have shape (n,), n >= 0, in the order of time.
    """

    starts: FloatArray
    lengths: FloatArray
    wall: float
    cpu: float

    @property
    def ends(self) -> FloatArray:
        """The times when the process ran again."""
        return self.starts + self.lengths

    @property
    def lost(self) -> float:
        """The fraction of the window in which the process did not run, by its CPU time."""
        return max(0.0, 1.0 - self.cpu / self.wall)

    @property
    def unseen(self) -> float:
        """The fraction of the window by which the recorded gaps and the time without CPU differ."""
        return abs(1.0 - (self.cpu + float(self.lengths.sum())) / self.wall)

    def longer(self, least: float, most: float = math.inf) -> Gaps:
        """The gaps of at least that length, and less than another one, in ms."""
        chosen = (self.lengths >= least) & (self.lengths < most)
        return Gaps(self.starts[chosen], self.lengths[chosen], self.wall, self.cpu)

    def lost_in_parts(self, count: int) -> FloatArray:
        """The time in gaps in each of ``count`` equal parts of the window, in ms, shape (count,)."""
        if not self.starts.size:
            return np.zeros(count)
        at = np.column_stack([self.starts, self.ends]).ravel()
        lost = np.cumsum(np.column_stack([np.zeros(self.lengths.size), self.lengths]).ravel())
        return np.diff(np.interp(np.linspace(0.0, self.wall, count + 1), at, lost))

    def in_parts(self, weights: FloatArray) -> FloatArray:
        """What the gaps weigh that begin in each twentieth of the window, shape (20,)."""
        parts = np.minimum((self.starts / self.wall * _PARTS).astype(int), _PARTS - 1)
        return np.bincount(parts, weights=weights, minlength=_PARTS).astype(np.float64)


def own_use(group: Sequence[Gaps]) -> float:
    """The CPU time of all processes over the time of the longest window."""
    return sum(gaps.cpu for gaps in group) / max(gaps.wall for gaps in group)


def used_elsewhere(own: float) -> str:
    """Why the core's time is not that of its processes, which had the fraction ``own`` of it."""
    return f"something else had {100 * (1.0 - own):.0f} % of the core's time; repeat it when the machine is quiet"


@dataclass(frozen=True, slots=True)
class GapMode:
    """The length at which gaps take most time, its ``interval``, and the ``share`` of all gaps' time near it."""

    length: float
    interval: tuple[float, float]
    share: float
    count: int


@dataclass(frozen=True, eq=False, slots=True)
class Rhythm:
    """Gaps that recur with a fixed ``period`` in ms, its ``interval``, and their ``lengths`` in ms in each cycle."""

    period: float
    interval: tuple[float, float]
    lengths: FloatArray


def gaps_of(raw: Raw, prefix: str = "") -> tuple[Gaps, ...]:
    """The gaps of each process; ``window_ns`` has start, end and CPU time, ``gap_start_ns`` and ``gap_ns`` the gaps.

    A process without a gap is in ``window_ns`` alone, so that the others are numbered as it is.
    """
    windows = each(raw, f"{prefix}window_ns")
    found = []
    for number, (start, end, cpu) in enumerate(windows):
        own = f"/{number}" if f"{prefix}window_ns" not in raw else ""
        starts = raw.get(f"{prefix}gap_start_ns{own}", np.empty(0))
        lengths = raw.get(f"{prefix}gap_ns{own}", np.empty(0))
        found.append(Gaps(starts / 1e6, lengths / 1e6, (end - start) / 1e6, cpu / 1e6))
    return tuple(found)


def mode_of(lengths: FloatArray) -> GapMode | None:
    """The mode of lengths, weighted by time, in a window of 5 % of the length; None with fewer than five in it.

    The median of the lengths in the window is the mode: its edges do not shift it as a mean would.
    """
    from hati.studies.probe.finding import median_interval

    if lengths.size < _FEWEST:
        return None
    ordered = np.sort(lengths)
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    ends = np.searchsorted(np.log(ordered), np.log(ordered) + _WIDTH, side="right")
    weights = total[ends] - total[:-1]
    first = int(np.argmax(weights))
    within = ordered[first : ends[first]]
    if within.size < _FEWEST:
        return None
    share = float(weights[first] / total[-1])
    return GapMode(float(np.median(within)), median_interval(within), share, within.size)


def rhythm_of(gaps: Gaps, shortest: float = 20.0) -> Rhythm | None:
    """The period, at least ``shortest`` ms, of gaps that recur; None if they have none.

    Gaps closer to each other than half of ``shortest`` are one interruption. A period is accepted if the interruptions
    stay in phase with it, and most of its cycles have one.
    """
    starts, lengths = merged(gaps, shortest / 2.0)
    if starts.size < _CYCLES:
        return None
    period = _fundamental(starts, lengths)
    if period is None or period < shortest or gaps.wall / period < _CYCLES:
        return None
    phases = np.exp(2j * np.pi * starts / period)
    center = np.sum(lengths * phases)
    near = np.abs(np.angle(phases / (center / abs(center)))) < 0.2 * np.pi if abs(center) else np.zeros(0, bool)
    numbers = np.round((starts[near] - np.angle(center) / (2 * np.pi) * period) / period).astype(int)
    if not near.any() or np.unique(numbers).size < max(_FEWEST, 0.6 * (gaps.wall / period - 1.0)):
        return None
    cycles, firsts = np.unique(numbers, return_index=True)
    own = np.bincount(numbers - numbers[0], lengths[near]).astype(np.float64)
    return Rhythm(*_period(cycles, starts[near][firsts]), own)


def _period(cycles: np.ndarray, starts: FloatArray) -> tuple[float, tuple[float, float]]:
    """The period by least squares from the starts in those cycles, with an interval.

    A timer that begins to count at the end of a cycle carries each delay on: the error is that of the sum of all
    cycles, and less where the timer keeps a grid.
    """
    period = float(np.polyfit(cycles, starts, 1)[0])
    delays = np.diff(starts) - period * np.diff(cycles)
    error = math.sqrt(_CARRIED * float(delays @ delays) / (delays.size - 1)) / math.sqrt(float(cycles[-1] - cycles[0]))
    margin = t_margin(CONFIDENCE, delays.size - 1) * error
    return period, (period - margin, period + margin)


def merged(gaps: Gaps, apart: float) -> tuple[FloatArray, FloatArray]:
    """The starts and total lengths of interruptions: gaps with less than ``apart`` ms between them are one."""
    if not gaps.starts.size:
        return gaps.starts, gaps.lengths
    new = np.concatenate([[True], gaps.starts[1:] - gaps.ends[:-1] >= apart])
    return gaps.starts[new], np.add.reduceat(gaps.lengths, np.flatnonzero(new))


def _fundamental(starts: FloatArray, lengths: FloatArray) -> float | None:
    """The period under which the interruptions are most in phase, among intervals between neighbours, refined.

    Harmonics are equally in phase: of all periods that fit, the longest is taken, since interruptions with half of it
    would be missing half of the time.
    """
    intervals = np.diff(starts)
    candidates = np.unique(np.round(np.concatenate([intervals, [np.median(intervals)]]), 1))
    candidates = candidates[candidates > 0.0]
    if not candidates.size:
        return None
    span = float(starts[-1] - starts[0])
    fine = (candidates[:, None] * (1.0 + np.linspace(-0.02, 0.02, 81))[None, :]).ravel()
    weights = np.minimum(lengths, np.median(lengths))
    coherence = np.abs(np.exp(2j * np.pi * starts[None, :] / fine[:, None]) @ weights) / weights.sum()
    fits = (coherence >= 0.8) & (fine * _CYCLES <= span + fine)
    if not fits.any():
        return None
    longest = float(fine[fits].max())
    own = fits & (np.abs(fine / longest - 1.0) < 0.05)
    return float(fine[own][np.argmax(coherence[own])])


INTERRUPTIONS_METHOD = "gap-sizes-5"
REPEATABILITY_METHOD = "pairs-of-blocks-3"

SIZES = (("10us", 0.01, 0.1), ("100us", 0.1, 1.0), ("1ms", 1.0, 10.0), ("10ms", 10.0, math.inf))
"""Classes of interruptions by their length in ms."""
_BLOCK_MS = 50.0
_INTERRUPTION, _STOLEN = ("interruption", "more than 10 µs"), ("stolen tick", f"{_TICK_MS:.0f} ms")
_LEAST_BURST_MS = 0.2
_UNUSED = 0.5
_FEWEST_BLOCKS = 20
ALPHA = 0.01
POWER = 0.8


def interruptions(raw: Raw) -> tuple[Property, ...]:
    """The fraction of time in gaps beyond 10 µs on each CPU, the rate of each size, and the longest gap, in ms.

    Each process is on a CPU of its own, one after the other. Intervals of rates and fractions are those of totals of
    events. ``noise.taken`` is the fraction of time that others take on the CPU where they take most, and
    ``noise.stolen`` that of the CPU from which the hypervisor takes most, by ``stolen``. ``noise.longest`` is a largest
    value, without an interval.
    """
    group = gaps_of(raw)
    idle, stolen = (raw.get(name, np.zeros(len(group))) for name in ("unused", "stolen"))
    lost = [max(0.0, gaps.lost - unused) for gaps, unused in zip(group, idle, strict=True)]
    lengths = np.concatenate([gaps.lengths for gaps in group])
    whole, wall = _lost(group), sum(gaps.wall for gaps in group)
    low, high = whole.interval()
    interrupted = Property("noise.interrupted", whole.value / wall, "1", (low / wall, min(1.0, high / wall)))
    return (
        _of_enough(interrupted, whole, _INTERRUPTION),
        _most("noise.taken", lost, [_apart(own, gaps) for own, gaps in zip(lost, group, strict=True)], _INTERRUPTION),
        Property("noise.longest", float(lengths.max()) if lengths.size else 0.0, "ms"),
        *(_rate(f"noise.rate_{size}", [gaps.longer(*ends) for gaps in group]) for size, *ends in SIZES),
        _most("noise.stolen", stolen, [_in_ticks(own, gaps) for own, gaps in zip(stolen, group, strict=True)], _STOLEN),
        *_burst(raw, group),
    )


def _rate(name: str, group: Sequence[Gaps]) -> Property:
    """The gaps per second."""
    seconds = sum(gaps.wall for gaps in group) / 1000.0
    total = number_of_events(np.array([gaps.in_parts(np.ones(gaps.starts.size)) for gaps in group]))
    low, high = total.interval()
    return Property(name, total.value / seconds, "1/s", (low / seconds, high / seconds))


def _lost(group: Sequence[Gaps]) -> Total:
    """The time in gaps, in ms."""
    parts = np.array([gaps.in_parts(gaps.lengths) for gaps in group])
    return total_of_events(parts, np.concatenate([gaps.lengths for gaps in group]), SIZES[0][1])


def _most(name: str, shares: Sequence[float] | FloatArray, totals: Sequence[Total], event: tuple[str, str]) -> Property:
    """The largest of the shares of CPUs; the interval is from the intervals of all, which hold at once (Bonferroni)."""
    ends = np.array([total.interval(1.0 - (1.0 - CONFIDENCE) / len(totals)) for total in totals])
    low, high = np.clip(ends.max(axis=0), 0.0, 1.0)
    worst = int(np.argmax(shares))
    found = Property(name, float(shares[worst]), "1", (min(float(low), float(shares[worst])), float(high)))
    return _of_enough(found, totals[worst], event)


def _of_enough(found: Property, total: Total, event: tuple[str, str]) -> Property:
    """The property, inconclusive where it is not 0 and the total of too few events, of a name and a length."""
    if not found.value or not total.has_too_few:
        return found
    name, length = event
    reason = f"{counted(total.events, name)} of {length}: too few to know how long others are; {MORE_EVENTS}"
    return inconclusive(found.name, found.unit, reason, found.value)


def _apart(share: float, gaps: Gaps, resolution: float = 0.0) -> Total:
    """A share of the window, as variable as so much of its gaps is, and as what counts it in units of ms."""
    lost = _lost([gaps])
    part = min(1.0, share * gaps.wall / lost.value) if lost.value else 0.0
    variance, largest = part * lost.variance + resolution**2, max(lost.largest, resolution)
    unseen = max(largest, lost.largest + part * (lost.unseen - lost.largest))
    return Total(float(share), variance / gaps.wall**2, largest / gaps.wall, unseen / gaps.wall, lost.events)


def _in_ticks(share: float, gaps: Gaps) -> Total:
    """A share of the window that is counted in ticks, which are its events, even where no gap was recorded."""
    return replace(_apart(share, gaps, _TICK_MS), events=round(share * gaps.wall / _TICK_MS))


def _burst(raw: Raw, group: Sequence[Gaps]) -> tuple[Property, Property]:
    """The period of recurring interruptions, in ms, and their fraction of the time, for the CPU where it is largest.

    If a CPU is idle in the gaps, the process is stopped by a quota, which is not a burst. Without a rhythm, bursts
    take at most what all long gaps do.
    """
    long = [gaps.longer(_LEAST_BURST_MS) for gaps in group]
    found = []
    for gaps, unused in zip(long, raw.get("unused", np.zeros(len(group))), strict=True):
        rhythm = rhythm_of(gaps)
        if rhythm is not None and unused < _UNUSED * float(gaps.lengths.sum()) / gaps.wall:
            found.append((float(rhythm.lengths.mean()) / rhythm.period, rhythm))
    if not found:
        reason = "none: long interruptions do not recur in a period"
        high = min(1.0, max(_lost([gaps]).interval()[1] / gaps.wall for gaps in long))
        none = Property("noise.burst_period", None, "ms", None, reason=reason)
        return none, Property("noise.burst", 0.0, "1", (0.0, high))
    share, rhythm = max(found, key=lambda each_: each_[0])
    margin = mean_margin(rhythm.lengths) / rhythm.period
    return (
        Property("noise.burst_period", rhythm.period, "ms", rhythm.interval),
        Property("noise.burst", share, "1", (max(0.0, share - margin), min(1.0, share + margin))),
    )


def repeatability(raw: Raw, runs: int = 10) -> tuple[Property, ...]:
    """The repeatability of work on this machine: drift, spread, smallest visible change, as fractions.

    Repetitions of ``work_wall_ns`` are pooled into blocks of 50 ms, which count as runs. Differences between the two of
    each pair are those of interleaved runs of one program; no block is in two pairs, as their differences would depend
    on each other. The smallest change is what a paired t-test at 1 % finds with a power of 80 % in ``runs`` pairs.
    Drift is the standard deviation between pairs beyond that within them. ``others`` is the fraction of the CPU's time
    that others used.
    """
    blocks = np.log(_blocks(pooled(raw, "work_wall_ns") / 1e6))
    if blocks.size < _FEWEST_BLOCKS:
        few = inconclusive("noise.detectable", "1", f"only {blocks.size} blocks of 50 ms; measure longer")
        return undisturbed(raw, few)
    differences = np.diff(blocks[: blocks.size // 2 * 2].reshape(-1, 2), axis=1).ravel()
    spread = float(np.std(differences, ddof=1))
    low, high = _deviation_interval(differences)
    factor = detectable(1.0, runs)
    return undisturbed(
        raw,
        Property("noise.detectable", factor * spread, "1", (factor * low, factor * high)),
        Property("noise.spread", spread / math.sqrt(2.0), "1", (low / math.sqrt(2.0), high / math.sqrt(2.0))),
        _drift(blocks, spread, (low, high)),
        _variation("noise.cpu_time_cv", pooled(raw, "work_cpu_ns")),
    )


def _drift(blocks: FloatArray, spread: float, interval: tuple[float, float]) -> Property:
    """The standard deviation of what both blocks of a pair share.

    It is from the variance between the means of pairs, less what the ``spread`` of differences within pairs explains.
    The interval combines those of both variances (Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
    """
    means = blocks[: blocks.size // 2 * 2].reshape(-1, 2).mean(axis=1)
    between, factor = variance_of(means), variance_factor(means)
    within, low, high = (end**2 / 4.0 for end in (spread, *interval))
    value = between - within
    below = value - math.hypot(between - between / factor, high - within)
    above = value + math.hypot(between * factor - between, within - low)
    found, first, last = (math.sqrt(max(0.0, end)) for end in (value, below, above))
    return Property("noise.drift", found, "1", (first, last))


def _variation(name: str, values: FloatArray) -> Property:
    """The coefficient of variation of a series in time; the interval is of its logarithm, by the delta method."""
    mean, deviation = float(values.mean()), float(np.std(values, ddof=1))
    if not deviation:
        return Property(name, 0.0, "1", (0.0, 0.0))
    apart = (values - mean) / deviation
    factor = mean_factor(apart**2 / 2.0 - apart * deviation / mean)
    return Property(name, deviation / mean, "1", (deviation / mean / factor, deviation / mean * factor))


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
