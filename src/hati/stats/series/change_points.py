"""The places at which the level of a series changes, and how they are kept up to date by one value more."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from hati.core import FloatArray
from hati.stats.effects.least_squares import Index
from hati.stats.series.change_size import change_place, renumbered
from hati.stats.series.change_test import split_p_value, strongest_change
from hati.stats.series.dependence import Dependence

_MOST_ROUNDS = 8
_Found = TypeVar("_Found")


class ChangePoint(Struct, frozen=True):
    """The index of the first value on a new level, and the p-value, corrected for places and segments."""

    index: int
    p_value: float


def change_points(
    values: FloatArray, groups: Index, alpha: float = 0.05, dependence: Dependence = Dependence.ESTIMATED
) -> tuple[ChangePoint, ...]:
    """Find where the level changes; with probability 1 - alpha nothing where nothing does.

    Segments are split at the strongest sign first, as long as its p-value, times the number of segments among which
    it was chosen, is at most alpha (Bonferroni). Then each place is looked for anew between its neighbours, and each
    change is tested anew between them: what is not significant there is left out, the weakest first.

    Args:
        values: shape (n,), in the order of time.
        groups: values of one group (machine) share a level; counted from 0, shape (n,).
        alpha: the probability of finding anything in a series that does not change.
        dependence: the noise's autocorrelation.
    """
    search = _Search(values, groups, alpha, dependence)
    places = search.split()
    for _ in range(_MOST_ROUNDS):
        moved = search.without_weak(search.relocated(places))
        if moved == places:
            break
        places = moved
    chances = search.chances(places)
    return tuple(map(ChangePoint, places, chances))


class _Search(Struct, frozen=True, eq=False):
    values: FloatArray
    groups: Index
    alpha: float
    dependence: Dependence
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def split(self) -> list[int]:
        """The places by splitting, strongest first."""
        segments = [(0, len(self.values))]
        found = {segments[0]: self._part(*segments[0], strongest_change)}
        while True:
            chosen = min(segments, key=lambda segment: found[segment].p_value)
            if found[chosen].p_value * len(segments) > self.alpha:
                return sorted(start for start, _ in segments if start)
            edges = [chosen[0], *(chosen[0] + place for place in found[chosen].places), chosen[1]]
            parts = list(pairwise(edges))
            found.update({part: self._part(*part, strongest_change) for part in parts})
            segments = [segment for segment in segments if segment != chosen] + parts

    def relocated(self, places: list[int]) -> list[int]:
        """Each place where it is best between its neighbours."""
        moved = list(places)
        for number, place in enumerate(places):
            start = moved[number - 1] if number else 0
            stop = places[number + 1] if number + 1 < len(places) else len(self.values)
            local = change_place(self.values[start:stop], self.groups[start:stop], place - start)
            moved[number] = start + local
        return moved

    def without_weak(self, places: list[int]) -> list[int]:
        """Those that are significant between their neighbours."""
        kept = list(places)
        while kept:
            chances = self.chances(kept)
            weakest = int(np.argmax(chances))
            if chances[weakest] <= self.alpha:
                break
            del kept[weakest]
        return kept

    def chances(self, places: list[int]) -> list[float]:
        """The p-value of each change between its neighbours, times the number of segments."""
        edges = [0, *places, len(self.values)]
        return [
            min(1.0, len(places) * self._chance(start, stop)) for start, stop in zip(edges, edges[2:], strict=False)
        ]

    def _chance(self, start: int, stop: int) -> float:
        if (start, stop) not in self.known:
            self.known[start, stop] = self._part(start, stop, split_p_value)
        return self.known[start, stop]

    def _part(self, start: int, stop: int, test: Callable[[FloatArray, Index, Dependence], _Found]) -> _Found:
        return test(self.values[start:stop], renumbered(self.groups[start:stop]), self.dependence)


LONGEST = 1000
"""Of the values since the last change point so many are looked at."""


def appended(
    known: tuple[ChangePoint, ...], values: FloatArray, groups: Index, alpha: float = 0.05
) -> tuple[ChangePoint, ...]:
    """The change points of a series whose last value is new.

    What was known stands; the values since the last change point, the last thousand of them at most, are tested at the
    level that remains for one of so many stretches (Bonferroni), which holds for each look by itself. The whole series
    is told anew by ``change_points``.

    Args:
        known: the change points of the series before, in order.
        values: all values, the new one included, shape (n,).
        groups: the group (machine) of each value, counted from 0, shape (n,).
        alpha: the level of the whole series.
    """
    last = known[-1].index if known else 0
    stretches = len(known) + max(1, math.ceil((len(values) - last) / LONGEST))
    start = max(last, len(values) - LONGEST)
    own = np.unique(groups[start:], return_inverse=True)[1]
    found = change_points(values[start:], own, alpha / stretches)
    return (*known, *(ChangePoint(start + one.index, min(1.0, one.p_value * stretches)) for one in found))
