"""A text and the places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from msgspec import Struct

from hati.core import Place


class Source(Struct, frozen=True, dict=True):
    r"""The text of a file, its lines ended by ``\n``."""

    file: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(index + 1 for index, character in enumerate(self.text) if character == "\n")]

    def place(self, offset: int) -> Place:
        """The place of an offset, counted from 0."""
        line = bisect_right(self._starts, offset)
        return self.at(line, offset - self._starts[line - 1] + 1)

    def at(self, line: int, column: int) -> Place:
        """The place of a line and column, counted from 1."""
        start = self._starts[line - 1] if line <= len(self._starts) else len(self.text)
        end = self.text.find("\n", start)
        return Place(self.file, line, column, self.text[start : end if end >= 0 else None])
