"""Detectors of the scheduler: wake-ups, switches, weights, the reserve of normal processes, and load balancing."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.studies.probe.finding import (
    Property,
    Raw,
    contaminated,
    inconclusive,
    mean_property,
    median_interval,
    ratio_property,
)
from hati.studies.probe.intervals import median_property, series_quantile_interval
from hati.studies.probe.noise import Gaps, gaps_of, own_use, used_elsewhere

WAKEUP_METHOD = "timer-lateness-2"
SWITCH_METHOD = "pipe-pair-2"
WEIGHTS_METHOD = "cpu-time-ratio-1"
RESERVE_METHOD = "fifo-gaps-2"
BALANCE_METHOD = "spread-2"

WEIGHT_STEPS = 5
"""The steps of niceness between two competitors; by the kernel's weights their ratio is 1024/335."""
_OWN = 0.97
_OTHERS = 0.05
_BUSY = 0.10
"""The fraction of a window in which others may use the CPU: the kernel counts idle time in steps of 10 ms."""
_SWITCHED = 0.98
_WIDEST = 0.15
_LEAST_RESERVE_MS = 5.0
_FEWEST_PERIODS = 3
_REGULAR = 0.1
_FILLED = 0.9


def wakeup(raw: Raw, clock_cost: float) -> tuple[Property, ...]:
    """How late a process runs that sleeps until a time on an idle CPU, in us: the median, and the 99th percentile.

    ``late_ns`` has one reading of the clock, which costs ``clock_cost`` ns; ``others`` is the fraction of the time in
    which others used the CPU: on a busy CPU, a wake-up is another thing.
    """
    late = np.maximum(raw["late_ns"] - clock_cost, 0.0) / 1e3
    found = (
        median_property("sched.wakeup", late, "us"),
        Property("sched.wakeup_p99", float(np.quantile(late, 0.99)), "us", series_quantile_interval(late, 0.99)),
    )
    others = float(raw["others"][0])
    if others > _BUSY:
        reason = f"others used {100 * others:.0f} % of the CPU's time, so that it was not idle; repeat it when it is"
        return tuple(contaminated(each, reason) for each in found)
    return found


def switch(raw: Raw) -> tuple[Property, ...]:
    """The time to switch between two processes of a core, in us.

    A byte goes to and fro between them by pipes; each batch of ``trip_ns`` has ``hands`` writes and reads, and as many
    by a process to itself take ``own_ns``. The cost of the clock, which both have, cancels. ``switches`` is the number
    of switches by the kernel's count in ``all_hands`` writes.
    """
    name, hands = "sched.switch", float(raw["hands"][0])
    found = median_property(name, (raw["trip_ns"] - raw["own_ns"]) / hands / 1e3, "us")
    switched = float(raw["switches"][0] / raw["all_hands"][0])
    if switched < _SWITCHED:
        return (inconclusive(name, "us", f"only {100 * switched:.0f} % of the bytes needed a switch", found.value),)
    _, wall, cpu = raw["window_ns"]
    if cpu / wall < _OWN:
        return (contaminated(found, used_elsewhere(cpu / wall)),)
    return (found,)


def weights(raw: Raw) -> tuple[Property, ...]:
    """The ratio of the CPU times of two processes on one core, of which the second is nicer by five steps.

    The names of each repetition begin with ``0/``, ``1/`` ...; the interval is Student's, of logarithms.
    """
    name = "sched.weight_ratio"
    groups = _repetitions(raw)
    times = np.array([[gaps.cpu for gaps in group] for group in groups])
    if not times.all():
        return (inconclusive(name, "1", "one of the two processes never ran; measure longer"),)
    found = ratio_property(name, np.log(times[:, 0] / times[:, 1]))
    low, high = np.log(found.interval or (1.0, 1.0))
    own = min(own_use(group) for group in groups)
    if own < _OWN:
        return (contaminated(found, used_elsewhere(own)),)
    if high - low > 2.0 * _WIDEST:
        return (inconclusive(name, "1", "the ratio differs between repetitions; measure longer", found.value),)
    return (found,)


def reserve(raw: Raw) -> tuple[Property, ...]:
    """What the kernel reserves for normal processes on a core that a real-time process (SCHED_FIFO) never leaves.

    The reserve and its period, in ms, from the gaps of that process; the second process is a normal one, which fills
    them. The reserve ends at a tick of the clock, so that it is up to a tick longer than its setting.
    """
    names = ("sched.reserve", "sched.reserve_period")
    first, second = gaps_of(raw)
    gaps = first.longer(_LEAST_RESERVE_MS)
    if not gaps.lengths.size and second.cpu < _LEAST_RESERVE_MS:
        reason = "none: a real-time process keeps all others from its core"
        return tuple(Property(name, None, "ms", reason=reason) for name in names)
    periods = np.diff(gaps.ends)
    if periods.size < _FEWEST_PERIODS - 1:
        reason = f"the real-time process waits in {gaps.lengths.size} gaps only; measure longer"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    found = median_property(names[0], gaps.lengths, "ms"), median_property(names[1], periods, "ms")
    filled = second.cpu / float(gaps.lengths.sum())
    if filled < _FILLED:
        reason = f"something else had {100 * (1.0 - filled):.0f} % of the time in which the real-time process waited"
        return tuple(contaminated(each, reason) for each in found)
    if np.abs(periods / np.median(periods) - 1.0).max() > _REGULAR:
        reason = "the real-time process waits, but not in a period"
        return tuple(inconclusive(name, "ms", reason) for name in names)
    return found


def balance(raw: Raw) -> tuple[Property, ...]:
    """How evenly one process more than there are CPUs progress, and how soon two on one CPU spread.

    Evenness is the least CPU time over the mean, in repetitions whose names begin with ``0/``, ``1/`` ...; those of
    ``spread_ns`` are times from the permission to use all CPUs to the first move, at most ``limit_ns``. ``cpus`` is the
    number of CPUs, and ``others`` that of CPUs used by others meanwhile. A CPU that stays idle is bad balancing, and no
    other load.
    """
    groups = _repetitions(raw)
    times = np.array([[gaps.cpu for gaps in group] for group in groups])
    even = mean_property("sched.evenness", times.min(axis=1) / times.mean(axis=1), "1")
    found = (even, _spread(raw["spread_ns"] / 1e6, float(raw["limit_ns"][0]) / 1e6))
    others = float(raw["others"][0]) / float(raw["cpus"][0])
    if others > _OTHERS:
        reason = f"something else had {100 * others:.0f} % of the CPUs' time; repeat it when the machine is quiet"
        return tuple(contaminated(each, reason) for each in found)
    return found


def _spread(times: FloatArray, limit: float) -> Property:
    late = float(np.mean(times >= limit))
    if late >= 0.5:
        reason = f"in {100 * late:.0f} % of the trials, no process moved to another CPU within {limit:.0f} ms"
        return inconclusive("sched.spread", "ms", reason)
    return Property("sched.spread", float(np.median(times)), "ms", median_interval(times))


def _repetitions(raw: Raw) -> list[tuple[Gaps, ...]]:
    count = len({name.partition("/")[0] for name in raw if "/window_ns" in name})
    return [gaps_of(raw, f"{number}/") for number in range(count)]
