"""The columns in which runs are chosen: those that the space can tell apart, primary and potential ones."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.design.candidates import Candidates, Reach
from hati.design.coding import Levels, Model
from hati.design.columns import Columns
from hati.stats import Index

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
