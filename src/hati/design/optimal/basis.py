"""The columns in which runs are chosen: those that the space can tell apart, primary and potential ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.design.optimal.candidates import Candidates, Reach
from hati.design.optimal.coding import Columns, Levels, Model
from hati.stats import Index, Term

_DEPENDENT = 1e-8
_RIDGE = 1e-4  # larger than what rounding makes of updates, smaller than what any run says
_AT_ONCE = 2_000  # rows


class Basis(Struct, frozen=True, dict=True):
    """Columns of ``model``: ``kept`` are not combinations of those before them over the candidates.

    The first ``primary`` of the kept ones are to be estimated. The others are potential, seldom at work: each is
    what the primary ones leave of it, divided by its range (DuMouchel and Jones 1994, Technometrics 36, section 2.2).
    """

    model: Model
    kept: Index
    primary: int
    projection: FloatArray
    ranges: FloatArray
    tau: float

    @cached_property
    def columns(self) -> Columns:
        """The model's columns, all of them."""
        return Columns(self.model)

    @cached_property
    def prior(self) -> FloatArray:
        """What is known of each coefficient beforehand: nothing of primary ones, 1/tau^2 of potential ones.

        A trace of it even for primary ones, so that a search can begin from runs that cannot fit them.
        """
        return np.where(np.arange(len(self.kept)) < self.primary, _RIDGE, self.tau**-2.0)

    def matrix(self, rows: Levels) -> FloatArray:
        """The columns for those rows, shape (rows, kept)."""
        return self._scaled(self.columns.matrix(rows))

    def neighbours(self, rows: Levels) -> FloatArray:
        """The columns of all that differ in one option from rows without inactive options: (rows, moves, kept)."""
        return self._scaled(self.columns.neighbours(rows))

    def _scaled(self, full: FloatArray) -> FloatArray:
        found = full if len(self.kept) == full.shape[-1] else full[..., self.kept]
        if self.primary == len(self.kept):
            return found
        if self.projection.any():
            found[..., self.primary :] -= found[..., : self.primary] @ self.projection
        return found / self._divisors

    @cached_property
    def _divisors(self) -> FloatArray:
        return np.concatenate([np.ones(self.primary), self.ranges])


def basis(among: Candidates, model: Model, fixed: Levels, primary_order: int, tau: float) -> Basis:
    """The basis of a model whose terms up to ``primary_order`` are to be estimated, the others potential."""
    orders = np.array([0, *(len(model.terms[owner]) for owner in model.owners[1:])])
    chosen = orders <= primary_order
    columns = Columns(model)
    if among.reach is Reach.FREE:  # orthogonal columns of mean square one
        zeros = np.zeros((int(chosen.sum()), int((~chosen).sum())))
        return Basis(model, np.arange(len(orders)), len(zeros), zeros, columns.ranges[~chosen], tau)
    rows = np.vstack([among.levels, fixed])
    parts = [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]
    gram = np.sum([each.T @ each for each in map(columns.matrix, parts)], axis=0) / len(rows)
    first, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    first = first[independent(gram[np.ix_(first, first)])]
    between = gram[np.ix_(first, others)]
    projection = np.linalg.solve(gram[np.ix_(first, first)], between)
    left = np.diag(gram)[others] - (projection * between).sum(axis=0)
    there = left > _DEPENDENT
    kept, projection = np.concatenate([first, others[there]]), projection[:, there]
    unscaled = Basis(model, kept, len(first), projection, np.ones(int(there.sum())), tau)
    potential = [unscaled.matrix(part)[:, len(first) :] for part in parts]
    ranges = np.max([part.max(axis=0) for part in potential], axis=0)
    ranges -= np.min([part.min(axis=0) for part in potential], axis=0)
    return replace(unscaled, ranges=ranges)


def independent(gram: FloatArray) -> Index:
    """The columns that are no combination of those before them, from their products; shape (independent,)."""
    size = len(gram)
    rows = np.zeros((size, size))  # of the upper Cholesky factor
    kept: list[int] = []
    for column in range(size):
        known = rows[: len(kept)]
        left = gram[column, column] - known[:, column] @ known[:, column]
        if left > _DEPENDENT * max(gram[column, column], _DEPENDENT):
            rows[len(kept)] = (gram[column] - known[:, column] @ known) / np.sqrt(left)
            kept.append(column)
    return np.array(kept, dtype=np.intp)


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
