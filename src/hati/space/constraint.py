"""Constraints over options: their terms and conditions, and how they are read from text and printed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from hati.core import Setting
from hati.formula import (
    SIMPLIFYING,
    WORDS,
    Comparator,
    ComparisonNode,
    FormulaError,
    Grammar,
    Language,
    Node,
    Notation,
    Proposition,
    Source,
    Truth,
    quoted,
    read_connective,
    start_of,
    unquoted,
)


class OptionKind(StrEnum):
    """The type of an option's settings: booleans, text, integers or real numbers."""

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
    """An option's name as formulas write it: bare, or in backquotes where it is not a plain word."""
    return name if BARE_NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


def literal_text(value: Setting) -> str:
    """A setting as a literal of a formula."""
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


class Term(Node):
    """A term with a value: a setting of an option, a literal, or a sum or product of numbers."""


@dataclass(frozen=True)
class Literal(Term):
    """A setting as written; ``kind`` distinguishes 1 from 1.0 and from true."""

    value: Setting
    kind: OptionKind = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kind", OptionKind.of(self.value))

    def __str__(self) -> str:
        return literal_text(self.value)


@dataclass(frozen=True)
class Mention(Node):
    """The mention of an option in a formula."""

    name: str

    def __str__(self) -> str:
        return name_text(self.name)


class Name(Mention, Term):
    """The setting of an option."""


@dataclass(frozen=True)
class NegatedTerm(Term):
    """A number with its sign changed; the term is never a literal, which carries its own sign."""

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
    """An atom of constraints, true or false of a configuration."""

    @property
    def notation(self) -> Notation:
        """The notation in words."""
        return WORDS

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it mentions, each once, in order of reading."""
        return mentioned(self)


Constraint: TypeAlias = Proposition[Condition]
"""A proposition about a configuration: conditions and their connectives."""

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
    """The conjunction of the parts, without those that are constantly true."""
    return SIMPLIFYING.conjunction(parts)


LONGEST = 20_000
"""The greatest length of a formula's text, in characters."""

_LARGEST = 2**63
_EQUAL = {"==": Comparator.EQUAL}

_CALLED = {
    **dict.fromkeys(("NAME", "BACKQUOTED"), "an option"),
    **dict.fromkeys(("NUMBER", "TEXT", "TRUTH"), "a setting"),
    "_LPAR": "'('",
    "_RPAR": "')'",
    "LBRACKET": "'['",
    "_RBRACKET": "']'",
    "_COMMA": "','",
    **dict.fromkeys(("COMPARATOR", "_IN"), "a comparison"),
    "_AND": "and, or, =>, <=>",
    "$END": "the end",
}
"""The names of terminals in messages; others are not mentioned, to keep messages short."""

_OURS = {
    **dict.fromkeys(("&&", "&", "\N{LOGICAL AND}"), "and"),
    **dict.fromkeys(("||", "|", "\N{LOGICAL OR}"), "or"),
    **dict.fromkeys(("!", "\N{NOT SIGN}"), "not"),
    "<->": "<=>",
    "<>": "!=",
    "->": "=>",
    "=<": "<=",
    "=": "==",
}


def _grammar() -> Grammar:
    from hati.space.parse_tables import GRAMMAR  # late: few commands read formulas

    return GRAMMAR


def _expected(terminals: set[str]) -> list[str]:
    return [word for name, word in _CALLED.items() if name in terminals]


_LANGUAGE = Language(_grammar, LONGEST, {theirs: f"write {ours!r}" for theirs, ours in _OURS.items()}, _expected)


def parse_formula(text: str) -> Constraint:
    r"""Read a formula such as ``cache <= 2000 or not (mode == 'WAL')``.

    From loosest to tightest: ``<=>``; ``=>`` (groups to the right); ``or``; ``and``; ``not``;
    ``== != < <= > >=`` and ``in [...]``; ``+ -``; ``*``. Text is in quotes, single or double, with
    ``\`` before a quote or a backslash; a name that is not a plain word is in backquotes.

    Raises:
        FormulaError: for a malformed formula, with the place and the expected token.

    >>> str(parse_formula("a=>(b   and c == 1)"))
    'a => b and c == 1'
    """
    source = Source(text)
    with source.placing():
        return _constraint(_LANGUAGE.parse(source, "formula"))


def _constraint(tree: Any) -> Constraint:
    offset = start_of(tree)
    connective = read_connective(tree, _constraint, offset, WORDS)
    if connective is not None:
        return connective
    match tree.data, tree.children:
        case "name", [token]:
            return Flag(_name(token), offset=offset)
        case "compare", [left, sign, right]:
            return TermComparison(_term(left), _EQUAL.get(sign) or Comparator(sign), _term(right), offset=offset)
        case "member", [term, _, *literals]:
            return Membership(_term(term), tuple(map(_literal, literals)), offset=offset)
        case _:
            found = _term(tree)
            raise found.error(f"expected something true or false, found {found}", fix="compare it")


def _term(tree: Any) -> Term:
    offset = start_of(tree)
    match tree.data, tree.children:
        case "name", [token]:
            return Name(_name(token), offset=offset)
        case "operation", [first, sign, *rest] if sign == "*":
            return Product(tuple(map(_term, (first, *rest[::2]))), offset=offset)
        case "operation", [first, *rest]:
            return Sum(tuple(map(_term, (first, *rest[1::2]))), tuple(map(str, rest[::2])), offset=offset)
        case "signed", [sign, part]:
            term = _term(part)
            if isinstance(term, Literal):
                return _with_sign(sign, term)
            return NegatedTerm(term, offset=offset) if sign == "-" else term
        case "number" | "text" | "truth", _:
            return _literal(tree)
        case _:
            raise FormulaError(
                "expected an option or a setting, found something true or false",
                offset,
                fix="combine truths with and, or, not, =>, <=>",
            )


def _name(token: Any) -> str:
    return str(token[1:-1] if token.type == "BACKQUOTED" else token)


def _literal(tree: Any) -> Literal:
    offset = start_of(tree)
    match tree.data, tree.children:
        case "signed", [sign, part]:
            return _with_sign(sign, _literal(part))
        case "number", [token]:
            return Literal(_number(token, offset), offset=offset)
        case "text", [token]:
            return Literal(unquoted(token, offset), offset=offset)
        case _:
            return Literal(tree.children[0] == "true", offset=offset)


def _with_sign(sign: Any, literal: Literal) -> Literal:
    value, offset = literal.value, start_of(sign)
    if isinstance(value, bool | str):
        raise FormulaError(f"{literal} has no sign", offset, fix="only numbers have")
    return Literal(-value if sign == "-" else value, offset=offset)


def _number(token: str, offset: int) -> int | float:
    text = token.replace("_", "")
    if text.isdigit() and len(text) <= 20 and int(text) <= _LARGEST:
        return int(text)
    if text.isdigit() or not math.isfinite(float(text)):
        raise FormulaError("the number is too large", offset, fix="integers have 64 bits, reals are finite")
    return float(text)
