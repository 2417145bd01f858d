"""The search for the most informative runs by exchanges: the moves that may replace a run, and the best of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.coding import Candidates, Levels
from hati.design.information import Basis, Information, PendingExchanges
from hati.stats import Index


class Neighbourhood(Protocol):
    """The moves that may replace a run."""

    @property
    def watched(self) -> FloatArray | None:
        """The columns of all moves, where they are the same for every run."""

    def gains(self, about: Information, rows: FloatArray, levels: Levels) -> FloatArray:
        """The gain of each move of some runs, shape (runs, moves); ``rows`` are all columns of the ``levels``."""

    def moved(self, row: Levels, move: int) -> Levels:
        """The run after a move."""


class AnyCandidate(Struct, frozen=True):
    """A run may become any listed candidate (Fedorov 1972; Cook and Nachtsheim 1980)."""

    levels: Levels
    watched: FloatArray

    def gains(self, about: Information, rows: FloatArray, levels: Levels) -> FloatArray:  # noqa: ARG002  # for every run
        """The gains of all candidates, the same for every run."""
        return about.watched_gains(rows)

    def moved(self, row: Levels, move: int) -> Levels:  # noqa: ARG002  # the same moves for every run
        """The candidate of that number."""
        return np.asarray(self.levels[move])


class AnySetting(Struct, frozen=True):
    """A run may get another setting of one option (coordinate exchange: Meyer and Nachtsheim 1995)."""

    basis: Basis
    watched: None = None

    def gains(self, about: Information, rows: FloatArray, levels: Levels) -> FloatArray:
        """The gains of all runs that differ in one option."""
        return about.shift_gains(rows, self.basis.changes(levels), self._columns(rows))[:, self.basis.columns.places]

    def pending(self, about: Information, rows: FloatArray, levels: Levels) -> PendingExchanges:
        """Exchanges of those runs, each once at most; their gains are to be sorted by ``Columns.places``."""
        return PendingExchanges(about, rows, self.basis.changes(levels), self._columns(rows))

    def _columns(self, rows: FloatArray) -> list[Index]:
        lead = rows.shape[1] - len(self.basis.kept)
        return [shifts.columns + lead for shifts in self.basis.columns.shifts]

    def moved(self, row: Levels, move: int) -> Levels:
        """The run with one option shifted by some settings."""
        options, shifts = self.basis.columns.moves
        other, option = row.copy(), options[move]
        other[option] = (row[option] + shifts[move]) % self.basis.model.sizes[option]
        return other


class ValidSetting(Struct, frozen=True):
    """A run may get another setting of one option where that is valid."""

    basis: Basis
    among: Candidates
    watched: None = None

    def gains(self, about: Information, rows: FloatArray, levels: Levels) -> FloatArray:
        """The gains of all valid runs that differ in one option and its dependants, followed by the run itself."""
        found = self.among.neighbours(levels)
        sizes = np.array([len(neighbours) for neighbours in found])
        first = np.cumsum(sizes) - sizes
        moves = np.arange(sizes.max(initial=0) + 1)
        own = sizes.sum() + np.arange(len(rows))
        places = np.where(moves < sizes[:, None], first[:, None] + moves, own[:, None])
        others = self.basis.matrix(np.concatenate([*found, levels]))[places]
        blocks = rows[:, None, : rows.shape[1] - others.shape[2]]
        return about.gains(rows, np.concatenate([np.repeat(blocks, others.shape[1], axis=1), others], axis=2))

    def moved(self, row: Levels, move: int) -> Levels:
        """The neighbour of that number."""
        [neighbours] = self.among.neighbours(row[None])
        return np.asarray(neighbours[move])


_MOST_PASSES = 60
_LEAST_GAIN = 1e-6
_NUMBERS_AT_ONCE = 2_000_000  # numbers in an array of moves' columns
_ROUNDING = 200  # exchanges after which the inverse is computed again
_LARGE = 3e7  # runs times squared columns from which a search ends at a pass that gains little
_LITTLE = 2e-4  # of the efficiency
_TOGETHER = 32  # exchanges of a large search that change the inverse at once


class Replication(Enum):
    """Whether a configuration may be run more than once."""

    ALLOWED = "allowed"
    NONE = "none"


@dataclass
class _Now:
    """The current runs: their levels and columns, their information, and the count of each configuration."""

    levels: Levels
    rows: FloatArray
    about: Information
    taken: Counter[bytes]

    def put(self, place: int, levels: Levels, row: FloatArray) -> None:
        """Replace the run at that place."""
        self.taken[self.levels[place].tobytes()] -= 1
        self.taken[levels.tobytes()] += 1
        self.levels[place], self.rows[place] = levels, row


class Exchange(Struct, frozen=True):
    """What stays the same during exchanges: the first ``fixed`` runs, and the blocks of all runs.

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
        """The prior precision of each column's coefficient."""
        return np.concatenate([np.full(self.blocks.shape[1], self.basis.prior[0]), self.basis.prior])

    def improve(self, levels: Levels, near: Neighbourhood) -> tuple[Levels, float]:
        """A design that no single exchange improves, and its ``Information.value``.

        Each pass evaluates all runs at once and then exchanges those that can be improved, the most promising first.
        The number of passes is bounded, and in a large design the last one gains less than .02 % of the efficiency.
        """
        now = self._begun(levels.copy(), near)
        little, since = self._little(now), _ROUNDING  # random runs may be all but singular
        for _ in range(_MOST_PASSES):
            promises = self._promises(now, near)
            order = self.fixed + np.argsort(-promises, kind="stable")[: int((promises > self._least(now)).sum())]
            before = now.about.value
            exchanged = self._pass(order, now, near)
            since += exchanged
            if since > _ROUNDING:
                now.about.refresh(now.rows)
                since = 0
            if not exchanged or now.about.value - before < little:
                break
        now.about.refresh_value(now.rows)
        return now.levels, now.about.value

    def _pass(self, order: Index, now: _Now, near: Neighbourhood) -> int:
        """Exchange those runs that can be improved, in that order; the number of exchanges."""
        if not isinstance(near, AnySetting) or not self._exchanges_together(now):
            return sum(self._exchange(int(place), now, near) for place in order)
        starts = range(0, len(order), _TOGETHER)
        return sum(self._exchange_together(order[start : start + _TOGETHER], now, near) for start in starts)

    def _exchanges_together(self, now: _Now) -> bool:
        """Whether exchanges are applied together, which rounds otherwise, so that another design may be found.

        Validations compute their designs, without potential terms, again when they are resumed. Screenings store
        theirs, which have such terms; only earlier versions could be killed before they stored that after a look.
        """
        return self.moments is None and self.basis.primary < len(self.basis.kept) and self._large(now)

    def _large(self, now: _Now) -> bool:
        return bool(len(now.rows) * now.rows.shape[1] ** 2 > _LARGE)

    def _little(self, now: _Now) -> float:
        """The gain of a pass below which a search ends; minus infinity if only a pass without exchanges ends it."""
        ends = self.moments is None and self._large(now)
        return now.rows.shape[1] * math.log1p(_LITTLE) if ends else -math.inf

    def _begun(self, levels: Levels, near: Neighbourhood) -> _Now:
        rows = self.rows(levels)
        about = Information(rows, self.prior, near.watched, self.moments)
        return _Now(levels, rows, about, Counter(row.tobytes() for row in levels))

    def _promises(self, now: _Now, near: Neighbourhood) -> FloatArray:
        """The gain of the best exchange of each free run at present, shape (free runs,)."""
        total = len(now.levels)
        moves = sum(self.basis.model.sizes) * now.rows.shape[1] if near.watched is None else len(near.watched)
        size = max(1, _NUMBERS_AT_ONCE // moves)
        parts = [slice(start, min(start + size, total)) for start in range(self.fixed, total, size)]
        return np.concatenate([self._gains(part, now, near).max(axis=1, initial=0.0) for part in parts])

    def _gains(self, places: slice, now: _Now, near: Neighbourhood) -> FloatArray:
        """The gain of each move of those runs, shape (runs, moves)."""
        return near.gains(now.about, now.rows[places], now.levels[places])

    def _exchange(self, place: int, now: _Now, near: Neighbourhood) -> bool:
        """Exchange one run for its best replacement; whether there was a better one."""
        here = slice(place, place + 1)
        before = now.levels[place].copy()
        move = self._best(self._gains(here, now, near)[0], now, before, near)
        if move is None:
            return False
        after = near.moved(before, move)
        row = self._row(place, after)
        now.about.exchange(now.rows[place], row)
        now.put(place, after, row)
        return True

    def _exchange_together(self, places: Index, now: _Now, near: AnySetting) -> int:
        """Exchange each run for its best replacement where there is a better one; the number of exchanges."""
        pending, made = near.pending(now.about, now.rows[places], now.levels[places]), 0
        for number, place in enumerate(places.tolist()):
            gains = pending.gains(number)[near.basis.columns.places]
            move = self._best(gains, now, now.levels[place], near)
            if move is not None:
                after = near.moved(now.levels[place], move)
                row = self._row(place, after)
                pending.exchange(number, row)
                now.put(place, after, row)
                made += 1
        pending.apply()
        return made

    def _row(self, place: int, levels: Levels) -> FloatArray:
        """All columns of a run at that place."""
        return np.concatenate([self.blocks[place], self.basis.matrix(levels[None])[0]])

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
