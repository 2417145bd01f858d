"""What factors and effects are called: letters, ranges such as ``A-N``, and ``ACH`` for an interaction."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from hati.core import InputError
from hati.design.two_level.matrix import MOST_FACTORS, check_factors

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
