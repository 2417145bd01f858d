"""Searches for a design: what a run may be exchanged for, exchanges one at a time, and many starts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from msgspec import Struct
from threadpoolctl import threadpool_limits

from hati.core import FloatArray
from hati.design.optimal.coding import Candidates, Levels, Reach
from hati.design.optimal.information import Basis, Information
from hati.stats import Index


class Neighbourhood(Protocol):
    """What a run may be exchanged for."""

    @property
    def watched(self) -> FloatArray | None:
        """The columns of all moves, where they are the same for every run."""

    def columns(self, rows: Levels) -> FloatArray:
        """The columns of all moves of some runs, shape (runs, moves, columns)."""

    def moved(self, row: Levels, move: int) -> Levels:
        """The run after a move."""


class AnyCandidate(Struct, frozen=True):
    """A run may become any listed candidate (Fedorov 1972; Cook and Nachtsheim 1980)."""

    levels: Levels
    watched: FloatArray

    def columns(self, rows: Levels) -> FloatArray:
        """The columns of the candidates, for each run the same."""
        return np.broadcast_to(self.watched, (len(rows), *self.watched.shape))

    def moved(self, row: Levels, move: int) -> Levels:  # noqa: ARG002  # the same moves for every run
        """The candidate of that number."""
        return np.asarray(self.levels[move])


class AnySetting(Struct, frozen=True):
    """A run may get another setting of one option (coordinate exchange: Meyer and Nachtsheim 1995)."""

    basis: Basis
    watched: None = None

    def columns(self, rows: Levels) -> FloatArray:
        """The columns of all runs that differ in one option."""
        return self.basis.neighbours(rows)

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

    def columns(self, rows: Levels) -> FloatArray:
        """The columns of all valid runs that differ in one option and what depends on it, the run itself after them."""
        found = self.among.neighbours(rows)
        sizes = np.array([len(neighbours) for neighbours in found])
        first = np.cumsum(sizes) - sizes
        moves = np.arange(sizes.max(initial=0) + 1)
        own = sizes.sum() + np.arange(len(rows))
        places = np.where(moves < sizes[:, None], first[:, None] + moves, own[:, None])
        return np.asarray(self.basis.matrix(np.concatenate([*found, rows]))[places])

    def moved(self, row: Levels, move: int) -> Levels:
        """The run of that number among them."""
        [neighbours] = self.among.neighbours(row[None])
        return np.asarray(neighbours[move])


_MOST_PASSES = 60
_LEAST_GAIN = 1e-6
_AT_ONCE = 2_000_000  # numbers in an array of moves' columns
_MOST_KNOWN = 8_000_000
_ROUNDING = 200  # exchanges after which the inverse is computed again


class Replication(Enum):
    """Whether a configuration may be run more than once."""

    ALLOWED = "allowed"
    NONE = "none"


@dataclass
class _Now:
    """The current runs: their levels and columns, their information, and how often each configuration is taken.

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
        """The prior precision of each column's coefficient."""
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


_WATCHED = 3_000_000  # candidates times columns of one start: about 25 MB
_WORK = 1.3e10  # multiplications that all starts may take, more or less
_STARTS = (3, 60)
_SHIFTS = 30  # of given runs
_WORTH = 2  # starts that a shift spares: it takes about as long, and most of what starts find it has found
_RANDOM = 0.1  # of the starts
_RENEWED = (0.08, 5)  # of the runs of the other starts, and the largest number


def best(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator, starts: int | None
) -> tuple[Levels, float]:
    """The best of several searches: some from random runs, then the others from the best with a few runs renewed."""
    with threadpool_limits(1, user_api="blas"):  # many products of small matrices: threads would only wait
        return _best(search, among, runs, fixed, rng, starts)


def _best(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator, starts: int | None
) -> tuple[Levels, float]:
    chosen, value = _shifted(search, among, runs, fixed, rng)
    if starts is None:
        starts = max(_starts(search, among, runs) - (_WORTH * _SHIFTS if np.isfinite(value) else 0), _STARTS[0])
    for number in range(starts):
        levels = _start(search, among, runs, fixed, rng)
        if number >= max(1.0, _RANDOM * starts):
            places = len(fixed) + rng.choice(runs, _renewals(runs), replace=False)
            levels = _renewed(chosen, levels, places, search.replication)
        near = _near(search.basis, among, rng)
        levels, found = search.improve(levels, near)
        if among.reach is Reach.SAMPLED:
            levels, found = search.improve(levels, ValidSetting(search.basis, among))
        if found >= value:
            chosen, value = levels, found
    return chosen, value


def _shifted(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator
) -> tuple[Levels, float]:
    """Given runs with the settings of some options shifted, as in a foldover, as many of them as are to be added.

    Where the given runs are a fraction this keeps its structure, which exchanges of single settings seldom find.
    """
    chosen, value = fixed, -np.inf
    room = runs <= len(fixed) and len(fixed) * len(search.basis.kept) <= _WATCHED
    if not room or among.reach is not Reach.FREE or search.replication is not Replication.ALLOWED:
        return chosen, value
    for _ in range(_SHIFTS):
        pool = ((fixed + rng.integers(0, among.sizes)) % among.sizes).astype(np.int16)
        start = np.vstack([fixed, pool[rng.choice(len(pool), runs, replace=False)]])
        levels, found = search.improve(start, AnyCandidate(pool, search.basis.matrix(pool)))
        if found > value:
            chosen, value = levels, found
    return search.improve(chosen, AnySetting(search.basis))


def _renewals(runs: int) -> int:
    share, most = _RENEWED
    return min(max(2, int(share * runs)), most, runs)


def _renewed(best: Levels, others: Levels, places: Index, replication: Replication) -> Levels:
    """The best runs with those at some places taken from others, as far as replication is allowed."""
    renewed = best.copy()
    renewed[places] = others[places]
    distinct = len(np.unique(renewed, axis=0)) == len(renewed)
    return renewed if replication is Replication.ALLOWED or distinct else best


def _start(search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator) -> Levels:
    if search.replication is Replication.ALLOWED:
        return np.vstack([fixed, among.draw(runs, rng)])
    found = np.unique(among.draw(4 * runs, rng), axis=0)
    while len(found) < runs:
        found = np.unique(np.vstack([found, among.draw(4 * runs, rng)]), axis=0)
    return np.vstack([fixed, rng.permutation(found)[:runs]])


def _near(chosen: Basis, among: Candidates, rng: np.random.Generator) -> Neighbourhood:
    if among.reach is Reach.FREE:
        return AnySetting(chosen)
    most = max(_WATCHED // len(chosen.kept), 1)
    if len(among.levels) <= most:
        return AnyCandidate(among.levels, chosen.matrix(among.levels))
    some = among.levels[np.sort(rng.choice(len(among.levels), most, replace=False))]
    return AnyCandidate(some, chosen.matrix(some))


def _starts(search: Exchange, among: Candidates, runs: int) -> int:
    columns = len(search.basis.kept)
    if among.reach is Reach.FREE:
        visit = 2 * columns**2 * (sum(among.sizes) - len(among.sizes) + 2)
    else:
        visit = 4 * min(_WATCHED, columns * len(among.levels)) + 4 * columns**2
    fewest, most = _STARTS
    return int(min(max(_WORK / (8 * runs * visit), fewest), most))
