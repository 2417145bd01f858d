"""Covering arrays of spaces that are too large to list: one row after the other, as AETG does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hati.design.covering.combinations import Combinations, Flags, Numbers
from hati.design.optimal.coding import INACTIVE, Levels
from hati.space.completion import OPEN, Completion

if TYPE_CHECKING:
    from numpy.random import Generator

CANDIDATES = 30
_LOOKUPS = 2_000_000
"""Lookups of combinations in one step of all candidates, at most: fewer candidates where each needs many."""

_SWEEPS = 3

_Index = NDArray[np.intp]


def sequential_cover(
    completion: Completion, conditional: Flags, found: Combinations, wanted: Flags, rng: Generator
) -> Levels:
    """Rows that have all wanted combinations, which some valid configuration has each.

    Each row is the best of some candidates. Each starts from a missing combination, and they take their options in
    one random order; an option takes the setting that completes the most missing combinations and leaves a valid
    configuration possible: Cohen, Dalal, Fredman and Patton (1997), The AETG system, IEEE Transactions on Software
    Engineering 23, 437-444, with the exact check of constraints of Cohen, Dwyer and Shi (2008). The best candidate is
    improved by exchanges of single settings.

    Args:
        completion: which partial configurations are possible.
        conditional: the options that may be inactive, shape (options,).
        found: the combinations.
        wanted: those that are to be covered, shape (combinations,).
        rng: for orders, seeds and ties.
    """
    search = _Rows(completion, conditional, found, wanted.copy())
    rows = []
    while search.missing.any():
        rows.append(search.next_row(rng))
    return np.array(rows, dtype=np.int16).reshape(-1, len(found.sizes))


@dataclass(eq=False)
class _Rows:
    completion: Completion
    conditional: Flags
    found: Combinations
    missing: Flags

    @cached_property
    def groups_of(self) -> tuple[_Index, ...]:
        """The groups that contain each option."""
        groups = self.found.groups
        return tuple(np.flatnonzero((groups == option).any(axis=1)) for option in range(len(self.found.sizes)))

    @cached_property
    def settings(self) -> tuple[NDArray[np.int16], ...]:
        """The positions that each option may have."""
        return tuple(
            np.array([*range(size - may), *([INACTIVE] if may else [])], dtype=np.int16)
            for size, may in zip(self.found.sizes, self.conditional.tolist(), strict=True)
        )

    @cached_property
    def number(self) -> int:
        most = max(len(groups) * size for groups, size in zip(self.groups_of, self.found.sizes, strict=True))
        return int(np.clip(_LOOKUPS // most, 2, CANDIDATES))

    def next_row(self, rng: Generator) -> Levels:
        """A valid row with at least one missing combination; its combinations are missing no longer."""
        places = np.flatnonzero(self.missing)
        rows = self.found.partial(rng.choice(places, self.number), self.conditional)
        for option in rng.permutation(len(self.found.sizes)).tolist():
            self._step(rows, option, rng)
        gains = self.missing[self.found.of_rows(rows)].sum(axis=1)
        row = self._exchanged(rows[int(np.argmax(gains))], rng)
        self.missing[self.found.of_rows(row[None])] = False
        return row

    def _step(self, rows: Levels, option: int, rng: Generator) -> None:
        """Give each row that has none a setting of an option."""
        places = np.flatnonzero(rows[:, option] == OPEN)
        gains = self._gains(rows[places], option) + rng.random((len(places), len(self.settings[option])))
        rows[places, option] = self.settings[option][np.argmax(gains, axis=1)]

    def _gains(self, rows: Levels, option: int) -> NDArray[np.float64]:
        """How many missing combinations each setting of an option completes, shape (rows, settings).

        -1 for a setting that leaves no valid configuration.
        """
        settings = self.settings[option]
        tried = np.repeat(rows, len(settings), axis=0)
        tried[:, option] = np.tile(settings, len(rows))
        possible = self.completion.remains_possible(tried, option)
        groups = self.groups_of[option]
        members = self.found.groups[groups]
        numbers: Numbers = np.tile(self.found.offsets[groups], (len(tried), 1))
        known = np.ones((len(tried), len(groups)), dtype=np.bool_)
        codes = self.found.codes(tried)
        for place in range(self.found.strength):
            own = codes[:, members[:, place]]
            known &= own >= 0
            numbers += np.maximum(own, 0) * self.found.strides[groups, place]
        gained = (self.missing[numbers] & known).sum(axis=1).astype(np.float64)
        return np.where(possible, gained, -1.0).reshape(len(rows), len(settings))

    def _exchanged(self, row: Levels, rng: Generator) -> Levels:
        """The row after exchanges of single settings, each of which gains missing combinations."""
        rows = row[None].copy()
        for _ in range(_SWEEPS):
            before = rows.copy()
            for option in rng.permutation(len(self.found.sizes)).tolist():
                now = rows[0, option]
                gains = self._gains(rows, option)[0]
                best = int(np.argmax(gains))
                if gains[best] > gains[int(np.flatnonzero(self.settings[option] == now)[0])]:
                    rows[0, option] = self.settings[option][best]
            if np.array_equal(before, rows):
                break
        return np.asarray(rows[0])
