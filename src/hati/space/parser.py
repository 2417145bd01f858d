"""Text to constraints: the language of constraints, and its trees read as terms and conditions."""

from __future__ import annotations

import math
from typing import Any

from hati.formula import WORDS, Comparator, FormulaError, Grammar, Language, Source, read_connective, start_of, unquoted
from hati.space.constraint import (
    Constraint,
    Flag,
    Literal,
    Membership,
    Name,
    NegatedTerm,
    Product,
    Sum,
    Term,
    TermComparison,
)

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
"""What a terminal is called in messages; those that are not there are not mentioned, lest the message be long."""

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
    ``\`` before a quote or a backslash; a name that is no plain word is in backquotes.

    Raises:
        FormulaError: with the place of what is wrong and what was expected there.

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
