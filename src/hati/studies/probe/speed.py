"""Detectors of a processor's speed: steps of its frequency after a pause, and CPUs that share a core."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.core.wording import counted, listed
from hati.document.document import percent
from hati.studies.probe.finding import (
    Property,
    Raw,
    contaminated,
    each,
    inconclusive,
    median_interval,
    ratio_property,
)

STEPS_METHOD = "rate-changes-2"
SIBLINGS_METHOD = "wide-work-pairs-1"

_BLOCK_MS, _MOST_BLOCKS = 10.0, 80
_SHORTEST = 3
"""The fewest blocks of a level: the median of three is not that of the block in which the rate changes."""
_LEAST_STEP = 0.05
"""The smallest step, as a difference of logarithms."""
_LEAST_DEVIATION = 0.002
"""The smallest deviation of a block that is assumed, as a difference of logarithms."""
_NEAR = 2
"""Blocks between two steps that are the same one in two rounds."""
_MISSING = 0.2
"""The share of blocks without work from which the steps are not looked for."""
_OTHERS = 0.1
"""CPUs that other load may use, for each CPU that is measured."""
_SHARED = 1.3
"""The slow-down from which two CPUs share a core: units of execution, and not the lower frequency of a busy socket."""


def frequency_steps(raw: Raw) -> tuple[Property, ...]:
    """Steps of the work in a ms of CPU time after a pause: their number, and the largest one with its time.

    In each round a CPU pauses and then repeats work: ``work_cpu_ns/r`` are CPU times of a repetition, and
    ``work_start_ns/r`` their starts. A processor that leaves a lower frequency changes its rate at the same time in all
    rounds. Changes at other times are caused by something else, such as neighbours on the host.
    """
    rates = _rates(raw)
    empty = float(np.isnan(rates).mean(axis=1).max())
    if empty > _MISSING:
        reason = f"the process did not run in {100 * empty:.0f} % of the parts of a round"
        units = {"cpu.steps": "1", "cpu.step": "1", "cpu.step_at": "ms"}
        return tuple(inconclusive(name, unit, reason) for name, unit in units.items())
    rounds = [_steps(_filled(row)) for row in rates]
    matched = [_matched(list(rounds[0]), own) for own in rounds]
    common = [place for place in rounds[0] if all(place in own for own in matched)]
    block = float(_edges(raw)[1])
    count = Property("cpu.steps", float(len(common)), "1")
    sizes = [[own[place] for own in matched] for place in common]
    found = (count, *_largest(common, np.array(sizes).reshape(len(common), len(rounds)), block))
    others = sum(len(own) for own in rounds) - len(common) * len(rounds)
    if others:
        reason = f"the rate has {counted(others, 'change')} of {percent(_LEAST_STEP)} or more that not all rounds have"
        return tuple(contaminated(one, reason) for one in found)
    return found


def _largest(places: list[int], sizes: FloatArray, block: float) -> tuple[Property, Property]:
    if not places:
        reason = f"none: after a pause the rate of work has no step of {percent(_LEAST_STEP)} or more"
        return Property("cpu.step", None, "1", reason=reason), Property("cpu.step_at", None, "ms", reason=reason)
    number = int(np.argmax(np.abs(sizes.mean(axis=1))))
    at = places[number] * block / 1e6
    return (
        ratio_property("cpu.step", sizes[number]),
        Property("cpu.step_at", at, "ms", (max(0.0, at - _NEAR * block / 1e6), at + _NEAR * block / 1e6)),
    )


def _edges(raw: Raw) -> FloatArray:
    """The bounds of the blocks of a round, in ns."""
    end = min(float(starts[-1]) for starts in each(raw, "work_start_ns"))
    count = int(np.clip(end / 1e6 / _BLOCK_MS, 2 * _SHORTEST, _MOST_BLOCKS))
    return np.linspace(0.0, end, count + 1)


def _rates(raw: Raw) -> FloatArray:
    """Logarithms of the median rate in each block of each round, shape (rounds, blocks); NaN where nothing ran."""
    edges = _edges(raw)
    found = []
    for starts, times in zip(each(raw, "work_start_ns"), each(raw, "work_cpu_ns"), strict=True):
        parts = np.split(times, np.searchsorted(starts, edges[1:-1]))
        found.append([-float(np.log(np.median(part))) if part.size else np.nan for part in parts])
    return np.array(found)


def _filled(values: FloatArray) -> FloatArray:
    known = np.flatnonzero(~np.isnan(values))
    return np.interp(np.arange(values.size), known, values[known])


def _steps(values: FloatArray) -> dict[int, float]:
    """The places at which the level of a series changes, with the differences: pieces of least squares with a penalty.

    Steps of less than 5 % are left out, the smallest first.
    """
    deviation = max(_LEAST_DEVIATION, 1.4826 * float(np.median(np.abs(np.diff(values)))) / np.sqrt(2.0))
    places = _pieces(values, 6.0 * deviation**2 * float(np.log(values.size)))
    while True:
        levels = np.array([np.median(part) for part in np.split(values, places)])
        steps = np.diff(levels)
        if not steps.size or np.abs(steps).min() >= _LEAST_STEP:
            return dict(zip(places, map(float, steps), strict=True))
        del places[int(np.argmin(np.abs(steps)))]


def _pieces(values: FloatArray, penalty: float) -> list[int]:
    """The first indices of all pieces but the first: the least sum of squares and penalties, by dynamic programming."""
    n = values.size
    sums, squares = (np.concatenate([[0.0], np.cumsum(each_)]) for each_ in (values, values**2))
    best, before = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.intp)
    best[0] = 0.0
    for end in range(_SHORTEST, n + 1):
        firsts = np.arange(end - _SHORTEST + 1)
        costs = squares[end] - squares[firsts] - (sums[end] - sums[firsts]) ** 2 / (end - firsts)
        totals = best[firsts] + costs + penalty
        before[end] = np.argmin(totals)
        best[end] = totals[before[end]]
    places, end = [], n
    while end:
        end = int(before[end])
        places.append(end)
    return places[-2::-1]


def _matched(places: list[int], steps: dict[int, float]) -> dict[int, float]:
    """The steps of a round by the places of another one, at most two blocks away: as many as can be, each once."""
    left, found = sorted(steps), {}
    for place in places:
        near = [step for step in left if abs(step - place) <= _NEAR]
        if near:
            found[place] = steps[near[0]]
            left = [step for step in left if step > near[0]]
    return found


def siblings(raw: Raw) -> tuple[Property, ...]:
    """CPUs that share a core (SMT): the number of pairs, and how much both slow down if both work.

    ``pairs`` has two numbers of CPUs for each pair. ``alone_ns``, of shape (rounds, CPUs), and ``both_ns``, of shape
    (rounds, pairs, 2), flattened, are CPU times of the same work, which fills the units of a core. ``listed`` has 1 for
    a pair that the kernel lists as siblings, and 0 for others; it is missing where the kernel shows no list. ``others``
    is the number of CPUs that others used: then no CPU is alone.
    """
    names = ("cpu.sibling_pairs", "cpu.sibling_slowdown")
    cpus, pairs = raw["cpus"], raw["pairs"].reshape(-1, 2)
    alone = raw["alone_ns"].reshape(-1, cpus.size)
    both = raw["both_ns"].reshape(-1, len(pairs), 2)
    ratios = np.sqrt(np.prod(both / alone[:, np.searchsorted(cpus, pairs)], axis=2))
    slow = np.median(ratios, axis=0)
    shared = slow >= _SHARED
    found = (
        Property(names[0], float(shared.sum()), "1"),
        _slowdown(names[1], ratios[:, shared].ravel(), float(slow.max())),
    )
    others = float(raw["others"][0])
    if others > _OTHERS * cpus.size:
        reason = f"others used {others:.2f} CPUs meanwhile; repeat it when the machine is quiet"
        return tuple(contaminated(one, reason) for one in found)
    unsure = (ratios.min(axis=0) < _SHARED) & (ratios.max(axis=0) >= _SHARED)
    if unsure.any():
        reason = f"{_named(pairs[unsure])} slow each other down in some rounds only"
        return tuple(contaminated(one, reason) for one in found)
    if "listed" not in raw:
        return _because(found, "the kernel's list of siblings is not visible")
    known = raw["listed"] > 0
    if (known & ~shared).any():
        reason = f"the kernel lists {_named(pairs[known & ~shared])} as siblings, which do not slow each other down"
        return tuple(inconclusive(one.name, one.unit, reason, one.value) for one in found)
    if (shared & ~known).any():
        reason = f"{_named(pairs[shared & ~known])}; the kernel does not list them, as in virtual machines"
        return _because(found, reason)
    return found


def _slowdown(name: str, ratios: FloatArray, largest: float) -> Property:
    if not ratios.size:
        reason = f"none: no two CPUs slow each other down by a factor of {_SHARED:g}; the largest is {largest:.3g}"
        return Property(name, None, "1", reason=reason)
    return Property(name, float(np.median(ratios)), "1", median_interval(ratios))


def _because(found: tuple[Property, ...], reason: str) -> tuple[Property, ...]:
    """The same properties with a reason, after one that they have."""
    return tuple(
        Property(
            one.name, one.value, one.unit, one.interval, one.verdict, "; ".join(filter(None, (one.reason, reason)))
        )
        for one in found
    )


def _named(pairs: FloatArray) -> str:
    return listed([f"CPU {first:.0f} and {second:.0f}" for first, second in pairs])
