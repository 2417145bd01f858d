"""Numbers with what they count."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 4
"""How many of several a sentence names before it counts the rest."""


def counted(number: int, noun: str) -> str:
    """A number and its noun, whose plural ends in s.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_named(names: Sequence[str]) -> str:
    """The first of several names, and how many more there are.

    >>> first_named("abcde"), first_named("ab")
    ('a, b, c, d and 1 more', 'a, b')
    """
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
