"""XML as a small tree of elements with their places.

Document types and entities are refused, so nothing expands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from hati.core import InputError, Place

_LARGEST = 16_000_000
"""The greatest length of a document, in characters."""

_DEEPEST = 50


@dataclass
class Element:
    """An element: its attributes, children, own text, and where it starts."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The element's own text, without the blanks around it."""
        return "".join(self.pieces).strip()

    def child(self, tag: str) -> Element | None:
        """The first child of that tag."""
        return next(self.all(tag), None)

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that tag."""
        return (child for child in self.children if child.tag == tag)

    def value(self, tag: str) -> str:
        """The text of the first child of that tag; empty where there is none."""
        child = self.child(tag)
        return child.text if child else ""


def parse_xml(text: str, file: str) -> Element:
    """The root element of an XML text.

    Raises:
        InputError: for malformed XML, a document type, or a text too large or too deep, with its place.
    """
    if len(text) > _LARGEST:
        raise InputError(f"the file has {len(text):,} characters", place=Place(file), fix=f"{_LARGEST:,} is the most")
    return _Reader(text, file).read()


class _Reader:
    """Collects elements while expat reads."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._file = file
        self._open: list[Element] = []
        self._root: Element | None = None
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self) -> Element:
        try:
            self._parser.Parse(self._text.encode(), True)  # noqa: FBT003 - expat's signature
        except expat.ExpatError as error:
            place = self._place(error.lineno, error.offset)
            raise InputError(f"this is not well-formed XML: {expat.ErrorString(error.code)}", place=place) from None
        except UnicodeEncodeError as error:
            raise InputError("the text has characters that are not Unicode", place=Place(self._file)) from error
        assert self._root is not None
        return self._root

    def _here(self) -> Place:
        return self._place(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _place(self, line: int, column: int) -> Place:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        column = len(text.encode()[:column].decode(errors="ignore"))  # expat counts bytes
        return Place(self._file, line, column + 1, text)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._here())
        if len(self._open) >= _DEEPEST:
            raise InputError(f"elements are nested deeper than {_DEEPEST} levels", place=element.place)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        self._open[-1].pieces.append(text)

    def _doctype(self, name: str, *_rest: object) -> None:
        raise InputError(
            f"document type {name!r}: document types are not read, and entities are not expanded",
            place=self._here(),
            fix="remove the <!DOCTYPE ...>",
        )
