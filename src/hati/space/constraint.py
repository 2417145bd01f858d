"""Constraints over options: the terms and atoms of their formulas; ``str`` prints them so that they parse to the same
tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from hati.core import Setting
from hati.formula import SIMPLIFYING, WORDS, ComparisonNode, Node, Notation, Proposition, Truth, quoted


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

KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false"})
BARE_NAME = re.compile(r"[^\W\d][\w.]*")


def name_text(name: str) -> str:
    """An option's name as formulas write it: bare, or in backquotes where it is no plain word."""
    return name if BARE_NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


def literal_text(value: Setting) -> str:
    """A setting as a literal of a formula."""
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


class Term(Node):
    """What has a value: a setting of an option, a literal or a sum or product of numbers."""


@dataclass(frozen=True)
class Literal(Term):
    """A setting as written; ``kind`` tells 1 from 1.0 and from true."""

    value: Setting
    kind: OptionKind = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kind", OptionKind.of(self.value))

    def __str__(self) -> str:
        return literal_text(self.value)


@dataclass(frozen=True)
class Mention(Node):
    """An option where a formula names it."""

    name: str

    def __str__(self) -> str:
        return name_text(self.name)


class Name(Mention, Term):
    """The setting of an option."""


@dataclass(frozen=True)
class NegatedTerm(Term):
    """A number with its sign changed; a literal carries its own sign, so the term is none."""

    precedence = 26
    term: Term

    def __str__(self) -> str:
        return f"-{self.term.bracketed(25)}"


@dataclass(frozen=True)
class Product(Term):
    """A product of two factors or more."""

    precedence = 25
    factors: tuple[Term, ...]

    def __str__(self) -> str:
        return " * ".join(factor.bracketed(25) for factor in self.factors)


@dataclass(frozen=True)
class Sum(Term):
    """A sum and difference: ``signs`` holds ``+`` or ``-`` for every term after the first."""

    precedence = 24
    terms: tuple[Term, ...]
    signs: tuple[str, ...]

    def __str__(self) -> str:
        rest = (f" {sign} {term.bracketed(24)}" for sign, term in zip(self.signs, self.terms[1:], strict=True))
        return self.terms[0].bracketed(24) + "".join(rest)


class Condition(Proposition["Condition"]):
    """An atom of constraints: what is true or false of a configuration."""

    @property
    def notation(self) -> Notation:
        """Words."""
        return WORDS

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it mentions, each once, in order of reading."""
        return mentioned(self)


Constraint: TypeAlias = Proposition[Condition]
"""What is true or false of a configuration: conditions, and their connectives."""

TRUE: Constraint = Truth(value=True)
FALSE: Constraint = Truth(value=False)


def mentioned(formula: Node) -> tuple[str, ...]:
    """The names of the options that a formula mentions, each once, in order of reading."""
    return tuple(dict.fromkeys(node.name for node in formula.find(Mention)))


class Flag(Mention, Condition):
    """A boolean option that is active and true."""


class TermComparison(ComparisonNode[Condition, Term], Condition):
    """Two terms compared; false where either mentions an inactive option."""


@dataclass(frozen=True)
class Membership(Condition):
    """A term that equals one of some literals; false where it mentions an inactive option."""

    precedence = 20
    term: Term
    literals: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{self.term.bracketed(20)} in [{', '.join(str(literal) for literal in self.literals)}]"


def conjunction(*parts: Constraint) -> Constraint:
    """All of the parts, without those that are true anyway."""
    return SIMPLIFYING.conjunction(parts)
