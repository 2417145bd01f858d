"""A TOML document whose values know their places, read with located errors."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

from msgspec import Struct

from hati.core import InputError, Place
from hati.core.nearest import suggestion
from hati.project.positions import Path, Spot, locate
from hati.project.source import Source
from hati.project.strings import character_offset

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


class Value(Struct, frozen=True):
    """A value of a document: what ``tomllib`` made of it, and its path."""

    document: Document
    path: Path
    data: object

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.document.value_place(self.path, None)

    def error(self, message: str, *, fix: str | None = None, within: int | None = None) -> InputError:
        """An error that points at the value, or at character ``within`` of its text."""
        return InputError(message, place=self.document.value_place(self.path, within), fix=fix)

    @property
    def name(self) -> str:
        """The key, as messages name it."""
        return next(str(part) for part in reversed(self.path) if isinstance(part, str))

    def text(self) -> str:
        """The value as text."""
        if not isinstance(self.data, str):
            raise self._unexpected("text in quotes")
        return self.data

    def line(self) -> str:
        """The value as text that is not empty."""
        if not self.text().strip():
            raise self.error(f"{self.name} is empty")
        return self.text()

    def truth(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.data, bool):
            raise self._unexpected("true or false")
        return self.data

    def natural(self) -> int:
        """The value as an integer from 0 on."""
        if not isinstance(self.data, int) or isinstance(self.data, bool) or not 0 <= self.data < 2**63:
            raise self._unexpected("an integer from 0 on")
        return self.data

    def items(self) -> list[Value]:
        """The elements of an array."""
        if not isinstance(self.data, list):
            raise self._unexpected("an array [...]")
        return [Value(self.document, (*self.path, index), item) for index, item in enumerate(self.data)]

    def table(self) -> Table:
        """The value as a table."""
        if not isinstance(self.data, dict):
            raise self._unexpected("a table")
        return Table(self.document, self.path, self.data)

    def tables(self) -> list[Table]:
        """The value as an array of tables."""
        if not isinstance(self.data, list):
            raise self._unexpected(f"an array of tables, written as [[{'.'.join(map(str, self.path))}]]")
        return [item.table() for item in self.items()]

    def _unexpected(self, wanted: str) -> InputError:
        return self.error(f"{self.name}: expected {wanted}, found {_described(self.data)}")


class Table(Struct, frozen=True):
    """A table of a document."""

    document: Document
    path: Path
    data: Mapping[str, object]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str) -> Value | None:
        """The value of a key, or None where there is none."""
        return Value(self.document, (*self.path, key), self.data[key]) if key in self.data else None

    def need(self, key: str, example: str) -> Value:
        """The value of a key that must be there."""
        value = self.get(key)
        if value is None:
            raise self.error(f"{key} is missing", fix=f"add it, as in {example}")
        return value

    def error(self, message: str, *, key: str | None = None, fix: str | None = None) -> InputError:
        """An error that points at the table's header, or at one of its keys."""
        path = self.path if key is None else (*self.path, key)
        return InputError(message, place=self.document.key_place(path), fix=fix)

    def only(self, *known: str) -> None:
        """Refuse keys other than these, naming the nearest."""
        for key in self:
            if key not in known:
                raise self.error(f"unknown key {key!r}", key=key, fix=suggestion(key, known))


class Document(Struct, frozen=True):
    """A TOML text with the places of its keys and values."""

    source: Source
    spots: Mapping[Path, Spot]

    def key_place(self, path: Path) -> Place:
        """Where a key or a table's header stands."""
        return self.source.place(self._spot(path).key)

    def value_place(self, path: Path, within: int | None) -> Place:
        """Where a value stands, or character ``within`` of its text."""
        start = self._spot(path).value
        if within is None or path not in self.spots:
            return self.source.place(start)
        return self.source.place(character_offset(self.source.text, start, within))

    def _spot(self, path: Path) -> Spot:
        """The spot of a path, or of the nearest above it that was located."""
        while path not in self.spots:
            path = path[:-1]
        return self.spots[path]


def parse_document(text: str, file: str) -> Table:
    """The root table of a TOML text.

    Raises:
        InputError: for text that is no TOML, with its place.
    """
    source = Source(file, text.replace("\r\n", "\n"))
    try:
        data = tomllib.loads(source.text)
        spots = locate(source.text)
    except RecursionError:
        raise InputError("this is nested too deeply", place=Place(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), source) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InputError(f"this is not valid TOML: {error}", place=Place(file)) from None
    return Table(Document(source, spots), (), data)


def _syntax_error(message: str, source: Source) -> InputError:
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
