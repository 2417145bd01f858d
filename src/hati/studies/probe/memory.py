"""Memory: the levels that a chain of dependent loads sees, and the bandwidth of a stream."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.studies.probe.finding import Property, Raw, contaminated, each, inconclusive, median_interval

LEVELS_METHOD = "chase-segments-2"
BANDWIDTH_METHOD = "triad-1"
_LEAST_STEP = 0.35
"""The least step between levels in the logarithm of latencies: a factor of 1.4."""
_PENALTY = 0.25
_MOST_LEVELS = 5
_OTHERS = 0.1


def memory_levels(raw: Raw) -> tuple[Property, ...]:
    """Sizes and latencies of the levels: constant pieces of the logarithm of the latency over that of the size.

    ``size_bytes/i`` is a region's size, ``load_ps/i`` are times of a load in it, in ps. Pieces are fitted by least
    squares with a penalty for each; a level ends where the latency crosses the geometric mean of its own and the next
    one's. The last level is the memory itself, or what the largest region shows. ``others`` is the number of cores
    used by other processes.
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
    if others > _OTHERS:
        reason = f"other processes had {others:.2f} cores meanwhile, and caches with them"
        return tuple(contaminated(one, reason) for one in found)
    return tuple(found)


def bandwidth(raw: Raw) -> tuple[Property, ...]:
    """The bytes per second that all processes move together in a triad; ``triad_ns`` has a row for each process."""
    moved, times = float(raw["moved_bytes"][0]), each(raw, "triad_ns")
    rates = np.sum([moved / own for own in times], axis=0)
    low, high = median_interval(rates)
    return (Property("mem.bandwidth", float(np.median(rates)) * 1e9, "B/s", (low * 1e9, high * 1e9)),)


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
