"""Numbers with what they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun, whose plural ends in s.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
