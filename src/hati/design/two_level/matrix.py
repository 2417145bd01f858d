"""The design itself: a matrix of -1 and +1 with the names of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hati.core import InputError

Matrix = NDArray[np.int8]
"""Shape (runs, factors), entries -1 and +1."""

Kind = Literal["full factorial", "regular fraction", "Plackett-Burman", "foldover", "semi-foldover", "given"]

MOST_RUNS = 2**20
MOST_FACTORS = 1024


@dataclass(frozen=True, eq=False)
class Design:
    """The settings of every factor in every run, -1 for the first setting and +1 for the second.

    ``matrix`` is a read-only copy of shape (runs, factors). ``kind`` and ``generators`` tell how the design
    was made and nothing else: every property is recomputed from the matrix. Two designs are equal
    when they have the same factors and the same matrix.

    Raises:
        InputError: for names that are empty, not printable or twice there, for a matrix of another
            shape or with other entries, and above 2^20 runs or 1,024 factors.
    """

    kind: Kind
    factors: tuple[str, ...]
    matrix: Matrix
    generators: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        check_factors(self.factors)
        given = np.asarray(self.matrix)
        if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] != len(self.factors):
            raise InputError(
                f"a design of {len(self.factors)} factors needs a matrix of that many columns and some rows"
            )
        check_runs(given.shape[0])
        if not np.all((given == 1) | (given == -1)):
            raise InputError("a design's matrix has entries other than -1 and 1")
        matrix = np.array(given, dtype=np.int8, order="C")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def runs(self) -> int:
        """Number of rows: one configuration each."""
        return int(self.matrix.shape[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self.factors == other.factors and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.factors, self.matrix.tobytes()))


def check_factors(factors: tuple[str, ...]) -> None:
    """Names can be told apart, written in one line of text, and are not too many.

    Raises:
        InputError: where they cannot.
    """
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise InputError(f"a design has 1 to {MOST_FACTORS} factors, not {len(factors)}")
    for name in factors:
        if not name.strip() or name != name.strip() or not name.isprintable():
            raise InputError(
                f"{name!r} is not a valid name for a factor", fix="use printable text without spaces around it"
            )
    twice = sorted({name for name in factors if factors.count(name) > 1}) if len(set(factors)) < len(factors) else []
    if twice:
        raise InputError(f"factor {twice[0]!r} is there twice")


def check_runs(runs: int) -> None:
    """A design's runs are few enough to be worked with.

    Raises:
        InputError: above 2^20.
    """
    if runs > MOST_RUNS:
        raise InputError(f"a design of {runs} runs is too large", fix=f"use at most {MOST_RUNS} runs: a fraction")
