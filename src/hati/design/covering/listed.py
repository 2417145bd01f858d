"""Covering arrays of spaces whose configurations can be listed: greedy set cover, improved by iterated greedy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hati.design.covering.combinations import Combinations, Flags, Numbers
from hati.design.optimal.coding import Levels

if TYPE_CHECKING:
    from numpy.random import Generator

_EFFORT = 30_000
"""Rows that all rounds choose together, about."""

_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 200
_REMOVED = 0.2

_Index = NDArray[np.intp]


def listed_cover(candidates: Levels, found: Combinations, wanted: Flags, rng: Generator) -> Levels:
    """Candidates that have all wanted combinations, which some candidate has each, in the order of a greedy search.

    Each step takes the candidate with the most combinations that are still missing, ties at random (Johnson, 1974).
    Then rounds of iterated greedy (Jacobs and Brusco, 1995; Ruiz and Stuetzle, 2007) remove some rows at random and
    complete the rest greedily again, and keep what is no larger. The search ends where
    no fewer rows are possible, or after a number of rounds.

    Args:
        candidates: shape (candidates, options).
        found: the combinations.
        wanted: those that are to be covered, shape (combinations,).
        rng: for ties and removed rows.
    """
    order = rng.permutation(len(candidates))
    cover = _Cover(found.of_rows(candidates[order]), wanted)
    best = cover.completed(np.empty(0, dtype=np.intp))
    least = _least_rows(found, wanted)
    rounds = int(np.clip(_EFFORT // (len(best) + 1), _FEWEST_ROUNDS, _MOST_ROUNDS))
    for _ in range(rounds):
        if len(best) == least:
            break
        kept = best[rng.random(len(best)) >= _REMOVED]
        cover.shuffle(rng)
        again = cover.without_redundant(cover.completed(kept), rng)
        if len(again) <= len(best):
            best = again
    return candidates[order[cover.ordered(best)]]


def _least_rows(found: Combinations, wanted: Flags) -> int:
    """No fewer rows suffice: each has one combination of every group."""
    return int(np.add.reduceat(wanted.astype(np.intp), found.offsets[:-1]).max())


@dataclass(eq=False)
class _Cover:
    """``having`` are the numbers of the combinations of each candidate, shape (candidates, groups)."""

    having: Numbers
    wanted: Flags

    def __post_init__(self) -> None:
        self.priority = np.arange(len(self.having))

    def shuffle(self, rng: Generator) -> None:
        """Break the next ties in another order."""
        self.priority = rng.permutation(len(self.having))

    @cached_property
    def owners(self) -> _Index:
        """The candidates that have each combination, one combination after the other."""
        return np.asarray(np.argsort(self.having, axis=None, kind="stable") // self.having.shape[1])

    @cached_property
    def starts(self) -> _Index:
        """Where the candidates of each combination start among the ``owners``, and after them their number."""
        counts = np.bincount(self.having.ravel(), minlength=len(self.wanted))
        return np.concatenate([[0], np.cumsum(counts)])

    def completed(self, kept: _Index) -> _Index:
        """The kept candidates, and more, until nothing is missing."""
        missing = self.wanted.copy()
        missing[self.having[kept]] = False
        return np.concatenate([kept, self._greedy(missing, None)])

    def ordered(self, chosen: _Index) -> _Index:
        """The chosen candidates, each the one with the most combinations that those before it lack."""
        return self._greedy(self.wanted.copy(), chosen)

    def without_redundant(self, chosen: _Index, rng: Generator) -> _Index:
        """The chosen without those that have nothing that the others lack, tried in random order."""
        times = np.zeros(len(self.wanted), dtype=np.intp)
        np.add.at(times, self.having[chosen], 1)
        kept = np.ones(len(chosen), dtype=np.bool_)
        for place in rng.permutation(len(chosen)):
            own = self.having[chosen[place]]
            if not np.any(self.wanted[own] & (times[own] == 1)):
                times[own] -= 1
                kept[place] = False
        return chosen[kept]

    def _greedy(self, missing: Flags, among: _Index | None) -> _Index:
        """``missing`` is changed: nothing of it is left."""
        gains = missing[self.having].sum(axis=1)
        scale = len(self.having)
        bonus = self.priority if among is None else np.full(scale, -(scale * (self.having.shape[1] + 1)))
        if among is not None:
            bonus[among] = self.priority[among]
        taken = []
        while True:
            best = int(np.argmax(gains * scale + bonus))
            if not gains[best]:
                break
            own = self.having[best]
            new = own[missing[own]]
            missing[new] = False
            gains -= np.bincount(self._owners_of(new), minlength=scale)
            taken.append(best)
        return np.array(taken, dtype=np.intp)

    def _owners_of(self, numbers: Numbers) -> _Index:
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        ends = np.cumsum(lengths)
        return np.asarray(
            self.owners[np.arange(ends[-1]) + np.repeat(self.starts[numbers] - (ends - lengths), lengths)]
        )
