"""Nodes of a formula's tree: their parts, their depth, their text, and where they were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import is_not
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from hati.core import InputError, Place

DEEPEST = 60
"""The greatest depth of a tree, so that whatever walks it may recurse."""

PLAIN = 100
"""The precedence of a node that never needs parentheses."""

_SHOWN = 60
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")


class FormulaError(InputError):
    """A formula that cannot be read or used; ``offset`` is where, in characters from 0 of its text.

    It has no place where its text is not at hand: :meth:`hati.formula.Source.placing` gives it one.
    """

    def __init__(self, message: str, offset: int, *, place: Place | None = None, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.offset = offset


N = TypeVar("N", bound="Node")


@dataclass(frozen=True)
class Node:
    """A node: ``str`` prints it canonically, so that it parses to an equal one.

    ``offset`` is where it was read, in characters from 0 of the whole text; it makes no difference to equality.

    Raises:
        FormulaError: where the tree is deeper than ``DEEPEST``.
    """

    __match_args__: ClassVar[tuple[str, ...]]
    precedence: ClassVar[int] = PLAIN
    offset: int = field(default=0, compare=False, repr=False, kw_only=True)
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max([part.depth for part in self.parts], default=0)
        if depth > DEEPEST:
            message = f"the formula is nested deeper than {DEEPEST} levels, or has as many terms in a row"
            raise self.error(message, fix="split it into several")
        object.__setattr__(self, "depth", depth)

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes right below, in order."""
        found: list[Node] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend([part for part in value if isinstance(part, Node)])
        return tuple(found)

    def nodes(self) -> Iterator[Node]:
        """This node and all below, in order of reading."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def find(self, kind: type[N]) -> tuple[N, ...]:
        """The nodes of a kind, this one and those below, in order of reading."""
        return tuple(node for node in self.nodes() if isinstance(node, kind))

    def mapped(self: N, read: Callable[[Any], Any]) -> N:
        """The same node with what ``read`` makes of its parts; itself where that is the same parts."""
        if self.depth == 1:
            return self
        own = [getattr(self, name) for name in self.__match_args__]
        made = [
            read(value) if isinstance(value, Node) else _mapped(value, read) if isinstance(value, tuple) else value
            for value in own
        ]
        return type(self)(*made, offset=self.offset) if any(map(is_not, made, own)) else self

    def bracketed(self, precedence: int) -> str:
        """The node's text, in parentheses unless it binds tighter than ``precedence``."""
        return str(self) if self.precedence > precedence else f"({self})"

    @property
    def shortened(self) -> str:
        """The node's text as messages show it."""
        text = str(self)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."

    def error(self, message: str, *, fix: str | None = None) -> FormulaError:
        """The error that something is wrong with this node."""
        return FormulaError(message, self.offset, fix=fix)


def _mapped(values: tuple[Any, ...], read: Callable[[Any], Any]) -> tuple[Any, ...]:
    made = tuple([read(value) if isinstance(value, Node) else value for value in values])
    return made if any(map(is_not, made, values)) else values


def quoted(text: str) -> str:
    r"""Text between single quotes.

    >>> print(quoted("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in escaped) + "'"


def unquoted(literal: str, offset: int = 0) -> str:
    r"""The text that stands between quotes, without its escapes; the literal was read at ``offset``.

    Raises:
        FormulaError: for an escape that is not known, or one of no character.

    >>> print(unquoted(r"'it\'s'"))
    it's
    """

    def character(match: re.Match[str]) -> str:
        at = offset + 1 + match.start()
        if match[2] is not None:
            if match[2] in "\\'\"":
                return match[2]
            raise FormulaError(f"unknown escape {match[0]!r}", at, fix=r"write \\ for a backslash")
        code = int(match[1], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise FormulaError(f"{match[0]!r} is not a valid character", at)
        return chr(code)

    return _ESCAPE.sub(character, literal[1:-1])


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
        """Add the node's place to errors that are raised inside."""
        try:
            yield
        except FormulaError as error:
            if error.place is not None:
                raise
            raise self.error(error.offset, error.message, error.fix) from None
