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


def ended(what: str, error: SystemExit) -> Trouble:
    """That something ended the process, and what it said of it."""
    why = f": {error.code.strip().splitlines()[0]}" if isinstance(error.code, str) and error.code.strip() else ""
    return Trouble(f"{what}{why}")


def traced(error: Exception) -> str:
    """The traceback, whose last line tells the exception's type and the first line of what it says."""
    from traceback import format_exception, format_exception_only

    only = "".join(format_exception_only(type(error), error)).splitlines()
    first = next((line for line in only if line and not line[0].isspace()), type(error).__name__)
    whole = "".join(format_exception(type(error), error, error.__traceback__))
    return whole if whole.rstrip("\n").endswith(f"\n{first}") else f"{whole}{first}\n"


def nearest(name: str, known: Iterable[str]) -> str:
    """What was probably meant, to be put behind a message."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
