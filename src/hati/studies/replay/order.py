"""Which revision is measured next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np


class Order(StrEnum):
    """How a line of revisions is gone through."""

    INTERLEAVED = "interleaved"
    NEWEST = "newest"
    REFINING = "refining"


def refined(number: int, levels: Mapping[int, float], noise: float) -> int | None:
    """The next place of so many, from 0: the ends, then the middle of where the level changes most.

    ``levels`` has those that were measured, as logarithms. Of changes within the ``noise`` the widest interval is
    taken, so that what goes up and down again between two places is found too. None where all are measured.
    """
    for end in (number - 1, 0):
        if end not in levels:
            return end
    known = sorted(levels)
    gaps = [(first, last) for first, last in pairwise(known) if last - first > 1]
    if not gaps:
        return None

    def urgency(gap: tuple[int, int]) -> tuple[float, int]:
        change = abs(levels[gap[1]] - levels[gap[0]])
        return (change if change > noise else 0.0, gap[1] - gap[0])

    first, last = max(gaps, key=urgency)
    return (first + last) // 2


def typical_noise(deviations: Sequence[float]) -> float:
    """What two levels differ by without a change: three times the error of their difference, in the median."""
    return 3.0 * float(np.median(deviations)) * 2.0**0.5 if len(deviations) else 0.0
