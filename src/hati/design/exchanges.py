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
from hati.design.information import Basis, Information, changed_forms, downdate
from hati.design.setting_exchanges import PendingExchanges
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
        return about.shift_gains(rows, self.basis.changes(levels), self.changed(rows))[:, self.basis.columns.places]

    def changed(self, rows: FloatArray) -> list[Index]:
        """The positions among all columns of those that each group of options changes."""
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
_MANY = 5e5  # the same product from which exchanges change the inverse together
_TOGETHER = 32  # exchanges that change the inverse at once


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
        passes = self._passes(now, near)
        little, since = self._little(now), _ROUNDING  # random runs may be all but singular
        for _ in range(_MOST_PASSES):
            promises = self._promises(passes)
            order = self.fixed + np.argsort(-promises, kind="stable")[: int((promises > self._least(now)).sum())]
            before = now.about.value
            exchanged = passes.exchange(order)
            since += exchanged
            if since > _ROUNDING:
                passes.refresh()
                since = 0
            if not exchanged or now.about.value - before < little:
                break
        now.about.refresh_value(now.rows)
        return now.levels, now.about.value

    @staticmethod
    def _work(now: _Now) -> int:
        return len(now.rows) * int(now.rows.shape[1]) ** 2

    def _little(self, now: _Now) -> float:
        """The gain of a pass below which a search ends; minus infinity if only a pass without exchanges ends it."""
        ends = self.moments is None and self._work(now) > _LARGE
        return now.rows.shape[1] * math.log1p(_LITTLE) if ends else -math.inf

    def _begun(self, levels: Levels, near: Neighbourhood) -> _Now:
        rows = self.rows(levels)
        about = Information(rows, self.prior, near.watched, self.moments)
        return _Now(levels, rows, about, Counter(row.tobytes() for row in levels))

    def _passes(self, now: _Now, near: Neighbourhood) -> _Passes:
        """How a pass exchanges runs: together only where the determinant of a model with potential terms is sought.

        That rounds otherwise, so that another design may be found. Validations compute their designs, which have no
        potential terms, again when they are resumed; screenings store theirs.
        """
        together = self.moments is None and self.basis.primary < len(self.basis.kept) and self._work(now) > _MANY
        return _Together(self, now, near) if together and isinstance(near, AnySetting) else _OneByOne(self, now, near)

    def _promises(self, passes: _Passes) -> FloatArray:
        """The gain of the best exchange of each free run at present, shape (free runs,)."""
        total, size = len(passes.now.levels), max(1, _NUMBERS_AT_ONCE // passes.numbers)
        parts = [slice(start, min(start + size, total)) for start in range(self.fixed, total, size)]
        return np.concatenate([passes.gains(part).max(axis=1, initial=0.0) for part in parts])

    def row(self, place: int, levels: Levels) -> FloatArray:
        """All columns of a run at that place."""
        return np.concatenate([self.blocks[place], self.basis.matrix(levels[None])[0]])

    def best(self, gains: FloatArray, now: _Now, row: Levels, near: Neighbourhood) -> int | None:
        """The move of a run with the largest gain, if that is large enough; to a new run if replication is banned."""
        least, move = self._least(now), int(np.argmax(gains))
        if gains[move] <= least:
            return None
        if self._allowed(move, now, row, near):
            return move
        order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > least)].tolist()
        return next((move for move in order if self._allowed(move, now, row, near)), None)

    def _allowed(self, move: int, now: _Now, row: Levels, near: Neighbourhood) -> bool:
        return self.replication is Replication.ALLOWED or not now.taken[near.moved(row, move).tobytes()]

    def _least(self, now: _Now) -> float:
        return _LEAST_GAIN * (1.0 if self.moments is None else now.about.average_variance)


class _Passes(Protocol):
    """How the passes of a search evaluate and exchange its runs."""

    now: _Now

    @property
    def numbers(self) -> int:
        """The size of what a run's gains are computed from."""

    def gains(self, places: slice) -> FloatArray:
        """The gain of each move of those runs, shape (runs, moves)."""

    def exchange(self, order: Index) -> int:
        """Exchange those runs that can be improved, in that order; the number of exchanges."""

    def refresh(self) -> None:
        """Compute what exchanges update again."""


@dataclass
class _OneByOne:
    """Passes in which each exchange changes the inverse."""

    search: Exchange
    now: _Now
    near: Neighbourhood

    @property
    def numbers(self) -> int:
        """The columns of all moves."""
        watched, sizes = self.near.watched, self.search.basis.model.sizes
        return sum(sizes) * self.now.rows.shape[1] if watched is None else len(watched)

    def gains(self, places: slice) -> FloatArray:
        """The gain of each move of those runs."""
        return self.near.gains(self.now.about, self.now.rows[places], self.now.levels[places])

    def exchange(self, order: Index) -> int:
        """Exchange each run for its best replacement where there is a better one."""
        return sum(self._exchange(int(place)) for place in order)

    def refresh(self) -> None:
        """Compute the information again."""
        self.now.about.refresh(self.now.rows)

    def _exchange(self, place: int) -> bool:
        before = self.now.levels[place].copy()
        move = self.search.best(self.gains(slice(place, place + 1))[0], self.now, before, self.near)
        if move is None:
            return False
        after = self.near.moved(before, move)
        row = self.search.row(place, after)
        self.now.about.exchange(self.now.rows[place], row)
        self.now.put(place, after, row)
        return True


@dataclass
class _Together:
    """Passes in which the exchanges of some runs change the inverse, and the rows' products with it, together."""

    search: Exchange
    now: _Now
    near: AnySetting

    def __post_init__(self) -> None:
        self._products = self.now.rows @ self.now.about.inverse
        self._columns = self.near.changed(self.now.rows)

    @property
    def numbers(self) -> int:
        """The columns that are changed by all moves."""
        return sum(each.jumps[:, 0].size for each in self.near.basis.columns.shifts)

    def gains(self, places: slice) -> FloatArray:
        """The gain of each move of those runs."""
        now = self.now
        changes = self.near.basis.changes(now.levels[places])
        forms = changed_forms(now.rows[places], self._products[places], changes, self._columns, now.about.inverse)
        return (forms.growth - 1.0)[:, self.near.basis.columns.places]

    def exchange(self, order: Index) -> int:
        """Exchange each run for its best replacement where there is a better one."""
        starts = range(0, len(order), _TOGETHER)
        return sum(self._exchange(order[start : start + _TOGETHER]) for start in starts)

    def refresh(self) -> None:
        """Compute the information and the products again."""
        self.now.about.refresh(self.now.rows)
        self._products = self.now.rows @ self.now.about.inverse

    def _exchange(self, places: Index) -> int:
        now, near, made = self.now, self.near, list[int]()
        changes = near.basis.changes(now.levels[places])
        pending = PendingExchanges(now.about, now.rows[places], self._products[places], changes, self._columns)
        for number, place in enumerate(places.tolist()):
            gains = pending.gains(number)[near.basis.columns.places]
            move = self.search.best(gains, now, now.levels[place], near)
            if move is not None:
                after = near.moved(now.levels[place], move)
                row = self.search.row(place, after)
                pending.exchange(number, row)
                now.put(place, after, row)
                made.append(place)
        solved, weighted = pending.apply()
        downdate(self._products.T, weighted, solved @ now.rows.T)
        self._products[made] = now.rows[made] @ now.about.inverse
        return len(made)
