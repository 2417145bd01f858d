"""Exchanging the runs of a design one at a time for better ones, until none is better."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.basis import Basis
from hati.design.coding import Levels
from hati.design.information import Information
from hati.design.neighbourhood import AnySetting, Neighbourhood

_MOST_PASSES = 60
_LEAST_GAIN = 1e-6
_AT_ONCE = 2_000_000  # numbers in an array of moves' columns
_MOST_KNOWN = 8_000_000
_ROUNDING = 200  # exchanges after which the inverse is found anew


class Replication(Enum):
    """Whether a configuration may be run more than once."""

    ALLOWED = "allowed"
    NONE = "none"


@dataclass
class _Now:
    """The runs as they are: their levels and columns, what these tell, and how often each configuration is taken.

    ``known`` are the columns of what each run may be exchanged for, where there is room for them.
    """

    levels: Levels
    rows: FloatArray
    about: Information
    taken: Counter[bytes]
    known: FloatArray | None = None


class Exchange(Struct, frozen=True):
    """What stays the same while runs are exchanged: the first ``fixed`` of them, and the blocks that they are in.

    ``blocks`` are the columns of block effects, shape (runs, blocks - 1). ``moments`` is as for ``Information``.
    """

    basis: Basis
    fixed: int
    blocks: FloatArray
    moments: FloatArray | None
    replication: Replication

    def rows(self, levels: Levels) -> FloatArray:
        """All columns of a design's runs, those of blocks first."""
        return np.hstack([self.blocks, self.basis.matrix(levels)])

    @property
    def prior(self) -> FloatArray:
        """What is known beforehand of each column's coefficient."""
        return np.concatenate([np.full(self.blocks.shape[1], self.basis.prior[0]), self.basis.prior])

    def improve(self, levels: Levels, near: Neighbourhood) -> tuple[Levels, float]:
        """A design that no single exchange makes better, and its ``Information.value``.

        Each pass looks at all runs at once and then exchanges those that can be better, the most promising first.
        The number of passes is bounded.
        """
        now = self._begun(levels.copy(), near)
        since = _ROUNDING  # random runs may be all but singular
        for _ in range(_MOST_PASSES):
            promises = self._promises(now, near)
            order = self.fixed + np.argsort(-promises, kind="stable")[: int((promises > self._least(now)).sum())]
            exchanged = sum(self._exchange(int(place), now, near) for place in order)
            since += exchanged
            if since > _ROUNDING:
                now.about.refresh(now.rows)
                since = 0
            if not exchanged:
                break
        now.about.refresh(now.rows)
        return now.levels, now.about.value

    def _begun(self, levels: Levels, near: Neighbourhood) -> _Now:
        rows = self.rows(levels)
        about = Information(rows, self.prior, near.watched, self.moments)
        now = _Now(levels, rows, about, Counter(row.tobytes() for row in levels))
        if isinstance(near, AnySetting) and levels.size * rows.shape[1] * max(self.basis.model.sizes) <= _MOST_KNOWN:
            now.known = self._others(slice(0, len(levels)), now, near)
        return now

    def _promises(self, now: _Now, near: Neighbourhood) -> FloatArray:
        """What the best exchange of each free run is worth as things are, shape (free runs,)."""
        total = len(now.levels)
        moves = sum(self.basis.model.sizes) * now.rows.shape[1] if near.watched is None else len(near.watched)
        size = max(1, _AT_ONCE // moves)
        parts = [slice(start, min(start + size, total)) for start in range(self.fixed, total, size)]
        return np.concatenate([self._gains(part, now, near).max(axis=1, initial=0.0) for part in parts])

    def _gains(self, places: slice, now: _Now, near: Neighbourhood) -> FloatArray:
        """What each move of those runs is worth, shape (runs, moves)."""
        if near.watched is not None:
            return now.about.watched_gains(now.rows[places])
        return now.about.gains(now.rows[places], self._others(places, now, near))

    def _others(self, places: slice, now: _Now, near: Neighbourhood) -> FloatArray:
        """The columns, with those of blocks, of what each run may be exchanged for: (runs, moves, columns)."""
        if now.known is not None:
            return now.known[places]
        others = near.columns(now.levels[places])
        if not self.blocks.shape[1]:
            return others
        blocks = np.broadcast_to(self.blocks[places][:, None], (*others.shape[:2], self.blocks.shape[1]))
        return np.concatenate([blocks, others], axis=2)

    def _exchange(self, place: int, now: _Now, near: Neighbourhood) -> bool:
        """Exchange one run for the best that it can be; whether there was a better one."""
        here = slice(place, place + 1)
        before = now.levels[place].copy()
        move = self._best(self._gains(here, now, near)[0], now, before, near)
        if move is None:
            return False
        after = near.moved(before, move)
        if near.watched is None:
            row = self._others(here, now, near)[0, move].copy()
        else:
            row = np.concatenate([self.blocks[place], near.watched[move]])
        now.about.exchange(now.rows[place], row)
        now.levels[place], now.rows[place] = after, row
        now.taken[before.tobytes()] -= 1
        now.taken[after.tobytes()] += 1
        if now.known is not None:
            known, now.known = now.known, None
            known[place] = self._others(here, now, near)[0]
            now.known = known
        return True

    def _best(self, gains: FloatArray, now: _Now, row: Levels, near: Neighbourhood) -> int | None:
        least = self._least(now)
        if self.replication is Replication.ALLOWED:
            best = int(np.argmax(gains))
            return best if gains[best] > least else None
        for move in np.argsort(-gains, kind="stable"):
            if gains[move] <= least:
                return None
            if not now.taken[near.moved(row, int(move)).tobytes()]:
                return int(move)
        return None

    def _least(self, now: _Now) -> float:
        return _LEAST_GAIN * (1.0 if self.moments is None else now.about.average_variance)
