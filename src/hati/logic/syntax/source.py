"""Where a formula's text comes from, and errors placed in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from hati.core import InputError, Place
from hati.logic.syntax.node import NodeError


class FormulaError(InputError):
    """A formula or a file of formulas that cannot be read; ``offset`` counts from 0 in its text."""

    def __init__(self, message: str, place: Place, offset: int, *, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.offset = offset


class Source(Struct, frozen=True):
    """A text and what it is called in messages: a file's path, ``formula``, or a function's name.

    ``line`` is that of the file on which the text begins; columns are those of the text.
    """

    text: str
    name: str = "formula"
    line: int = 1

    def place(self, offset: int) -> Place:
        """The line and column of an offset."""
        offset = min(offset, len(self.text))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else None]
        return Place(self.name, self.text.count("\n", 0, offset) + self.line, offset - start + 1, line)

    def error(self, offset: int, message: str, fix: str | None = None) -> FormulaError:
        """The error that something is wrong there."""
        return FormulaError(message, self.place(offset), offset, fix=fix)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Places what is refused inside of a node that was read from this text."""
        try:
            yield
        except NodeError as error:
            raise self.error(error.offset, error.message, error.fix) from None
