"""Detectors of virtualisation: how much slower the same work runs, and the CPU time that the hypervisor takes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hati.core import FloatArray, replace
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

INSIDE_METHOD = "interleaved-pairs-1"
REFERENCE_METHOD = "shared-rate-1"
STEAL_METHOD = "all-busy-1"
_STOPPED, _SEVERAL = 5.0, 3
"""How many times longer than the median a repetition is that was stopped; the stops that make cycles."""


def slowdown_inside(raw: Raw) -> tuple[Property, ...]:
    """The time of work inside of a container or virtual machine over that of the same work outside.

    ``outside_wall_ns``, ``outside_cpu_ns``, ``inside_wall_ns`` and ``inside_cpu_ns`` are times of repetitions in each
    burst; a burst outside and one inside are a pair, in random order. ``virt.slowdown`` is of elapsed time, by the mean
    of each burst, as a quota stops few repetitions for long; ``virt.cpu_slowdown`` of CPU time, by the medians. The
    intervals are Student's over the logarithms of the pairs. ``others`` is the fraction of the CPUs' time that others
    used during the bursts outside; inside, they cannot be distinguished from the work.
    """
    elapsed, used = _logs(raw, "wall", _mean_of_cycles), _logs(raw, "cpu", np.median)
    return undisturbed(raw, ratio_property("virt.slowdown", elapsed), ratio_property("virt.cpu_slowdown", used))


def _logs(raw: Raw, clock: str, middle: Callable[[FloatArray], np.floating]) -> FloatArray:
    """The logarithm of the ratio of each pair."""
    inside, outside = ([middle(own) for own in each(raw, f"{side}_{clock}_ns")] for side in ("inside", "outside"))
    return np.asarray(np.log(np.divide(inside, outside)))


def _mean_of_cycles(times: FloatArray) -> np.floating:
    """The mean from the end of the first long stop to the end of the last one, if there are several.

    These are whole periods of a quota, which is unused when a burst begins.
    """
    stops = np.flatnonzero(times > _STOPPED * np.median(times))
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
    all windows: the interval, Student's over the windows, is at least a tick to each side. ``before`` is the stolen
    time since the machine's start: if it is 0, and stays so, the hypervisor may not report any.
    """
    name, tick = "virt.steal", float(raw["tick"][0])
    found = mean_property(name, raw["stolen"], "1")
    value, (low, high) = found.value or 0.0, found.interval or (0.0, 0.0)
    if value <= 0.0 and raw["before"][0] <= 0.0:
        reason = "no stolen time was counted since the machine's start: its hypervisor may not report it"
        return (inconclusive(name, "1", reason, 0.0),)
    return (replace(found, interval=(max(0.0, min(low, value - tick)), max(high, value + tick))),)
