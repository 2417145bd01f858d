"""Formulas over options, as frozen trees; ``str`` prints them so that they parse to the same tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import ClassVar

from hati.core import InputError, Place, Setting


class OptionKind(StrEnum):
    """What the settings of an option are: booleans, text, integers or real numbers."""

    BOOLEAN = "boolean"
    ENUMERATION = "enumeration"
    INTEGER = "integer"
    REAL = "real"

    @classmethod
    def of(cls, setting: Setting) -> OptionKind:
        """The kind that has settings of that type."""
        return _KINDS[type(setting)]

    @property
    def numeric(self) -> bool:
        """Whether the settings are numbers."""
        return self in (OptionKind.INTEGER, OptionKind.REAL)


_KINDS = {bool: OptionKind.BOOLEAN, str: OptionKind.ENUMERATION, int: OptionKind.INTEGER, float: OptionKind.REAL}


DEEPEST = 60
"""The greatest depth of a formula's tree."""

KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false"})
BARE_NAME = re.compile(r"[^\W\d][\w.]*")


class ConstraintError(InputError):
    """A formula that cannot be read or does not fit its space; ``offset`` counts from 0 in ``text``.

    ``text`` is empty where the formula was not read from text.
    """

    def __init__(self, message: str, offset: int, *, text: str = "", fix: str | None = None) -> None:
        super().__init__(message, place=_place(text, offset) if text else None, fix=fix)
        self.offset = offset
        self.text = text


def _place(text: str, offset: int) -> Place:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return Place(
        "formula", text.count("\n", 0, offset) + 1, offset - start + 1, text[start : end if end >= 0 else None]
    )


@dataclass(frozen=True)
class ConstraintNode:
    """What terms and formulas share.

    ``offset`` is where the node was read, from 0; it makes no difference to equality.
    """

    precedence: ClassVar[int]
    offset: int = field(default=0, compare=False, repr=False, kw_only=True)
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts), default=0)
        if depth > DEEPEST:
            raise ConstraintError(
                f"the formula is nested deeper than {DEEPEST} levels",
                self.offset,
                fix="split it into several constraints",
            )
        object.__setattr__(self, "depth", depth)

    @property
    def parts(self) -> tuple[ConstraintNode, ...]:
        """The nodes right below, in order."""
        values = [getattr(self, item.name) for item in fields(self) if item.init]
        listed = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(part for group in listed for part in group if isinstance(part, ConstraintNode))

    def nodes(self) -> Iterator[ConstraintNode]:
        """This node and all below, in order of reading."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def bracketed(self, precedence: int) -> str:
        """The node's text, in parentheses unless it binds tighter than ``precedence``."""
        return str(self) if self.precedence > precedence else f"({self})"


class Term(ConstraintNode):
    """What has a value: a setting of an option, a literal or a sum or product of numbers."""


class Constraint(ConstraintNode):
    """What is true or false of a configuration."""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it mentions, each once, in order of reading."""
        names = (node.name for node in self.nodes() if isinstance(node, Name | Flag))
        return tuple(dict.fromkeys(names))


def quoted(text: str) -> str:
    """Text as a literal of a formula."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in escaped) + "'"


def name_text(name: str) -> str:
    """An option's name as formulas write it: bare, or in backquotes where it is no plain word."""
    return name if BARE_NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


def literal_text(value: Setting) -> str:
    """A setting as a literal of a formula."""
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


@dataclass(frozen=True)
class Literal(Term):
    """A setting as written; ``kind`` tells 1 from 1.0 and from true."""

    precedence = 10
    value: Setting
    kind: OptionKind = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kind", OptionKind.of(self.value))

    def __str__(self) -> str:
        return literal_text(self.value)


@dataclass(frozen=True)
class Name(Term):
    """The setting of an option."""

    precedence = 10
    name: str

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class NegatedTerm(Term):
    """A number with its sign changed; a literal carries its own sign, so the term is none."""

    precedence = 9
    term: Term

    def __str__(self) -> str:
        return f"-{self.term.bracketed(8)}"


@dataclass(frozen=True)
class Product(Term):
    """A product of two factors or more."""

    precedence = 8
    factors: tuple[Term, ...]

    def __str__(self) -> str:
        return " * ".join(factor.bracketed(8) for factor in self.factors)


@dataclass(frozen=True)
class Sum(Term):
    """A sum and difference: ``signs`` holds ``+`` or ``-`` for every term after the first."""

    precedence = 7
    terms: tuple[Term, ...]
    signs: tuple[str, ...]

    def __str__(self) -> str:
        rest = (f" {sign} {term.bracketed(7)}" for sign, term in zip(self.signs, self.terms[1:], strict=True))
        return self.terms[0].bracketed(7) + "".join(rest)


class TermComparator(StrEnum):
    """How two terms are compared."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True)
class TruthValue(Constraint):
    """``true`` or ``false``."""

    precedence = 10
    value: bool

    def __str__(self) -> str:
        return literal_text(self.value)


@dataclass(frozen=True)
class Flag(Constraint):
    """A boolean option that is active and true."""

    precedence = 10
    name: str

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class TermComparison(Constraint):
    """Two terms compared; false where either mentions an inactive option."""

    precedence = 6
    left: Term
    comparator: TermComparator
    right: Term

    def __str__(self) -> str:
        return f"{self.left.bracketed(6)} {self.comparator} {self.right.bracketed(6)}"


@dataclass(frozen=True)
class Membership(Constraint):
    """A term that equals one of some literals; false where it mentions an inactive option."""

    precedence = 6
    term: Term
    literals: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{self.term.bracketed(6)} in [{', '.join(str(literal) for literal in self.literals)}]"


@dataclass(frozen=True)
class Negation(Constraint):
    """What holds where its part does not."""

    precedence = 5
    part: Constraint

    def __str__(self) -> str:
        return f"not {self.part.bracketed(6)}"


@dataclass(frozen=True)
class Conjunction(Constraint):
    """What holds where all of its parts do, two or more."""

    precedence = 4
    formulas: tuple[Constraint, ...]

    def __str__(self) -> str:
        return " and ".join(part.bracketed(4) for part in self.formulas)


@dataclass(frozen=True)
class Disjunction(Constraint):
    """What holds where one of its parts does, or several."""

    precedence = 3
    formulas: tuple[Constraint, ...]

    def __str__(self) -> str:
        return " or ".join(part.bracketed(3) for part in self.formulas)


@dataclass(frozen=True)
class Implication(Constraint):
    """What holds unless the condition does and the consequence does not; groups to the right."""

    precedence = 2
    condition: Constraint
    consequence: Constraint

    def __str__(self) -> str:
        return f"{self.condition.bracketed(2)} => {self.consequence.bracketed(1)}"


@dataclass(frozen=True)
class Equivalent(Constraint):
    """What holds where both sides do or neither does; groups to the left."""

    precedence = 1
    left: Constraint
    right: Constraint

    def __str__(self) -> str:
        return f"{self.left.bracketed(0)} <=> {self.right.bracketed(1)}"


def conjunction(*parts: Constraint) -> Constraint:
    """All of the parts, without those that are true anyway."""
    kept = tuple(part for part in parts if part != TruthValue(value=True))
    if len(kept) < 2:
        return kept[0] if kept else TruthValue(value=True)
    return Conjunction(kept)
