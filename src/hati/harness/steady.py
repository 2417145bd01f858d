"""Since when a run is steady, and how many leading observations are warm-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats import Segments, segments
from hati.stats.change_points import BLOCKS

TOLERANCE = 0.05
"""Levels within this fraction of each other are as good as one (Traini et al. 2023)."""

FEWEST = 30
"""With fewer observations the last sixth has fewer than five, and steadiness cannot be assessed."""

LAST = 1 / 6
"""The part of a run for which it must be steady at its end: 500 of 3,000 iterations (Traini et al. 2023)."""

DISTURBED = 0.05
"""The fraction of the remaining observations that may be off their level, where the run is steady at its end."""

EARLIER_DISTURBED = 0.3
"""The fraction that may be off its level where the mean equals that of the observations before."""

SAME_MEAN = 0.01
_ERRORS = 2.0
_DRIFT_ERRORS = 3.0

Flags = NDArray[np.bool_]


class State(StrEnum):
    """What a run's observations say of its warm-up."""

    STEADY = "steady"
    NEVER = "never"
    SHORT = "short"


class Steadiness(Struct, frozen=True):
    """Whether a run is steady, and since when.

    ``start`` is the index of the first steady observation, None where the run is not steady; ``level`` the mean since
    then with outliers drawn in, and ``error`` its standard error as a fraction of it, None likewise; ``disturbed`` the
    part of the observations since then that is off the level; ``reason`` says it in words.
    """

    state: State
    start: int | None
    level: float | None
    error: float | None
    disturbed: float | None
    reason: str


def steadiness(values: FloatArray, tolerance: float = TOLERANCE, blocks: int = BLOCKS) -> Steadiness:
    """Find the observation from which on one run, shape (n,), has one level.

    The run is divided into levels (``segments``). The level of reference is the one that most of its last sixth has. A
    stretch is off it where it differs by more than ``tolerance`` of it and two standard errors. Steady is what follows
    a start on the level, with at most 5 % of it off the level; an earlier start is taken where nothing between is off
    the level, or at most 30 % are and the mean from there on differs by at most 1 %: passing disturbances are not
    warm-up. Where no such start leaves a sixth of the run, it is never steady. After Traini, Cortellessa, Di Pompeo
    and Tucci 2023, Towards effective assessment of steady state performance in Java software, Empirical Software
    Engineering 28, 13, with another detection of changes and other tolerance of disturbances.

    Raises:
        InputError: for a tolerance that is not between 0 and 1.
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"the tolerance is between 0 and 100 %, not {tolerance:g}", fix="write 5%")
    if len(values) < FEWEST:
        few = f"{len(values)} observation{'s' if len(values) > 1 else ''}"
        return Steadiness(State.SHORT, None, None, None, None, f"{few}: at least {FEWEST} are needed")
    found = segments(values, blocks)
    off = _off(found, tolerance)
    first = _first(found, off)
    if first is None:
        return Steadiness(State.NEVER, None, None, None, None, _restless(found, off, tolerance))
    start = found.start(first)
    if _drifts(found, start, tolerance):
        return Steadiness(State.NEVER, None, None, None, None, "it still drifts")
    level, rest = found.mean(start, len(values)), len(values) - start
    error = found.deviation / rest**0.5 / abs(level) if level else 0.0
    disturbed = float(found.lengths[first:][off[first:]].sum() / rest)
    return Steadiness(State.STEADY, start, level, error, disturbed, "")


def _off(found: Segments, tolerance: float) -> Flags:
    """Which stretches are off the level that most of the last sixth has, shape (m,)."""
    size = int(found.edges[-1])
    late = np.maximum(found.edges[1:] - np.maximum(found.edges[:-1], round(size * (1.0 - LAST))), 0)
    order = np.argsort(found.levels)
    reach = np.cumsum(late[order])
    level = float(found.levels[order][np.searchsorted(reach, reach[-1] / 2.0)])
    allowed = tolerance * abs(level) + _ERRORS * found.deviation / np.sqrt(found.lengths)
    return np.asarray(np.abs(found.levels - level) > allowed)


def _first(found: Segments, off: Flags) -> int | None:
    """The stretch with which the steady part begins."""
    size = int(found.edges[-1])
    starts = found.edges[:-1]
    parts = np.cumsum((found.lengths * off)[::-1])[::-1] / (size - starts)
    first = clean = None
    for place in reversed(range(len(starts))):
        if off[place] or size - starts[place] < LAST * size:
            continue
        if first is None or clean is None:
            if parts[place] <= DISTURBED:
                first = clean = place
            continue
        means = (found.mean(int(starts[one]), size) for one in (place, clean))
        if parts[place] == 0.0:
            first = clean = place
        elif parts[place] <= EARLIER_DISTURBED and _same(*means):
            first = place
    return first


def _drifts(found: Segments, start: int, tolerance: float) -> bool:
    """Whether the rest of a run drifts: less than half of it, and its halves apart by half of the tolerance.

    A ramp is within the tolerance for a while too.
    """
    size = int(found.edges[-1])
    if 2 * start <= size:
        return False
    middle = (start + size) // 2
    before, after = found.mean(start, middle), found.mean(middle, size)
    error = 2.0 * found.deviation / math.sqrt(size - start)
    return abs(after - before) > max(tolerance / 2.0 * abs(after), _DRIFT_ERRORS * error)


def _same(mean: float, other: float) -> bool:
    return abs(mean - other) <= SAME_MEAN * abs(other)


def _restless(found: Segments, off: Flags, tolerance: float) -> str:
    changes = int(np.count_nonzero(found.edges[1:-1] >= found.edges[-1] * (1.0 - LAST)))
    part = f"{100 * tolerance:g} %"
    if changes:
        return f"its level still changes by more than {part} within its last sixth"
    return f"too much of it is off its last level by more than {part}: {int(np.count_nonzero(off))} stretches"


def leading(marks: Sequence[bool]) -> int:
    """The number of leading observations that the benchmark itself marked as warm-up.

    Raises:
        InputError: where a warm-up observation follows a measured one.

    >>> leading([True, True, False])
    2
    """
    marked = next((i for i, mark in enumerate(marks) if not mark), len(marks))
    if any(marks[marked:]):
        raise InputError("warm-up follows measured observations", fix="print warm-up first")
    return marked


def warmup(observations: int, marked: int, fixed: int) -> int:
    """How many of a run's observations are warm-up: the first ``fixed``, or more where more are ``marked``.

    Raises:
        InputError: where no observation is left.

    >>> warmup(observations=10, marked=2, fixed=3)
    3
    """
    count = max(marked, fixed)
    if count < observations:
        return count
    had = "1 observation" if observations == 1 else f"{observations} observations"
    raise InputError(
        f"{had} and {count} of warm-up: none is left", fix="let a run print more observations or lower `warmup`"
    )
