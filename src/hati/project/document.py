"""A TOML document whose values know their places, read with located errors."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from hati.core import InputError, Place
from hati.core.wording import suggestion


class TomlSource(Struct, frozen=True, dict=True):
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


_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_CONTINUED = re.compile(r"(?:\\[ \t]*\n[ \t\n]*)+")


def delimiter(text: str, start: int) -> str:
    """The quotes that open the string at ``start``: one or three, single or double."""
    quote = text[start]
    return quote * 3 if text.startswith(quote * 3, start) else quote


def string_end(text: str, start: int) -> int:
    """The offset after the string that starts at ``start``."""
    quotes = delimiter(text, start)
    position = start + len(quotes)
    while position < len(text) and not text.startswith(quotes, position):
        position += 2 if text[position] == "\\" and quotes[0] == '"' else 1
    position += len(quotes)
    if len(quotes) == 3:  # the value may end in one or two quotes before the closing three
        for _ in range(2):
            position += text.startswith(quotes[0], position)
    return min(position, len(text))


def string_value(text: str, start: int) -> str:
    """The value of the string that starts at ``start``."""
    quotes = delimiter(text, start)
    end = string_end(text, start) - len(quotes)
    position, characters = _first(text, start), []
    while position < end:
        position = _skip_continued(text, position, quotes)
        if position >= end:
            break
        following = _after(text, position, quotes)
        characters.append(_decoded(text[position:following]) if following - position > 1 else text[position])
        position = following
    return "".join(characters)


def character_offset(text: str, start: int, index: int) -> int:
    """The offset in ``text`` of character ``index`` of the value of the string that starts at ``start``."""
    quotes = delimiter(text, start)
    end = string_end(text, start) - len(quotes)
    position = _skip_continued(text, _first(text, start), quotes)
    for _ in range(index):
        if position >= end:
            break
        position = _skip_continued(text, _after(text, position, quotes), quotes)
    return min(position, end)


def _first(text: str, start: int) -> int:
    quotes = delimiter(text, start)
    first = start + len(quotes)
    return first + (len(quotes) == 3 and text.startswith("\n", first))


def _skip_continued(text: str, position: int, quotes: str) -> int:
    if quotes == '"""' and (match := _CONTINUED.match(text, position)):
        return match.end()
    return position


def _after(text: str, position: int, quotes: str) -> int:
    if text[position] != "\\" or quotes[0] == "'":
        return position + 1
    return position + 2 + _DIGITS.get(text[position + 1 : position + 2], 0)


def _decoded(escape: str) -> str:
    return _ESCAPES[escape[1]] if escape[1] in _ESCAPES else chr(int(escape[2:], 16))


Path = tuple[str | int, ...]
"""The keys, and indexes in arrays, from the document's root to a value."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


class TomlSpot(Struct, frozen=True):
    """The offsets, from 0, of a key and of its value; equal for elements of arrays and for headers."""

    key: int
    value: int


def locate(text: str) -> dict[Path, TomlSpot]:
    r"""The spots of all keys, tables and elements of a document that ``tomllib`` has accepted.

    Lines end in ``\n``. If several places define one table, the first counts. Whatever follows unknown syntax, as of a
    future TOML, is left out.
    """
    scanner = _Scanner(text)
    with suppress(_LostError):
        scanner.document()
    return scanner.spots


class _LostError(Exception):
    """The scanner met unknown syntax."""


class _Scanner:
    """Walks through a document once, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.spots: dict[Path, TomlSpot] = {(): TomlSpot(0, 0)}
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
            self._note(path, TomlSpot(start, start))
            last = position == len(keys) - 1
            if brackets == "[[" and last:
                self._lengths[path] = self._lengths.get(path, 0) + 1
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
                self._note(path, TomlSpot(start, start))
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
            self._note(path, TomlSpot(offset, value))
        self._value(path)

    def _keys(self) -> list[tuple[str, int]]:
        """The parts of a dotted key with their offsets; stops after the key."""
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
            self._note((*path, index), TomlSpot(self._at, self._at))
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

    def _note(self, path: Path, spot: TomlSpot) -> None:
        self.spots.setdefault(path, spot)


_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_PLAIN = {
    "Cannot overwrite a value": "the key is there twice",
    "Invalid value": "expected a value: text in quotes, a number, true, false, [ or {",
    "Invalid statement": "expected a key or a [table]",
    "Illegal character '\\n'": "the string is never closed",
    "Unterminated string": "the string is never closed",
    "Unclosed array": "the array is never closed",
    "Unescaped '\\' in a string": "a backslash stands alone; write \\\\ or use single quotes",
}


_Read = TypeVar("_Read")
_Default = TypeVar("_Default")


class Value(Struct, frozen=True):
    """A value of a document as ``tomllib`` parsed it, and its path."""

    document: TomlDocument
    path: Path
    data: object

    @property
    def place(self) -> Place:
        """The place of the value."""
        return self.document.value_place(self.path, None)

    def error(self, message: str, *, fix: str | None = None, within: int | None = None) -> InputError:
        """An error that points at the value, or at character ``within`` of its text."""
        return InputError(message, place=self.document.value_place(self.path, within), fix=fix)

    @property
    def name(self) -> str:
        """The key of the value, for messages."""
        return next(str(part) for part in reversed(self.path) if isinstance(part, str))

    def text(self) -> str:
        """The value as text."""
        if not isinstance(self.data, str):
            raise self.differs("text in quotes")
        return self.data

    def line(self) -> str:
        """The value as text that is not empty."""
        if not self.text().strip():
            raise self.error(f"{self.name} is empty")
        return self.text()

    def truth(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.data, bool):
            raise self.differs("true or false")
        return self.data

    def natural(self) -> int:
        """The value as an integer from 0 on."""
        if not isinstance(self.data, int) or isinstance(self.data, bool) or not 0 <= self.data < 2**63:
            raise self.differs("an integer from 0 on")
        return self.data

    def items(self) -> list[Value]:
        """The elements of an array."""
        if not isinstance(self.data, list):
            raise self.differs("an array [...]")
        return [Value(self.document, (*self.path, index), item) for index, item in enumerate(self.data)]

    def lines(self) -> tuple[str, ...]:
        """The value as an array of texts that are not empty."""
        return tuple(item.line() for item in self.items())

    def table(self) -> TomlTable:
        """The value as a table."""
        if not isinstance(self.data, dict):
            raise self.differs("a table")
        return TomlTable(self.document, self.path, self.data)

    def tables(self) -> list[TomlTable]:
        """The value as an array of tables."""
        if not isinstance(self.data, list):
            raise self.differs(f"an array of tables, written as [[{'.'.join(map(str, self.path))}]]")
        return [item.table() for item in self.items()]

    def differs(self, wanted: str, *, fix: str | None = None) -> InputError:
        """The error for a value that is not what is wanted."""
        return self.error(f"{self.name}: expected {wanted}, found {_described(self.data)}", fix=fix)


class TomlTable(Struct, frozen=True):
    """A table of a document."""

    document: TomlDocument
    path: Path
    data: Mapping[str, object]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str) -> Value | None:
        """The value of a key, or None where there is none."""
        return Value(self.document, (*self.path, key), self.data[key]) if key in self.data else None

    def read(self, key: str, read: Callable[[Value], _Read], default: _Default) -> _Read | _Default:
        """The value of a key, converted by ``read``; the default without the key."""
        value = self.get(key)
        return default if value is None else read(value)

    def table(self, key: str) -> TomlTable:
        """The table of a key, an empty one where there is none."""
        value = self.get(key)
        return TomlTable(self.document, (*self.path, key), {}) if value is None else value.table()

    def part(self, key: str, known: Sequence[str]) -> TomlTable:
        """The table of a key, checked to have only ``known`` keys; an empty one where there is none."""
        table = self.table(key)
        table.only(*known)
        return table

    def need(self, key: str, example: str) -> Value:
        """The value of a required key."""
        value = self.get(key)
        if value is None:
            raise self.error(f"{key} is missing", fix=f"add it, as in {example}")
        return value

    def error(self, message: str, *, key: str | None = None, fix: str | None = None) -> InputError:
        """An error that points at the table's header, or at one of its keys."""
        path = self.path if key is None else (*self.path, key)
        return InputError(message, place=self.document.key_place(path), fix=fix)

    def only(self, *known: str) -> None:
        """Refuse keys other than these, and suggest the nearest."""
        for key in self:
            if key not in known:
                raise self.error(f"unknown key {key!r}", key=key, fix=suggestion(key, known))


class TomlDocument(Struct, frozen=True):
    """A TOML text with the places of its keys and values."""

    source: TomlSource
    spots: Mapping[Path, TomlSpot]

    def key_place(self, path: Path) -> Place:
        """The place of a key or of a table's header."""
        return self.source.place(self._spot(path).key)

    def value_place(self, path: Path, within: int | None) -> Place:
        """The place of a value, or of character ``within`` of its text."""
        start = self._spot(path).value
        if within is None or path not in self.spots:
            return self.source.place(start)
        return self.source.place(character_offset(self.source.text, start, within))

    def _spot(self, path: Path) -> TomlSpot:
        """The spot of a path, or of its nearest located ancestor."""
        while path not in self.spots:
            path = path[:-1]
        return self.spots[path]


def parse_document(text: str, file: str) -> TomlTable:
    """The root table of a TOML text.

    Raises:
        InputError: for a text that is not valid TOML, with its place.
    """
    source = TomlSource(file, text.replace("\r\n", "\n"))
    try:
        data = tomllib.loads(source.text)
        spots = locate(source.text)
    except RecursionError:
        raise InputError("this is nested too deeply", place=Place(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), source) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InputError(f"this is not valid TOML: {error}", place=Place(file)) from None
    return TomlTable(TomlDocument(source, spots), (), data)


def _syntax_error(message: str, source: TomlSource) -> InputError:
    match = _WHERE.search(message)
    problem = message[: match.start()] if match else message
    problem = next((ours for theirs, ours in _PLAIN.items() if problem.startswith(theirs)), problem)
    if match and match[1]:
        return InputError(f"this is not valid TOML: {problem}", place=source.at(int(match[1]), int(match[2])))
    end = len(source.text.rstrip())
    return InputError(f"this is not valid TOML: {problem}", place=source.place(end) if match else Place(source.file))


def _described(data: object) -> str:
    match data:
        case bool():
            return str(data).lower()
        case int() | float():
            return f"the number {data!r:.40}"
        case str():
            return f"the text {data!r:.40}"
        case list():
            return "an array"
        case dict():
            return "a table"
        case _:
            return f"the date or time {data}"
