"""A linear model's columns for many rows quickly: products of main-effect columns, gathered by index."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.coding import INACTIVE, Levels, Model, setting_contrasts
from hati.stats import Index


class Columns(Struct, frozen=True, dict=True):
    """The columns of ``model``, the same as those of ``Model.matrix``, and those of a row's neighbours."""

    model: Model

    @cached_property
    def codes(self) -> FloatArray:
        """What each setting of each option adds to a row's main-effect columns; shape (settings + 1, columns).

        The last column is 1, for the intercept and for factors that a term lacks; the last row is that of an
        inactive option.
        """
        sizes = self.model.sizes
        table = np.zeros((sum(sizes) + 1, sum(sizes) - len(sizes) + 1))
        for option, size in enumerate(sizes):
            start = self.starts[option] - option
            table[self.starts[option] : self.starts[option] + size, start : start + size - 1] = setting_contrasts(size)
        return table

    @cached_property
    def starts(self) -> Index:
        """The row of ``codes`` at which each option's settings begin."""
        return np.concatenate([[0], np.cumsum(self.model.sizes)[:-1]]).astype(np.intp)

    @cached_property
    def factors(self) -> Index:
        """The main-effect columns whose product each column is, shape (order, parameters)."""
        sizes, order = self.model.sizes, max((len(term) for term in self.model.terms), default=1)
        one = sum(sizes) - len(sizes)
        found = [(one,) * order]
        for term in self.model.terms:
            parts = [range(self.starts[o] - o, self.starts[o] - o + sizes[o] - 1) for o in term]
            found += [(*chosen, *(one,) * (order - len(term))) for chosen in product(*parts)]
        return np.array(found, dtype=np.intp).T.copy()

    @cached_property
    def ranges(self) -> FloatArray:
        """The largest less the smallest value that each column takes over all combinations of settings."""
        found = [0.0]
        bounds = [(c.min(0), c.max(0)) for c in (setting_contrasts(size) for size in self.model.sizes)]
        for term in self.model.terms:
            for chosen in product(*(range(self.model.sizes[option] - 1) for option in term)):
                sides = [(bounds[o][0][c], bounds[o][1][c]) for o, c in zip(term, chosen, strict=True)]
                ends = [prod(corner) for corner in product(*sides)]
                found.append(float(max(ends) - min(ends)))
        return np.array(found)

    def matrix(self, levels: Levels) -> FloatArray:
        """The model's columns for those rows, shape (rows, parameters)."""
        return self._products(self._main(levels))

    def neighbours(self, rows: Levels) -> FloatArray:
        """The columns of all that differ in one option from rows with no inactive one: (rows, moves, parameters)."""
        options, shifts = self.moves
        settings = rows[:, options]
        now = self.starts[options] + settings
        then = self.starts[options] + (settings + shifts) % np.array(self.model.sizes)[options]
        return self._products(self._main(rows)[:, None] + (self.codes[then] - self.codes[now]))

    @cached_property
    def moves(self) -> tuple[Index, Index]:
        """For each neighbour of a row the option that changes, and by how many settings it is shifted around."""
        pairs = [(option, shift) for option, size in enumerate(self.model.sizes) for shift in range(1, size)]
        options, shifts = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return options, shifts

    def _main(self, levels: Levels) -> FloatArray:
        places = np.where(levels == INACTIVE, len(self.codes) - 1, levels + self.starts)
        main = self.codes[places].sum(axis=1)
        main[:, -1] = 1.0
        return np.asarray(main)

    def _products(self, main: FloatArray) -> FloatArray:
        first, *others = self.factors
        found: FloatArray = main.take(first, axis=-1)
        for factor in others:
            found *= main.take(factor, axis=-1)
        return found
