"""Which columns of a model a space can tell apart at all, whatever is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.basis import basis, independent
from hati.design.candidates import Candidates
from hati.design.coding import Levels, Model
from hati.stats import Index, Term


class Identified(Struct, frozen=True, eq=False, dict=True):
    """A model and its columns that are no combination of those before them over all valid configurations.

    ``model`` has the terms of the lowest order first; ``kept`` are the positions of those columns, the intercept's
    included. Nested options and constraints leave out the others, and no run can change that.
    """

    model: Model
    kept: Index

    @cached_property
    def _there(self) -> tuple[Index, Index]:
        owners = self.model.owners[self.kept]
        count = len(self.model.terms)
        every = np.bincount(self.model.owners[1:], minlength=count)
        return every, np.bincount(owners[owners >= 0], minlength=count)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Those with a column at least."""
        return self._where(self._there[1] > 0)

    @property
    def reduced(self) -> tuple[Term, ...]:
        """Those with some of their columns, but not all."""
        every, there = self._there
        return self._where((there > 0) & (there < every))

    @property
    def dropped(self) -> tuple[Term, ...]:
        """Those with none."""
        return self._where(self._there[1] == 0)

    def columns(self, levels: Levels) -> dict[Term, FloatArray]:
        """Each term's columns for those runs; those that are not kept are zero."""
        matrix = self.model.matrix(levels)
        lost = np.setdiff1d(np.arange(matrix.shape[1]), self.kept)
        matrix[:, lost] = 0.0
        return {
            term: matrix[:, self.model.owners == place]
            for place, term in enumerate(self.model.terms)
            if self._there[1][place]
        }

    def runs_needed(self, levels: Levels) -> int:
        """The fewest runs to be added so that all kept columns can be estimated: each adds one to the rank at most."""
        columns = self.model.matrix(levels)[:, self.kept]
        return len(self.kept) - len(independent(columns.T @ columns / len(columns)))

    def _where(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Term, ...]:
        return tuple(self.model.terms[place] for place in np.flatnonzero(chosen))


def identified(among: Candidates, terms: Sequence[Term], levels: Levels) -> Identified:
    """What a space can tell of those terms.

    Args:
        among: its valid configurations, or a sample of them.
        terms: in any order.
        levels: runs that were made; they are looked at as well.
    """
    model = Model(among.sizes, tuple(sorted(terms, key=lambda term: (len(term), term))))
    highest = max((len(term) for term in terms), default=1)
    return Identified(model, np.sort(basis(among, model, levels, highest, 1.0).kept))


class Ties(NamedTuple):
    """Options whose main effects are those of others over the valid configurations: ``wholly``, or ``partly`` only."""

    wholly: tuple[int, ...]
    partly: tuple[int, ...]


def ties(population: Levels, sizes: Sequence[int]) -> Ties:
    """The options that others decide in all valid configurations.

    Of options that decide each other the one with most settings stays, the first of equals.

    Args:
        population: valid configurations, all or a sample.
        sizes: the options' numbers of settings.
    """
    order = sorted(range(len(sizes)), key=lambda option: (-sizes[option], option))
    model = Model(tuple(sizes), tuple((option,) for option in order))
    columns = model.matrix(population)
    kept = independent(columns.T @ columns / len(columns))
    there = Counter(order[owner] for owner in model.owners[kept] if owner >= 0)
    return Ties(
        tuple(option for option, size in enumerate(sizes) if size > 1 and not there[option]),
        tuple(option for option, size in enumerate(sizes) if 0 < there[option] < size - 1),
    )
