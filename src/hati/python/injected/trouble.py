"""What a measured interpreter cannot do, told in one line."""

from __future__ import annotations

from collections.abc import Iterable


class Trouble(Exception):  # noqa: N818 - told as a line, never as a traceback
    """Why nothing can be recorded, and what to do about it."""


class Full(Trouble):
    """That no more arguments of calls are to be made: so many, ``fits``, take the memory that is theirs."""

    def __init__(self, fits: int, most: int) -> None:
        super().__init__(f"the arguments of {fits} calls take the {most >> 20} MiB of memory that a batch may")
        self.fits = fits


def nearest(name: str, known: Iterable[str]) -> str:
    """What was probably meant, to be put behind a message."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
