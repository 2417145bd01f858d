"""Texts of formulas, and where in them something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from hati.core import Place
from hati.formula.node import FormulaError


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
        return FormulaError(message, offset, place=self.place(offset), fix=fix)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Places what is refused inside of a node that was read from this text."""
        try:
            yield
        except FormulaError as error:
            if error.place is not None:
                raise
            raise self.error(error.offset, error.message, error.fix) from None
