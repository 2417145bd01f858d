"""What a run of a design may be exchanged for."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.basis import Basis
from hati.design.candidates import Candidates
from hati.design.coding import Levels


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
