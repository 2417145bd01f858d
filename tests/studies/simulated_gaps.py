"""Raw data of a spinning process whose truth is known."""

from __future__ import annotations

import itertools

import numpy as np


def raw_of(starts, lengths, wall_ms=2000.0, prefix="", number=None, cpu=None):
    """The raw data of a process with these gaps, in ms."""
    end = "" if number is None else f"/{number}"
    starts, lengths = np.asarray(starts, float), np.asarray(lengths, float)
    used = wall_ms - lengths.sum() if cpu is None else cpu
    return {
        f"{prefix}window_ns{end}": np.array([0.0, wall_ms, used]) * 1e6,
        f"{prefix}gap_start_ns{end}": starts * 1e6,
        f"{prefix}gap_ns{end}": lengths * 1e6,
    }


def round_robin(rng, slice_ms, processes, wall_ms=2000.0, jitter=0.03, prefix="", ticks=True):
    """Processes that take turns on a core, each for a slice; the tick of every 4 ms interrupts for 40 to 70 us."""
    order = np.arange(processes)
    bounds = np.cumsum(slice_ms + np.abs(rng.normal(0, jitter, int(wall_ms / slice_ms) + 1)))
    bounds = np.concatenate([[0.0], bounds[bounds < wall_ms], [wall_ms]])
    raw = {}
    for process in order:
        starts, lengths, run = [], [], 0.0
        away = None
        for turn, (low, high) in enumerate(itertools.pairwise(bounds)):
            if turn % processes == process:
                if away is not None and low > away:
                    starts.append(away)
                    lengths.append(low - away)
                if ticks and high - low > 4:
                    starts.append(low + 2)
                    lengths.append(rng.uniform(0.04, 0.07))
                run += high - low
                away = high
            elif away is None:
                away = 0.0
        raw |= raw_of(starts, lengths, wall_ms, prefix, process, run)
    return raw


def throttled(rng, quota, period, wall_ms=3000.0, tick=4.0):
    """A process under a quota that is enforced at ticks: what it runs too long is taken from the next period."""
    starts, lengths, debt, at = [], [], 0.0, rng.uniform(0, period)
    while at < wall_ms:
        run = max(0.0, quota - debt)
        stop = np.ceil((at + run) / tick) * tick
        stop = min(stop, at + period)
        debt += (stop - at) - quota
        if stop < at + period and at + period < wall_ms:
            starts.append(stop)
            lengths.append(at + period - stop + abs(rng.normal(0, 0.01)))
        at += period
    gaps = raw_of(starts, lengths, wall_ms)
    return gaps | {"unused": np.array([sum(lengths) / wall_ms])}
