"""Propositions: trees of connectives and comparisons over any kind of atoms, their printing and their evaluation.

Nodes have parts, a depth, their text, and the place where they were read. A single evaluation serves every algebra:
Kleene's logic, trees, arrays, diagrams, or any other.
"""

from __future__ import annotations

import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from operator import is_not
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from hati.core import InputError, Place

DEEPEST = 60
"""The greatest depth of a tree, so that functions may recurse over it."""

PLAIN = 100
"""The precedence of a node that never needs parentheses."""

_SHOWN = 60
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")


class FormulaError(InputError):
    """A formula that cannot be read or used; ``offset`` is the position in its text, in characters from 0.

    It has no place where its text is unknown: :meth:`hati.formula.Source.placing` adds one.
    """

    def __init__(self, message: str, offset: int, *, place: Place | None = None, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.offset = offset


N = TypeVar("N", bound="Node")


@dataclass(frozen=True)
class Node:
    """A node: ``str`` prints it canonically, so that it parses to an equal one.

    ``offset`` is where it was read, in characters from 0 of the whole text; it does not affect equality.

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
        """The node with ``read`` applied to its parts; the node itself if no part changes."""
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
        """An error at this node."""
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
        FormulaError: for an unknown escape, or one that is not a character.

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
    """A text and its name in messages: a file's path, ``formula``, or a function's name.

    ``line`` is the line of the file on which the text begins; columns are those of the text.
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
        """An error at that offset."""
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


A = TypeVar("A", bound=Node)
"""The atoms of a language."""


class Notation(Struct, frozen=True):
    """How a language writes connectives and equality."""

    negation: str
    conjunction: str
    disjunction: str
    equal: str


WORDS = Notation("not ", " and ", " or ", "==")
"""The notation of constraints."""

SIGNS = Notation("!", " & ", " | ", "=")
"""The notation of performance formulas."""


class Proposition(Node, Generic[A]):
    """A proposition, true, false or open: an atom, or a connective of propositions."""

    @property
    @abstractmethod
    def notation(self) -> Notation:
        """The notation in which it prints; connectives have that of their parts."""


class Connective(Proposition[A]):
    """A proposition of propositions."""

    @property
    def notation(self) -> Notation:
        """The notation of the first part."""
        first = self.parts[0]
        assert isinstance(first, Proposition)
        return first.notation


@dataclass(frozen=True)
class Truth(Connective[A]):
    """``true`` or ``false``; a constant without other atoms prints in its notation."""

    value: bool
    notation: Notation = field(default=WORDS, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return str(self.value).lower()


@dataclass(frozen=True)
class Not(Connective[A]):
    """A proposition that holds where its part does not."""

    precedence = 5
    part: Proposition[A]

    def __str__(self) -> str:
        return f"{self.notation.negation}{self.part.bracketed(20)}"


class _Joined(Connective[A]):
    """Two propositions or more, joined by one word."""

    formulas: tuple[Proposition[A], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.formulas) < 2:
            raise InputError("a connective joins two formulas or more")

    def _text(self, word: str) -> str:
        return word.join(part.bracketed(self.precedence) for part in self.formulas)


@dataclass(frozen=True)
class And(_Joined[A]):
    """A proposition that holds where all of its parts do, two or more."""

    precedence = 4
    formulas: tuple[Proposition[A], ...]

    def __str__(self) -> str:
        return self._text(self.notation.conjunction)


@dataclass(frozen=True)
class Or(_Joined[A]):
    """A proposition that holds where at least one of its parts does."""

    precedence = 3
    formulas: tuple[Proposition[A], ...]

    def __str__(self) -> str:
        return self._text(self.notation.disjunction)


@dataclass(frozen=True)
class Implies(Connective[A]):
    """A proposition that holds unless the condition does and the consequence does not; groups to the right."""

    precedence = 2
    condition: Proposition[A]
    consequence: Proposition[A]

    def __str__(self) -> str:
        return f"{self.condition.bracketed(2)} => {self.consequence.bracketed(1)}"


@dataclass(frozen=True)
class Equivalent(Connective[A]):
    """A proposition that holds where both sides do or neither does; groups to the left."""

    precedence = 1
    left: Proposition[A]
    right: Proposition[A]

    def __str__(self) -> str:
        return f"{self.left.bracketed(0)} <=> {self.right.bracketed(1)}"


class Comparator(StrEnum):
    """The required relation of the left side to the right one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    LESS = "<"
    MORE = ">"
    EQUAL = "="
    UNEQUAL = "!="

    @property
    def strict(self) -> bool:
        """Whether it is an order that excludes equality."""
        return self in {Comparator.LESS, Comparator.MORE}

    @property
    def ordered(self) -> bool:
        """Whether it requires an order of its sides."""
        return self not in {Comparator.EQUAL, Comparator.UNEQUAL}

    def compare(self, left: Any, right: Any) -> Any:
        """Whether the comparison holds; elementwise for arrays."""
        return _COMPARED[self](left, right)


_COMPARED: dict[Comparator, Callable[[Any, Any], Any]] = {
    Comparator.AT_MOST: operator.le,
    Comparator.AT_LEAST: operator.ge,
    Comparator.LESS: operator.lt,
    Comparator.MORE: operator.gt,
    Comparator.EQUAL: operator.eq,
    Comparator.UNEQUAL: operator.ne,
}

S = TypeVar("S", bound=Node)
"""The sides of a comparison."""


@dataclass(frozen=True)
class ComparisonNode(Proposition[A], Generic[A, S]):
    """Two values compared: an atom."""

    precedence = 20
    left: S
    comparator: Comparator
    right: S

    def __str__(self) -> str:
        sign = self.notation.equal if self.comparator is Comparator.EQUAL else self.comparator
        return f"{self.left.bracketed(20)} {sign} {self.right.bracketed(20)}"


T = TypeVar("T")


class Algebra(Protocol[T]):
    """The operations that evaluate a proposition; ``T`` is a truth. Parts are lazy and need not all be taken."""

    @abstractmethod
    def constant(self, *, truth: bool) -> T:
        """A constant: always true or never true."""

    @abstractmethod
    def negation(self, part: T) -> T:
        """True where the part is not."""

    @abstractmethod
    def conjunction(self, parts: Iterable[T]) -> T:
        """True where all parts are."""

    def disjunction(self, parts: Iterable[T]) -> T:
        """True where at least one part is."""
        return self.negation(self.conjunction([self.negation(part) for part in parts]))

    def implication(self, condition: T, consequence: T) -> T:
        """True unless the condition is true and the consequence is not."""
        return self.disjunction((self.negation(condition), consequence))

    def equivalence(self, left: T, right: T) -> T:
        """True where both are or neither is."""
        return self.conjunction((self.implication(left, right), self.implication(right, left)))


def combined(connective: Connective[A], algebra: Algebra[T], read: Callable[[Proposition[A]], T]) -> T:
    """The value of a connective in an algebra, with ``read`` giving those of its parts."""
    match connective:
        case Not(part):
            return algebra.negation(read(part))
        case And(parts):
            return algebra.conjunction(read(part) for part in parts)
        case Or(parts):
            return algebra.disjunction(read(part) for part in parts)
        case Implies(condition, consequence):
            return algebra.implication(read(condition), read(consequence))
        case Equivalent(left, right):
            return algebra.equivalence(read(left), read(right))
        case Truth(value):
            return algebra.constant(truth=value)
    raise AssertionError(connective)


def evaluate(proposition: Proposition[A], algebra: Algebra[T], atom: Callable[[Any], T]) -> T:
    """The value of a proposition in an algebra, with ``atom`` giving that of each atom."""

    def read(part: Proposition[A]) -> T:
        return combined(part, algebra, read) if isinstance(part, Connective) else atom(part)

    return read(proposition)


class Kleene(Algebra[bool | None]):
    """Kleene's strong logic, None being unknown; without unknowns it is two-valued logic.

    Kleene 1952, Introduction to Metamathematics, section 64.
    """

    def constant(self, *, truth: bool) -> bool | None:
        """The truth."""
        return truth

    def negation(self, part: bool | None) -> bool | None:  # noqa: FBT001  # a truth of three values
        """The opposite; unknown stays unknown."""
        return None if part is None else not part

    def conjunction(self, parts: Iterable[bool | None]) -> bool | None:
        """False as soon as a part is."""
        found: bool | None = True
        for part in parts:
            if part is False:
                return False
            found = found and part
        return found

    def disjunction(self, parts: Iterable[bool | None]) -> bool | None:
        """True as soon as a part is."""
        found: bool | None = False
        for part in parts:
            if part is True:
                return True
            found = None if part is None else found
        return found


KLEENE = Kleene()


class Simplifying(Algebra[Proposition[A]], Generic[A]):
    """Propositions, simplified by removing constant parts."""

    def constant(self, *, truth: bool) -> Proposition[A]:
        """``true`` or ``false``."""
        return Truth(truth)

    def negation(self, part: Proposition[A]) -> Proposition[A]:
        """The opposite of a constant, else the negation."""
        return Truth(not part.value) if isinstance(part, Truth) else Not(part)

    def conjunction(self, parts: Iterable[Proposition[A]]) -> Proposition[A]:
        """The conjunction without the parts that are true; ``false`` where one is false."""
        return _joined(And, parts, neutral=True)

    def disjunction(self, parts: Iterable[Proposition[A]]) -> Proposition[A]:
        """The disjunction without the parts that are false; ``true`` where one is true."""
        return _joined(Or, parts, neutral=False)

    def implication(self, condition: Proposition[A], consequence: Proposition[A]) -> Proposition[A]:
        """A disjunction where a side is constant."""
        if isinstance(condition, Truth) or isinstance(consequence, Truth):
            return self.disjunction((self.negation(condition), consequence))
        return Implies(condition, consequence)

    def equivalence(self, left: Proposition[A], right: Proposition[A]) -> Proposition[A]:
        """The other side, or its negation, where one is constant."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Truth):
                return other if one.value else self.negation(other)
        return Equivalent(left, right)


def _joined(join: type[And[A] | Or[A]], parts: Iterable[Proposition[A]], *, neutral: bool) -> Proposition[A]:
    kept = tuple(part for part in parts if part != Truth(neutral))
    if Truth(not neutral) in kept:
        return Truth(not neutral)
    if len(kept) < 2:
        return kept[0] if kept else Truth(neutral)
    return join(kept)


SIMPLIFYING: Simplifying[Any] = Simplifying()
