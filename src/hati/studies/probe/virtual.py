"""Detectors of virtualisation: how much slower the same work runs, and the CPU time that the hypervisor takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, replace
from hati.core.wording import counted
from hati.stats import t_margin
from hati.studies.probe.finding import (
    CONFIDENCE,
    Property,
    Raw,
    each,
    inconclusive,
    mean_property,
    medians,
    ratio_property,
    undisturbed,
)
from hati.studies.probe.intervals import FEWEST_EVENTS, MORE_EVENTS

INSIDE_METHOD = "interleaved-pairs-1"
REFERENCE_METHOD = "shared-rate-1"
STEAL_METHOD = "all-busy-2"
_STOPPED, _SEVERAL = 5.0, 3
"""How many times longer than the median a repetition is that was stopped; the stops that make cycles."""
_NONE_SEEN = -math.log(0.025)
"""Garwood's upper limit of the expected number of events, at 95 %, where none occurred."""
_LITTLE = 0.02
"""The fraction of the time of bursts in long stops that hardly matters."""


def slowdown_inside(raw: Raw) -> tuple[Property, ...]:
    """The time of work inside of a container or virtual machine over that of the same work outside.

    ``outside_wall_ns``, ``outside_cpu_ns``, ``inside_wall_ns`` and ``inside_cpu_ns`` are times of repetitions in each
    burst; a burst outside and one inside are a pair, in random order. ``virt.slowdown`` is of elapsed time, by the mean
    of each burst, as a quota stops few repetitions for long; ``virt.cpu_slowdown`` of CPU time, by the medians. The
    intervals are Student's over the logarithms of the pairs. ``others`` is the fraction of the CPUs' time that others
    used during the bursts outside; inside, they cannot be distinguished from the work.

    Elapsed time is inconclusive where the work inside is stopped, but too seldom for whole periods of a quota.
    """
    elapsed = ratio_property("virt.slowdown", _logs(raw, "wall", _mean_of_cycles))
    if reason := _without_cycles(each(raw, "inside_wall_ns"), each(raw, "outside_wall_ns")):
        elapsed = inconclusive(elapsed.name, elapsed.unit, reason, elapsed.value)
    return undisturbed(raw, elapsed, ratio_property("virt.cpu_slowdown", _logs(raw, "cpu", np.median)))


def _without_cycles(inside: Sequence[FloatArray], outside: Sequence[FloatArray]) -> str:
    """The reason where stops inside, beyond those outside, take time, and most bursts with one have too few; or ''."""
    taken = [np.mean([times[_stops(times)].sum() / times.sum() for times in side]) for side in (inside, outside)]
    stops = [_stops(times).size for times in inside]
    if taken[0] - taken[1] <= _LITTLE or np.median([count for count in stops if count]) >= _SEVERAL:
        return ""
    length = float(np.median([times.sum() for times in inside])) / 1e6
    return (
        f"the work inside is stopped for {100 * taken[0]:.0f} % of the time, but fewer than {_SEVERAL} times in most "
        f"bursts of {length:.0f} ms, which are too short for whole periods of a quota: run `hati probe cpu.limit` "
        "inside"
    )


def _stops(times: FloatArray) -> NDArray[np.intp]:
    """The places of the repetitions that were stopped for long."""
    return np.flatnonzero(times > _STOPPED * np.median(times))


def _logs(raw: Raw, clock: str, middle: Callable[[FloatArray], np.floating]) -> FloatArray:
    """The logarithm of the ratio of each pair."""
    inside, outside = ([middle(own) for own in each(raw, f"{side}_{clock}_ns")] for side in ("inside", "outside"))
    return np.asarray(np.log(np.divide(inside, outside)))


def _mean_of_cycles(times: FloatArray) -> np.floating:
    """The mean from the end of the first long stop to the end of the last one, if there are several.

    These are whole periods of a quota, which is unused when a burst begins.
    """
    stops = _stops(times)
    if stops.size >= _SEVERAL:
        times = times[stops[0] + 1 : stops[-1] + 1]
    return np.mean(times)


def slowdown_against(raw: Raw, machine: str) -> tuple[Property, ...]:
    """The CPU time of work here over that on another machine, whose rate of the same work is known.

    ``units`` and ``work_cpu_ns`` are as in ``work_rate``; ``reference_rate`` is the other machine's with the ends of
    its interval, in units per ms. The interval has the uncertainty of both rates: what each changed by between the two
    measurements is not in it, which the reason says. ``others`` is as in ``work_rate``.
    """
    logs = np.log(medians(raw, "work_cpu_ns") / 1e6 / float(raw["units"][0]))
    rate, low, high = (math.log(float(end)) for end in raw["reference_rate"])
    own = t_margin(CONFIDENCE, logs.size - 1) * float(np.std(logs, ddof=1)) / math.sqrt(logs.size)
    center, margin = float(np.mean(logs)) + rate, math.hypot(own, (high - low) / 2.0)
    found = Property(
        "virt.cpu_slowdown",
        math.exp(center),
        "1",
        (math.exp(center - margin), math.exp(center + margin)),
        reason=f"not interleaved: {machine} was measured at another time, and its speed may have changed since",
    )
    return undisturbed(raw, found)


def stolen_share(raw: Raw) -> tuple[Property, ...]:
    """The fraction of the CPU time asked for that the hypervisor gave to others while all CPUs were busy.

    ``stolen`` is that fraction in each window, and ``tick`` what a tick on each CPU, by which the kernel counts, is of
    all windows: the interval, Student's over the windows, is at least a tick to each side, and up to what Garwood's
    upper limit allows where no tick is stolen. If some windows have stolen time, but fewer than five, these are too few
    for an interval. ``before`` is the stolen time since the machine's start: if it is 0, and stays so, the hypervisor
    may not report any.
    """
    name, tick = "virt.steal", float(raw["tick"][0])
    found = mean_property(name, raw["stolen"], "1")
    value, (low, high) = found.value or 0.0, found.interval or (0.0, 0.0)
    if value <= 0.0 and raw["before"][0] <= 0.0:
        reason = "no stolen time was counted since the machine's start: its hypervisor may not report it"
        return (inconclusive(name, "1", reason, 0.0),)
    if 0 < (stolen := int(np.count_nonzero(raw["stolen"]))) < FEWEST_EVENTS:
        windows = f"{counted(stolen, 'window')} of {raw['stolen'].size}"
        reason = f"time was stolen in {windows}: too few for an interval; {MORE_EVENTS}"
        return (inconclusive(name, "1", reason, value),)
    least = tick if value else _NONE_SEEN * tick
    return (replace(found, interval=(max(0.0, min(low, value - tick)), max(high, value + least))),)
