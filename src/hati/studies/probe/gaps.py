"""Gaps in the progress of a process that only reads the clock: when it did not run, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.studies.probe.finding import Raw, each

_WIDTH = 0.05
"""The width of the window, in the logarithm of lengths, in which a mode is sought."""
_FEWEST = 5
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

    def longer(self, least: float) -> Gaps:
        """The gaps of at least that length in ms."""
        chosen = self.lengths >= least
        return Gaps(self.starts[chosen], self.lengths[chosen], self.wall, self.cpu)


@dataclass(frozen=True, slots=True)
class GapMode:
    """The length at which gaps take most time, its ``interval``, and the ``share`` of all gaps' time near it."""

    length: float
    interval: tuple[float, float]
    share: float
    count: int


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Gaps that recur with a fixed ``period`` in ms, each ``length`` ms in all; ``share`` is of all gaps' time."""

    period: float
    length: float
    share: float


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
    hits = np.unique(np.round((starts[near] - np.angle(center) / (2 * np.pi) * period) / period)).size
    if not near.any() or hits < 0.6 * (gaps.wall / period - 1.0):
        return None
    return Rhythm(period, float(np.median(lengths[near])), float(lengths[near].sum() / lengths.sum()))


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
