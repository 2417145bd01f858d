"""Covering arrays of a space: every valid combination of settings of a few options occurs in a row.

Where the configurations can be listed, a greedy set cover is improved by iterated greedy. Spaces that are too large
to list are covered row by row, as in AETG.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.coding import INACTIVE, Levels
from hati.space.arrays import OPEN, Completion

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Space


MOST_COMBINATIONS = 20_000_000

Flags = NDArray[np.bool_]
"""Shape (combinations,)."""

Numbers = NDArray[np.int64]

_PROBES = 2000
_CHUNK = 1 << 16


class Combinations(Struct, frozen=True, dict=True):
    """All combinations of the settings of ``strength`` options, numbered group of options after group.

    ``sizes`` is the number of codes of each option: its settings, and one more where it may be inactive.

    Raises:
        InputError: for more than ``MOST_COMBINATIONS``.
    """

    sizes: tuple[int, ...]
    strength: int

    def __post_init__(self) -> None:
        if self.total > MOST_COMBINATIONS:
            raise InputError(
                f"there are {self.total:,} combinations of the settings of {self.strength} options, "
                f"more than {MOST_COMBINATIONS:,}",
                fix="lower the strength, or fix some options by a template",
            )

    @cached_property
    def total(self) -> int:
        """The number of combinations, valid or not: the elementary symmetric polynomial of the sizes."""
        sums = [1, *[0] * self.strength]
        for size in self.sizes:
            sums = [1, *(here + size * before for before, here in itertools.pairwise(sums))]
        return sums[-1]

    @classmethod
    def of(cls, space: Space, strength: int) -> Combinations:
        """The combinations of a space's options; of all options where there are fewer than the strength."""
        sizes = tuple(len(option.settings) + (option.active_if is not None) for option in space.options)
        return cls(sizes, min(strength, len(sizes)))

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The options that are combined, shape (groups, strength)."""
        return np.array(list(itertools.combinations(range(len(self.sizes)), self.strength)), dtype=np.intp).reshape(
            -1, self.strength
        )

    @cached_property
    def strides(self) -> Numbers:
        """The weight of each option's code in the number of a combination, shape (groups, strength)."""
        widths = np.array(self.sizes, dtype=np.int64)[self.groups]
        return np.hstack([np.cumprod(widths[:, :0:-1], axis=1)[:, ::-1], np.ones((len(widths), 1), dtype=np.int64)])

    @cached_property
    def offsets(self) -> Numbers:
        """The number of the first combination of each group, shape (groups + 1,): the last is the total."""
        widths = np.array(self.sizes, dtype=np.int64)[self.groups].prod(axis=1)
        return np.concatenate([[0], np.cumsum(widths)])

    def codes(self, rows: Levels) -> NDArray[np.int64]:
        """The positions of settings, with the last code for an inactive option, shape (rows, options)."""
        return np.where(rows == INACTIVE, np.array(self.sizes) - 1, rows).astype(np.int64)

    def of_rows(self, rows: Levels) -> Numbers:
        """The numbers of the combinations that each row has, shape (rows, groups)."""
        codes = self.codes(rows)
        found = np.tile(self.offsets[:-1], (len(rows), 1))
        for place in range(self.strength):
            found += codes[:, self.groups[:, place]] * self.strides[:, place]
        return found

    def covered(self, rows: Levels) -> Flags:
        """Which combinations occur in some row."""
        found = np.zeros(self.total, dtype=np.bool_)
        for at in range(0, len(rows), _CHUNK):
            found[self.of_rows(rows[at : at + _CHUNK])] = True
        return found

    def parts(self, numbers: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """The options and the codes of combinations, each of shape (combinations, strength)."""
        group = np.searchsorted(self.offsets, numbers, side="right") - 1
        within = (numbers - self.offsets[group])[:, None] // self.strides[group]
        options = self.groups[group]
        return options, within % np.array(self.sizes, dtype=np.int64)[options]

    def partial(self, numbers: Numbers, conditional: Flags) -> Levels:
        """Partial configurations with these combinations and nothing else, shape (combinations, options)."""
        from hati.space.arrays import OPEN

        options, codes = self.parts(numbers)
        last = codes == np.array(self.sizes)[options] - 1
        rows = np.full((len(numbers), len(self.sizes)), OPEN, dtype=np.int16)
        np.put_along_axis(rows, options, np.where(last & conditional[options], INACTIVE, codes).astype(np.int16), 1)
        return rows


def conditional(space: Space) -> Flags:
    """Which options may be inactive, shape (options,)."""
    return np.array([option.active_if is not None for option in space.options], dtype=np.bool_)


def valid_combinations(space: Space, found: Combinations, rng: Generator) -> Flags:
    """The combinations that some valid configuration has, exactly.

    Combinations of random configurations are valid; each of the others is looked up in the space's decision diagrams.

    Raises:
        InputError: where there is no valid configuration, or the constraints are too entangled.
    """
    from hati.space.arrays import Completion, drawn_positions

    valid = found.covered(drawn_positions(space, _PROBES, rng))
    completion, may = Completion(space), conditional(space)
    unknown = np.flatnonzero(~valid)
    for at in range(0, len(unknown), _CHUNK):
        part = unknown[at : at + _CHUNK]
        valid[part] = completion.possible(found.partial(part, may))
    return valid


_EFFORT = 30_000
"""The approximate number of rows that all rounds choose together."""

_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 200
_REMOVED = 0.2

_Index = NDArray[np.intp]


def listed_cover(candidates: Levels, found: Combinations, wanted: Flags, rng: Generator) -> Levels:
    """Candidates that cover all wanted combinations, in the order of a greedy search.

    Each wanted combination must occur in some candidate. Each step takes the candidate with the most missing
    combinations, ties at random (Johnson, 1974). Then rounds of iterated greedy (Jacobs and Brusco, 1995; Ruiz and
    Stuetzle, 2007) remove some rows at random, complete the rest greedily, and keep the result if it is no larger. The
    search ends where no fewer rows are possible, or after a number of rounds.

    Args:
        candidates: shape (candidates, options).
        found: the combinations.
        wanted: those to cover, shape (combinations,).
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
    """A lower bound for the number of rows: each row has one combination of every group."""
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
        """The kept candidates and further ones, until nothing is missing."""
        missing = self.wanted.copy()
        missing[self.having[kept]] = False
        return np.concatenate([kept, self._greedy(missing, None)])

    def ordered(self, chosen: _Index) -> _Index:
        """The chosen candidates in greedy order: each adds the most combinations to those before it."""
        return self._greedy(self.wanted.copy(), chosen)

    def without_redundant(self, chosen: _Index, rng: Generator) -> _Index:
        """The chosen candidates without redundant ones, which are tried in random order."""
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
        """Take candidates greedily until none adds anything; ``missing`` is changed in place."""
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


CANDIDATES = 30
_LOOKUPS = 2_000_000
"""The largest number of lookups of combinations in one step of all candidates; it limits their number."""

_SWEEPS = 3


def sequential_cover(
    completion: Completion, conditional: Flags, found: Combinations, wanted: Flags, rng: Generator
) -> Levels:
    """Rows that cover all wanted combinations, each of which some valid configuration has.

    Each row is the best of several candidates. A candidate starts from a missing combination, and all of them take
    their options in one random order. An option takes the setting that completes the most missing combinations and
    leaves a valid configuration possible: Cohen, Dalal, Fredman and Patton (1997), The AETG system, IEEE Transactions
    on Software Engineering 23, 437-444, with the exact check of constraints of Cohen, Dwyer and Shi (2008). The best
    candidate is improved by exchanges of single settings.

    Args:
        completion: which partial configurations are possible.
        conditional: the options that may be inactive, shape (options,).
        found: the combinations.
        wanted: those to cover, shape (combinations,).
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
        """A valid row with at least one missing combination; its combinations are no longer missing afterwards."""
        places = np.flatnonzero(self.missing)
        rows = self.found.partial(rng.choice(places, self.number), self.conditional)
        for option in rng.permutation(len(self.found.sizes)).tolist():
            self._step(rows, option, rng)
        gains = self.missing[self.found.of_rows(rows)].sum(axis=1)
        row = self._exchanged(rows[int(np.argmax(gains))], rng)
        self.missing[self.found.of_rows(row[None])] = False
        return row

    def _step(self, rows: Levels, option: int, rng: Generator) -> None:
        """Give a setting of an option to each row that has none."""
        places = np.flatnonzero(rows[:, option] == OPEN)
        gains = self._gains(rows[places], option) + rng.random((len(places), len(self.settings[option])))
        rows[places, option] = self.settings[option][np.argmax(gains, axis=1)]

    def _gains(self, rows: Levels, option: int) -> NDArray[np.float64]:
        """The number of missing combinations that each setting of an option completes, shape (rows, settings).

        -1 for a setting that leaves no valid configuration.
        """
        settings = self.settings[option]
        tried = np.repeat(rows, len(settings), axis=0)
        tried[:, option] = np.tile(settings, len(rows))
        possible = self.completion.remains_possible(tried, option)
        numbers, known = self._others(rows, option)
        own = np.arange(len(settings))[:, None] * self._own_strides[option]
        gained = np.count_nonzero(self.missing[numbers[:, None] + own] & known[:, None], axis=2).astype(np.float64)
        return np.where(possible.reshape(gained.shape), gained, -1.0)

    def _others(self, rows: Levels, option: int) -> tuple[Numbers, Flags]:
        """The numbers of the combinations that each row's first setting of an option completes, and if the rest is set.

        Both have the shape (rows, groups of the option).
        """
        groups = self.groups_of[option]
        members, strides = self.found.groups[groups], self.found.strides[groups]
        numbers: Numbers = np.tile(self.found.offsets[groups], (len(rows), 1))
        known = np.ones(numbers.shape, dtype=np.bool_)
        codes = self.found.codes(rows)
        codes[:, option] = 0
        for place in range(self.found.strength):
            own = codes[:, members[:, place]]
            known &= own >= 0
            numbers += np.maximum(own, 0) * strides[:, place]
        return numbers, known

    @cached_property
    def _own_strides(self) -> tuple[Numbers, ...]:
        """The weight of each option's code in the numbers of its groups' combinations."""
        found = self.found
        return tuple(
            found.strides[groups][found.groups[groups] == option] for option, groups in enumerate(self.groups_of)
        )

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


STRENGTHS = (2, 3, 4)
LISTED = 20_000
_MOST_LOOKUPS = 20_000_000


class CombinationCoverage(Struct, frozen=True):
    """The numbers of valid combinations of the settings of ``strength`` options, and of those that rows cover."""

    strength: int
    valid: int
    invalid: int
    covered: int

    @property
    def complete(self) -> bool:
        """Whether all valid combinations are covered."""
        return self.covered == self.valid


class CoveringArray(Struct, frozen=True, dict=True):
    """Configurations in which every valid combination of the settings of ``strength`` options occurs.

    ``levels`` has shape (runs, options). The first ``fixed`` runs were given. ``valid`` flags the combinations that
    some valid configuration has. Where an option may be inactive, that counts as one more setting.
    """

    space: Space
    combinations: Combinations
    levels: Levels
    fixed: int
    valid: Flags

    @property
    def runs(self) -> int:
        """The number of rows, given ones included."""
        return len(self.levels)

    @property
    def strength(self) -> int:
        """The number of options whose combinations are covered."""
        return self.combinations.strength

    @cached_property
    def coverage(self) -> CombinationCoverage:
        """The coverage of all rows, counted from them."""
        return self._coverage(self.levels)

    @cached_property
    def given(self) -> CombinationCoverage:
        """The coverage of the given rows."""
        return self._coverage(self.levels[: self.fixed])

    def _coverage(self, rows: Levels) -> CombinationCoverage:
        valid = int(self.valid.sum())
        covered = int((self.combinations.covered(rows) & self.valid).sum())
        return CombinationCoverage(self.strength, valid, self.combinations.total - valid, covered)

    @cached_property
    def fractions(self) -> tuple[float, ...]:
        """The fraction of the valid combinations that is covered after each run."""
        numbers = self.combinations.of_rows(self.levels)
        first = np.unique(numbers, return_index=True)[1] // max(1, numbers.shape[1])
        new = np.bincount(first, minlength=self.runs)
        return tuple((np.cumsum(new) / self.coverage.valid).tolist())


def covering_array(space: Space, strength: int, rng: Generator, *, fixed: Levels | None = None) -> CoveringArray:
    """A covering array of a space under its constraints; rows that cover the most come first.

    By a greedy search over all valid configurations, up to 20,000; by AETG's search beyond.

    Args:
        space: the options and constraints.
        strength: 2, 3 or 4; where the space has fewer options, all of them are combined.
        rng: the same generator gives the same array.
        fixed: existing rows, shape (rows, options): only the combinations that they lack are covered.

    Raises:
        InputError: for another strength, a space without options or valid configurations, too many combinations, or
            constraints that are too entangled.
    """
    if strength not in STRENGTHS:
        raise InputError(f"a covering array of strength {strength} is not offered", fix="choose 2, 3 or 4")
    if not space.options:
        raise InputError("the space has no options", fix="list some under [options]")
    found = Combinations.of(space, strength)
    given = np.empty((0, len(space.options)), dtype=np.int16) if fixed is None else fixed
    everything = _listed(space, found)
    valid = valid_combinations(space, found, rng) if everything is None else found.covered(everything)
    wanted = valid & ~found.covered(given)
    if everything is None:
        from hati.space.arrays import Completion

        added = sequential_cover(Completion(space), conditional(space), found, wanted, rng)
    else:
        added = listed_cover(everything, found, wanted, rng)
    return CoveringArray(space, found, np.vstack([given, added]), len(given), valid)


def coverage(space: Space, strength: int, rows: Levels, rng: Generator) -> CombinationCoverage:
    """The coverage of the valid combinations of the settings of ``strength`` options by some rows.

    Raises:
        InputError: as ``covering_array``.
    """
    found = Combinations.of(space, strength)
    return CoveringArray(space, found, rows, len(rows), valid_combinations(space, found, rng)).coverage


def _listed(space: Space, found: Combinations) -> Levels | None:
    """All valid configurations, if these are few enough."""
    from hati.space import count
    from hati.space.arrays import every_position

    total = count(space)
    if not total:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    if total > LISTED or total * len(found.groups) > _MOST_LOOKUPS:
        return None
    return every_position(space)
