"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_NAMED = 6


def counted(number: int, noun: str) -> str:
    """A number of things, in the plural but for one.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """The first six names, and how many there are besides."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
