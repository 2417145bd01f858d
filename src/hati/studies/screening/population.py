"""The configurations over which means are taken: all valid ones, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import permutations, product
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, generator, replace
from hati.design import INACTIVE, Levels, Model, candidates
from hati.design.coding import Candidates
from hati.design.information import Identified
from hati.space.constraint import mentioned
from hati.stats import Term

if TYPE_CHECKING:
    from hati.space import Space

Cell = Mapping[int, int]
"""Settings of some options, both by position."""
Means = dict[Term, FloatArray]
"""The mean of each term's columns over some configurations; terms of mean zero may be left out."""
ANYWHERE: Cell = MappingProxyType({})
"""The settings of no option: all configurations have them."""


class SettingChange(NamedTuple):
    """The mean columns ``before`` a change of an option, and the mean ``difference`` that it makes."""

    before: Means
    difference: Means


class _Moves(NamedTuple):
    """Configurations with other settings of some options, for each combination of these.

    ``valid`` says which of them are valid, ``same`` holds the terms' columns that no move changes, ``columns`` those of
    the other terms.
    """

    valid: Sequence[NDArray[np.bool_]]
    same: Mapping[Term, FloatArray]
    columns: Sequence[Mapping[Term, FloatArray]]

    def means(self, places: Sequence[int]) -> tuple[Means, ...]:
        """The mean columns at some combinations, over the configurations valid with all; empty if there is none."""
        every = np.all([self.valid[place] for place in places], axis=0)
        if not every.any():
            return ()
        shares = every / every.sum()
        same = {term: shares @ own for term, own in self.same.items()}
        return tuple(same | {term: shares @ own for term, own in self.columns[place].items()} for place in places)


class ValidPopulation(Struct, frozen=True, eq=False, dict=True):
    """The valid configurations of options with ``sizes`` settings, each as frequent as the others.

    ``levels`` holds the options that constraints or conditions tie together, one row for each valid combination, or a
    uniform sample of these. The other options are ``INACTIVE`` in all rows: each setting is as frequent as the others,
    whatever the rest of the configuration; ``among`` are the candidates of the tied ones. Columns that a space cannot
    distinguish from those ``known`` are zero, as in fits by these.
    """

    sizes: Sequence[int]
    levels: Levels
    known: Identified | None = None
    among: Candidates | None = None

    @classmethod
    def unconstrained(cls, sizes: Sequence[int]) -> ValidPopulation:
        """All combinations of the settings."""
        return cls(sizes, np.full((1, len(sizes)), INACTIVE, dtype=np.int16))

    @classmethod
    def of(cls, space: Space, seed: int) -> ValidPopulation:
        """The valid configurations of a space.

        Raises:
            InputError: where there is none, or the constraints are too entangled.
        """
        conditions = [option.active_if for option in space.options if option.active_if is not None]
        tied = {name for formula in (*space.constraints, *conditions) for name in mentioned(formula)}
        tied |= {option.name for option in space.options if option.active_if is not None}
        found = cls.unconstrained([len(option.settings) for option in space.options])
        places = [place for place, name in enumerate(space.names) if name in tied]
        if not places:
            return found
        rng = generator(seed, "means")
        among = candidates(replace(space, options=tuple(space.options[place] for place in places)), rng)
        rows = np.repeat(found.levels, len(among.levels), axis=0)
        rows[:, places] = among.levels
        return cls(found.sizes, rows, among=among)

    def changes(
        self, terms: Iterable[Term], option: int, at: Cell = ANYWHERE
    ) -> Mapping[tuple[int, int], SettingChange]:
        """The mean change from each setting of an option to each other one, by both.

        It is over the valid configurations with the settings ``at``, each counted once, that are valid with both
        settings of the option; pairs of settings without such a configuration are left out. Options that become active
        count as the mean over their settings.
        """
        key = tuple(terms), option, tuple(sorted(at.items()))
        if key not in self._known_changes:
            self._known_changes[key] = self._changes(key[0], option, at)
        return self._known_changes[key]

    @cached_property
    def _known_changes(
        self,
    ) -> dict[tuple[tuple[Term, ...], int, tuple[tuple[int, int], ...]], dict[tuple[int, int], SettingChange]]:
        return {}

    def _changes(self, terms: Sequence[Term], option: int, at: Cell) -> dict[tuple[int, int], SettingChange]:
        moves = self._moves(terms, (option,), at)
        found = dict[tuple[int, int], SettingChange]()
        for pair in permutations(range(self.sizes[option]), 2):
            if both := moves.means(pair):
                before, after = both
                difference = {term: own - before[term] for term, own in after.items() if term in moves.columns[0]}
                found[pair] = SettingChange(before, difference)
        return found

    def combinations(self, terms: Iterable[Term], options: Term) -> tuple[Means, ...]:
        """The mean columns at each combination of the options' settings, in the order of their product.

        They are over the same configurations: those that are valid with all of these combinations. Empty if there is
        none.
        """
        key = tuple(terms), options
        if key not in self._known_combinations:
            places = range(prod(self.sizes[option] for option in options))
            self._known_combinations[key] = self._moves(key[0], options, ANYWHERE).means(places)
        return self._known_combinations[key]

    @cached_property
    def _known_combinations(self) -> dict[tuple[tuple[Term, ...], Term], tuple[Means, ...]]:
        return {}

    def _moves(self, terms: Sequence[Term], options: Term, at: Cell) -> _Moves:
        """The configurations with the settings ``at``, with each combination of the options' settings."""
        zero, having = self._free - {*options, *at}, self._have(at)
        asked = [term for term in terms if not zero & {*term} and max(term) < len(self.sizes)]
        rows = self.levels[having]
        for other in self._free & at.keys():
            rows[:, other] = at[other]
        cells = product(*(range(self.sizes[option]) for option in options))
        moved = [self._moved(rows, dict(zip(options, cell, strict=True)), at) for cell in cells]
        follow = {*options, *np.flatnonzero(np.any([own != rows for own, _ in moved], axis=(0, 1))).tolist()}
        same = [term for term in asked if not (follow | (self._free & at.keys())) & {*term}]
        return _Moves(
            [valid for _, valid in moved],
            {term: own[having] for term, own in self._tied(same).items()},
            [dict(self._columns([term for term in asked if term not in same], own)) for own, _ in moved],
        )

    def _moved(self, rows: Levels, cell: Cell, at: Cell) -> tuple[Levels, NDArray[np.bool_]]:
        """The rows with other settings, and whether each had these options and is valid with the settings ``at``."""
        found, options = rows.copy(), list(cell)
        found[:, options] = list(cell.values())
        own = [option for option in options if option not in self._free]
        if not own or self.among is None:
            return found, np.ones(len(rows), dtype=np.bool_)
        tied = [place for place in range(len(self.sizes)) if place not in self._free]
        moved, valid = self.among.moved(found[:, tied], [tied.index(option) for option in own])
        kept = [option for option in at if option not in self._free]
        valid &= np.all(moved[:, [tied.index(option) for option in kept]] == [at[option] for option in kept], axis=1)
        found[:, tied] = np.where(rows[:, tied] == INACTIVE, INACTIVE, moved)
        found[:, options] = list(cell.values())
        return found, valid & np.all(rows[:, own] != INACTIVE, axis=1)

    def means(self, terms: Iterable[Term], cell: Cell) -> Means:
        """The means of the terms' columns over the configurations with those settings; terms of mean zero are left out.

        If there is no such configuration, the other options' columns are zero. So are those of options that follow all
        others, which are effects of earlier runs.
        """
        key = tuple(terms), tuple(sorted(cell.items()))
        if key not in self._known_means:
            self._known_means[key] = self._means(key[0], cell)
        return self._known_means[key]

    @cached_property
    def _known_means(self) -> dict[tuple[tuple[Term, ...], tuple[tuple[int, int], ...]], dict[Term, FloatArray]]:
        return {}

    def _means(self, terms: Sequence[Term], cell: Cell) -> dict[Term, FloatArray]:
        zero, free = self._free - cell.keys(), self._free & cell.keys()
        having = self._have(cell)
        asked = [term for term in terms if not zero & {*term} and max(term) < len(self.sizes)]
        tied = [term for term in asked if having.any() and not free & {*term}]
        rows = self.levels[having] if having.any() else np.full((1, len(self.sizes)), INACTIVE, dtype=np.int16)
        rows = rows.copy()
        for option, setting in cell.items():
            rows[:, option] = setting
        shares = having / max(having.sum(), 1)
        found = {term: shares @ own for term, own in self._tied(tied).items()}
        found |= {term: own.mean(axis=0) for term, own in self._columns([t for t in asked if t not in found], rows)}
        return {term: found[term] for term in asked}

    def _tied(self, terms: Sequence[Term]) -> dict[Term, FloatArray]:
        """The columns of terms over all rows, kept for the next cell."""
        self._kept.update(self._columns([term for term in terms if term not in self._kept], self.levels))
        return {term: self._kept[term] for term in terms}

    @cached_property
    def _kept(self) -> dict[Term, FloatArray]:
        return {}

    def _have(self, cell: Cell) -> NDArray[np.bool_]:
        own = {option: setting for option, setting in cell.items() if option not in self._free}
        return np.asarray((self.levels[:, list(own)] == np.array([*own.values()], dtype=np.int16)).all(axis=1))

    @cached_property
    def _free(self) -> frozenset[int]:
        """The options that no constraint or condition ties to others."""
        return frozenset(np.flatnonzero((self.levels == INACTIVE).all(axis=0)).tolist())

    def _columns(self, terms: Sequence[Term], rows: Levels) -> Iterable[tuple[Term, FloatArray]]:
        found = Model(tuple(self.sizes), tuple(terms)).columns(rows)
        return (self.known.restricted(found) if self.known else found).items()
