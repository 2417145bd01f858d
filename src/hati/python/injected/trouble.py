"""Errors in a measured interpreter, each reported in one line."""

from __future__ import annotations

from collections.abc import Iterable


class Trouble(Exception):  # noqa: N818 - reported as a line, never as a traceback
    """The reason why nothing can be recorded, and how to fix it."""


class Full(Trouble):
    """The arguments of ``fits`` calls fill the memory that a batch may take."""

    def __init__(self, fits: int, most: int) -> None:
        super().__init__(f"the arguments of {fits} calls fill the {most >> 20} MiB of memory that a batch may take")
        self.fits = fits


def ended(what: str, error: SystemExit) -> Trouble:
    """The error that ``what`` names, with the first line of the message of ``sys.exit``."""
    why = f": {error.code.strip().splitlines()[0]}" if isinstance(error.code, str) and error.code.strip() else ""
    return Trouble(f"{what}{why}")


def traced(error: Exception) -> str:
    """The traceback, with the exception's type and the first line of its message as the last line."""
    from traceback import format_exception, format_exception_only

    only = "".join(format_exception_only(type(error), error)).splitlines()
    first = next((line for line in only if line and not line[0].isspace()), type(error).__name__)
    whole = "".join(format_exception(type(error), error, error.__traceback__))
    return whole if whole.rstrip("\n").endswith(f"\n{first}") else f"{whole}{first}\n"


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion of the closest name, to append to a message; empty if none is close."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
