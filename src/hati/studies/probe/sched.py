"""The scheduler: the time that a process runs before another one does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.studies.probe.finding import Property, Raw, contaminated, inconclusive, pooled
from hati.studies.probe.gaps import GapMode, Gaps, gaps_of, mode_of

SLICE_METHOD = "gap-slope-1"
ROUND_ROBIN_METHOD = "gap-mode-1"
DEMAND_METHOD = "response-clusters-1"

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
        owns.append(_own(group))
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
        return (contaminated(found, _elsewhere(owns)),)
    if worst[1].share < _SHARE:
        reason = f"with {worst[0]} processes only {worst[1].share:.0%} of the waiting is in gaps of one length"
        return (inconclusive(name, "ms", reason, value),)
    lengths = np.array([mode.length for _, mode in modes])
    off = float(np.max(np.abs(lengths / (others * value) - 1.0)))
    if off > _AGREES:
        reason = f"gaps are not in proportion to the number of competitors (off by {off:.0%})"
        return (inconclusive(name, "ms", reason, value),)
    return (found,)


def round_robin_slice(raw: Raw) -> tuple[Property, ...]:
    """The slice of SCHED_RR in ms: the mode of the gaps of two such processes on one core."""
    name, group = "sched.round_robin_slice", gaps_of(raw)
    mode = mode_of(np.concatenate([gaps.lengths for gaps in group]))
    if mode is None:
        return (inconclusive(name, "ms", "the two processes take turns fewer than five times; measure longer"),)
    found = Property(name, mode.length, "ms", mode.interval)
    if (own := _own(group)) < _OWN_REAL_TIME:
        return (contaminated(found, _elsewhere([own])),)
    if mode.share < _SHARE:
        reason = f"only {mode.share:.0%} of the waiting is in gaps of one length"
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
        raw: ``response_ns``, shape (n,).
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
        return (inconclusive(name, "ms", "the response times are in one cluster"),)
    within = sum(float(((each - each.mean()) ** 2).sum()) for each in clusters)
    kept = np.concatenate(clusters)
    explained = 1.0 - within / float(((kept - kept.mean()) ** 2).sum()) if kept.size > 2 else 0.0
    if explained < _EXPLAINED or kept.size < _EXPLAINED * times.size:
        reason = f"two clusters explain {explained:.0%} of the variance and hold {kept.size / times.size:.0%} of all"
        return (inconclusive(name, "ms", reason, value),)
    error = float(np.sqrt(sum(each.var(ddof=1) / each.size for each in clusters if each.size > 1)))
    return (Property(name, value, "ms", (value - 1.96 * error, value + 1.96 * error)),)


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


def _own(group: Sequence[Gaps]) -> float:
    return sum(gaps.cpu for gaps in group) / max(gaps.wall for gaps in group)


def _elsewhere(owns: Sequence[float]) -> str:
    return f"something else had {1.0 - min(owns):.0%} of the core's time; repeat it when the machine is quiet"
