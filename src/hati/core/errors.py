"""Errors that the user can fix, with their place and fix; exit statuses."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct


class ExitStatus(IntEnum):
    """How a command ends; WORSE and UNDECIDED are verdicts."""

    OK = 0
    WORSE = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    NOT_MEASURED = 4


class Place(Struct, frozen=True):
    """A position: a file, and a line and column in it, counted from 1."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)

    def caret(self) -> str | None:
        """The line's text with a caret below its column, or None where the text is not known.

        A long line is cut around the column, so that the caret stays on the screen.
        """
        if self.text is None or self.column is None:
            return None
        text = "".join(c if c.isprintable() else " " for c in self.text.rstrip("\n"))
        start = max(0, self.column - 1 - _BEFORE_CARET) if len(text) > _WIDTH else 0
        return f"  {text[start : start + _WIDTH]}\n  {' ' * (self.column - 1 - start)}^"


_WIDTH = 100
_BEFORE_CARET = 60


class HatiError(Exception):
    """An error that the user can fix.

    ``message`` says what is wrong, ``place`` where, ``fix`` how to fix it.
    """

    exit_status = ExitStatus.BAD_INPUT

    def __init__(self, message: str, *, place: Place | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.fix = fix

    def __str__(self) -> str:
        head = f"{self.place}: {self.message}" if self.place else self.message
        if self.fix:
            head = f"{head}; {self.fix}"
        caret = self.place.caret() if self.place else None
        return f"{head}\n{caret}" if caret else head


class InputError(HatiError):
    """Bad input or usage: exit status 2."""


class MeasurementError(HatiError):
    """Nothing could be measured: exit status 4."""

    exit_status = ExitStatus.NOT_MEASURED


class NotInstalledError(HatiError):
    """A part of Hati is not installed; ``fix`` holds the command that installs it."""
