"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """A number and its noun, whose plural ends in s.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int = 6, separator: str = ", ") -> str:
    """The first names, and the number of further ones.

    >>> listed("abc", most=3), listed("abcd", most=2), listed("abc", most=2, separator="; ")
    ('a, b, c', 'a, b and 2 more', 'a; b; and 1 more')
    """
    known = list(names)
    more = len(known) - most
    rest = f"{separator.strip(', ')} and {more:,} more" if more > 0 else ""
    return separator.join(known[:most]) + rest
