"""Which revision is measured next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class ReplayOrder(StrEnum):
    """How a line of revisions is gone through."""

    INTERLEAVED = "interleaved"
    NEWEST = "newest"
    REFINING = "refining"


class KnownLevels(NamedTuple):
    """The measurements of a series: logarithms of its ``levels`` by place, and the ``noise`` of a difference."""

    levels: Mapping[int, float]
    noise: float

    def change(self, first: int, last: int) -> float:
        """How much the level changes from a place to another; 0 within the noise."""
        change = abs(self.levels[last] - self.levels[first])
        return change if change > self.noise else 0.0


def refined(number: int, series: Sequence[KnownLevels]) -> int | None:
    """The next of ``number`` places, from 0: the ends, then the middle of where the level of any series changes most.

    All ``series`` have the same places, those that were measured. Of changes within the noise the widest interval is
    taken, so that what goes up and down again between two places is found too. None where all are measured.
    """
    known = sorted(series[0].levels)
    for end in (number - 1, 0):
        if end not in known:
            return end
    gaps = [(first, last) for first, last in pairwise(known) if last - first > 1]
    if not gaps:
        return None

    def urgency(gap: tuple[int, int]) -> tuple[float, int]:
        return max(one.change(*gap) for one in series), gap[1] - gap[0]

    first, last = max(gaps, key=urgency)
    return (first + last) // 2


def typical_noise(deviations: Sequence[float]) -> float:
    """What two levels differ by without a change: three times the error of their difference, in the median."""
    return 3.0 * float(np.median(deviations)) * 2.0**0.5 if len(deviations) else 0.0
