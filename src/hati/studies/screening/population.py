"""The configurations over which means are taken: all valid ones, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, generator, replace
from hati.design import INACTIVE, Levels, Model, candidates
from hati.design.information import Identified
from hati.space.constraint import mentioned
from hati.stats import Term

if TYPE_CHECKING:
    from hati.space import Space

Cell = Mapping[int, int]
"""Settings of some options, both by position."""


class ValidPopulation(Struct, frozen=True, eq=False, dict=True):
    """The valid configurations of options with ``sizes`` settings, each as frequent as the others.

    ``levels`` holds the options that constraints or conditions tie together, one row for each valid combination, or a
    uniform sample of these. The other options are ``INACTIVE`` in all rows: each setting is as frequent as the others,
    whatever the rest of the configuration. Columns that a space cannot distinguish from those ``known`` are zero, as in
    fits by these.
    """

    sizes: Sequence[int]
    levels: Levels
    known: Identified | None = None

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
        return cls(found.sizes, rows)

    def means(self, terms: Iterable[Term], cell: Cell) -> dict[Term, FloatArray]:
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
