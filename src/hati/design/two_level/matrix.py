"""The design itself: a matrix of -1 and +1 with the names of its columns, and what effects are called: ``ACH``."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
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

    ``matrix`` is a read-only copy of shape (runs, factors). ``kind`` and ``generators`` only record how the design
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
    """Check that names are distinct and printable, and not too many.

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


_ALPHABET = string.ascii_uppercase + string.ascii_lowercase
_NUMBERED = re.compile(r"([^\W\d]*)(\d{1,6})-([^\W\d]*)(\d{1,6})", re.ASCII)


def letters(count: int) -> tuple[str, ...]:
    """The first design letters: A to Z, then a to z.

    ``I`` is a factor like any other, as in the RES paper; so the identity is never written as a letter.

    Raises:
        InputError: for more than 52, or fewer than one.

    >>> "".join(letters(10))
    'ABCDEFGHIJ'
    """
    if not 1 <= count <= len(_ALPHABET):
        raise InputError(
            f"there are letters for 1 to {len(_ALPHABET)} factors, not {count}", fix="number them, such as x1-x60"
        )
    return tuple(_ALPHABET[:count])


def symbols(factors: Sequence[str]) -> tuple[str, ...]:
    """What stands for each factor in a generator: its own name where all names are one character, else a letter.

    Beyond 52 factors with longer names the names stand for themselves.
    """
    if _short(factors) or len(factors) > len(_ALPHABET):
        return tuple(factors)
    return letters(len(factors))


def effect_name(factors: Iterable[str], separator: str) -> str:
    """An effect as people read it: ``ACH``, or ``journal_mode:page_size`` with the separator ``:``."""
    return separator.join(factors)


def separator_of(factors: Sequence[str]) -> str:
    """What goes between the factors of an effect: nothing where all names are one character, else a colon."""
    return "" if _short(factors) else ":"


def parse_factors(text: str) -> tuple[str, ...]:
    """Read factors: names and ranges between commas, such as ``A-N``, ``A-H,J``, ``o1-o14``, ``cache,sync``.

    Raises:
        InputError: for an empty piece, a range that runs backwards, or a name that is there twice.

    >>> parse_factors("A-C,X,o9-o11")
    ('A', 'B', 'C', 'X', 'o9', 'o10', 'o11')
    """
    factors = tuple(name for piece in text.split(",") for name in _expand(piece.strip()))
    check_factors(factors)
    return factors


def _expand(piece: str) -> tuple[str, ...]:
    start, dash, end = piece.partition("-")
    if not piece or (dash and not (start and end)):
        raise InputError(f"{piece!r} is neither a factor nor a range", fix="write factors as 'A-N' or 'A,B,C'")
    if dash and start in _ALPHABET and end in _ALPHABET and len(start) == len(end) == 1:
        first, last = _ALPHABET.index(start), _ALPHABET.index(end)
        _check_range(piece, first, last)
        return tuple(_ALPHABET[first : last + 1])
    numbered = _NUMBERED.fullmatch(piece)
    if numbered and numbered[1] == numbered[3]:
        first, last = int(numbered[2]), int(numbered[4])
        _check_range(piece, first, last)
        return tuple(f"{numbered[1]}{number}" for number in range(first, last + 1))
    return (piece,)


def _check_range(piece: str, first: int, last: int) -> None:
    if first > last:
        raise InputError(f"the range {piece!r} runs backwards", fix="write the lower end first")
    if last - first >= MOST_FACTORS:
        raise InputError(f"the range {piece!r} has more than {MOST_FACTORS} factors")


def _short(factors: Sequence[str]) -> bool:
    return all(len(name) == 1 for name in factors)
