"""What all nodes of a formula's tree share: their text and place, names, depth, and how they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from msgspec import Struct

from hati.core import InputError, Place

KEYWORDS = frozenset(
    {
        *("and", "or", "not", "implies", "true", "false"),
        *("for", "forall", "exists", "in", "step"),
        *("of", "within", "strictly"),
    }
)
"""Words that are no names, unless in backquotes."""

FUNCTIONS = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "log", "log2", "log10", "round", "sqrt"), (1, 1)),
    **dict.fromkeys(("min", "max"), (2, 64)),
}
"""The functions of numbers, with the least and the greatest count of arguments."""

FUNCTIONS_OF_METHODS = frozenset({"mean", "median", "quantile", "throughput", "cpu", "memory"})
"""The names of statistics and metrics, beside p0 to p100."""

SELF = "SELF"
"""The method that a formula is attached to."""

REVISION = re.compile(r"[\w.-]+==[0-9][\w.!]*(?:[+-]\w[\w.]*)?|[\w^](?:[\w./^~-]*[\w^~])?(?:@\{[^{}\s]*\})?")
"""A revision that needs no quotes: a package's release, or what git and svn call theirs."""

_BARE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_QUANTILE = re.compile(r"p[0-9]+")
_WORD = re.compile(r"[^\W\d]\w*")


def is_word(text: str) -> bool:
    """Whether that is a plain word, as variables and declared names are.

    >>> is_word("n"), is_word("pkg.mod"), is_word("for")
    (True, False, False)
    """
    return bool(_WORD.fullmatch(text)) and text not in KEYWORDS


def name_text(name: str) -> str:
    """A method's or generator's name: bare, or in backquotes where it would not be read as a name.

    >>> print(name_text("pkg.mod:sort"), name_text("get-small"), name_text("median"))
    pkg.mod:sort `get-small` `median`
    """
    taken = name in KEYWORDS or name in FUNCTIONS or name in FUNCTIONS_OF_METHODS or _QUANTILE.fullmatch(name)
    return name if _BARE.fullmatch(name) and not taken else f"`{name}`"


def quoted(text: str) -> str:
    r"""Text between single quotes.

    >>> print(quoted("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in escaped) + "'"


def unquoted(literal: str) -> str:
    r"""The text that stands between quotes, without its escapes.

    Raises:
        InputError: for an escape that is not known.

    >>> print(unquoted(r"'it\'s'"))
    it's
    """

    def character(match: re.Match[str]) -> str:
        if match[2] is None and int(match[1], 16) < 0x110000 and not 0xD800 <= int(match[1], 16) < 0xE000:
            return chr(int(match[1], 16))
        if match[2] is not None and match[2] in "\\'\"":
            return match[2]
        raise InputError(f"unknown escape {match[0]!r}", fix=r"write \\ for a backslash")

    return _ESCAPE.sub(character, literal[1:-1])


DEEPEST = 60
"""The greatest depth of a tree, so that whatever walks it may recurse."""

PLAIN = 100
"""The precedence of what never needs parentheses."""


class NodeError(InputError):
    """What is wrong with a node; ``offset`` is where it was read."""

    def __init__(self, node: Node, message: str, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.offset = node.offset


@dataclass(frozen=True)
class Node:
    """A node: ``str`` prints it canonically, so that it parses to an equal one.

    ``offset`` is where it was read, in characters from 0 of the whole text; it makes no difference to equality.

    Raises:
        InputError: where the tree is deeper than ``DEEPEST``.
    """

    __match_args__: ClassVar[tuple[str, ...]]
    precedence: ClassVar[int] = PLAIN
    offset: int = field(default=0, compare=False, repr=False, kw_only=True)
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max([part.depth for part in self.parts], default=0)
        if depth > DEEPEST:
            fix = "split it into several"
            raise NodeError(self, f"the formula has more than {DEEPEST} levels, or terms in a row", fix=fix)
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

    def bracketed(self, precedence: int) -> str:
        """The node's text, in parentheses unless it binds tighter than ``precedence``."""
        return str(self) if self.precedence > precedence else f"({self})"


def shortened(node: Node) -> str:
    """A node's text as messages show it."""
    text = str(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


_SHOWN = 60


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
