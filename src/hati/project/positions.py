"""Where every key and value of a TOML document stands; Python's own reader does not tell."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec import Struct

from hati.project.strings import string_end, string_value

Path = tuple[str | int, ...]
"""Keys, and indexes of arrays, from the document's root."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


class Spot(Struct, frozen=True):
    """The offsets, from 0, of a key and of its value; equal for elements of arrays and for headers."""

    key: int
    value: int


def locate(text: str) -> dict[Path, Spot]:
    r"""The spots of all keys, tables and elements of a document that ``tomllib`` has accepted.

    Lines are ended by ``\n``. Where several places make one table, the first counts. What follows
    something unknown, of a TOML to come, is left out.
    """
    scanner = _Scanner(text)
    with suppress(_LostError):
        scanner.document()
    return scanner.spots


class _LostError(Exception):
    """The scanner does not know what it sees."""


class _Scanner:
    """Walks through a document once, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.spots: dict[Path, Spot] = {(): Spot(0, 0)}
        self._lengths: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _LostError
        self._at = match.end()
        return match[0]

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _header(self) -> Path:
        brackets = "[[" if self._sees("[[") else "["
        start = self._at
        self._at += len(brackets)
        keys = [key for key, _ in self._keys()]
        self._at += len(brackets)
        path: Path = ()
        for position, key in enumerate(keys):
            path = (*path, key)
            self._note(path, Spot(start, start))
            last = position == len(keys) - 1
            if brackets == "[[" and last:
                self._lengths[path] = self._lengths.get(path, 0) + 1
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
                self._note(path, Spot(start, start))
        return path

    def _pair(self, table: Path) -> None:
        keys = self._keys()
        if not self._sees("="):
            raise _LostError
        self._at += 1
        self._skip(_SPACE)
        value = self._at
        path = table
        for key, offset in keys:
            path = (*path, key)
            self._note(path, Spot(offset, value))
        self._value(path)

    def _keys(self) -> list[tuple[str, int]]:
        """The parts of a dotted key with their offsets; stops at what follows."""
        keys = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if self._text[start : start + 1] in {'"', "'"}:
                key = string_value(self._text, start)
                self._at = string_end(self._text, start)
            else:
                key = self._skip(_BARE)
            keys.append((key, start))
            self._skip(_SPACE)
            if not self._sees("."):
                return keys
            self._at += 1

    def _value(self, path: Path) -> None:
        first = self._text[self._at : self._at + 1]
        if first in {'"', "'"}:
            self._at = string_end(self._text, self._at)
        elif first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        elif not self._skip(_SCALAR):
            raise _LostError

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while not self._closed("]"):
            self._note((*path, index), Spot(self._at, self._at))
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while not self._closed("}"):
            self._pair(path)

    def _closed(self, bracket: str) -> bool:
        """Pass blanks and commas, and the bracket if it is next."""
        self._skip(_BLANK)
        while self._sees(","):
            self._at += 1
            self._skip(_BLANK)
        if self._sees(bracket):
            self._at += 1
            return True
        return False

    def _note(self, path: Path, spot: Spot) -> None:
        self.spots.setdefault(path, spot)
