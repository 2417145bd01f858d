"""The tree of a formula, built as its text is read; no recursion, whatever the nesting.

This module loads Lark, and is loaded itself when the first formula is read.
"""

from __future__ import annotations

import math
import re
from typing import Any

from lark import Token, Transformer, v_args

from hati.space.formula import (
    Conjunction,
    Constraint,
    ConstraintError,
    ConstraintNode,
    Disjunction,
    Equivalent,
    Flag,
    Implication,
    Literal,
    Membership,
    Name,
    NegatedTerm,
    Negation,
    Product,
    Sum,
    Term,
    TermComparator,
    TermComparison,
    TruthValue,
)

_LARGEST = 2**63
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")


def as_formula(node: ConstraintNode) -> Constraint:
    """What was read, as something true or false; a bare name is then a boolean option."""
    match node:
        case Constraint():
            return node
        case Name(name=name):
            return Flag(name, offset=node.offset)
        case Literal(value=bool(value)):
            return TruthValue(value, offset=node.offset)
        case _:
            raise ConstraintError(f"expected something true or false, found {node}", node.offset, fix="compare it")


def transformer() -> Transformer[Any, Any]:
    """What turns the parser's rules into nodes."""
    return _Builder()


def _as_term(node: ConstraintNode) -> Term:
    if isinstance(node, Term):
        return node
    raise ConstraintError(
        "expected an option or a setting, found something true or false",
        node.offset,
        fix="combine truths with and, or, not, =>, <=>",
    )


@v_args(inline=True)
class _Builder(Transformer[Any, Any]):
    """One method for each rule of the grammar: nodes and tokens in, a node out."""

    def equivalent(self, left: ConstraintNode, right: ConstraintNode) -> Constraint:
        return Equivalent(as_formula(left), as_formula(right), offset=left.offset)

    def implies(self, left: ConstraintNode, right: ConstraintNode) -> Constraint:
        return Implication(as_formula(left), as_formula(right), offset=left.offset)

    def any_of(self, *parts: ConstraintNode) -> Constraint:
        return Disjunction(tuple(as_formula(part) for part in parts), offset=parts[0].offset)

    def all_of(self, *parts: ConstraintNode) -> Constraint:
        return Conjunction(tuple(as_formula(part) for part in parts), offset=parts[0].offset)

    def negate(self, token: Token, part: ConstraintNode) -> Constraint:
        return Negation(as_formula(part), offset=_start(token))

    def compare(self, left: ConstraintNode, comparator: Token, right: ConstraintNode) -> Constraint:
        return TermComparison(_as_term(left), TermComparator(comparator), _as_term(right), offset=left.offset)

    def member(self, term: ConstraintNode, *literals: Literal) -> Constraint:
        return Membership(_as_term(term), literals, offset=term.offset)

    def add(self, first: ConstraintNode, *rest: Any) -> Term:
        terms = (_as_term(first), *(_as_term(node) for node in rest[1::2]))
        return Sum(terms, tuple(str(sign) for sign in rest[::2]), offset=first.offset)

    def multiply(self, *factors: ConstraintNode) -> Term:
        return Product(tuple(_as_term(factor) for factor in factors), offset=factors[0].offset)

    def signed(self, sign: Token, node: ConstraintNode) -> Term:
        term = _as_term(node)
        if isinstance(term, Literal):
            return _with_sign(sign, term)
        return NegatedTerm(term, offset=_start(sign)) if sign == "-" else term

    def signed_number(self, sign: Token, number: Token) -> Literal:
        return _with_sign(sign, self.number(number))

    def name(self, token: Token) -> Term:
        return Name(str(token), offset=_start(token))

    def backquoted(self, token: Token) -> Term:
        return Name(token[1:-1], offset=_start(token))

    def number(self, token: Token) -> Literal:
        return Literal(_number(token), offset=_start(token))

    def text(self, token: Token) -> Literal:
        return Literal(_unescaped(token), offset=_start(token))

    def true(self, token: Token) -> Literal:
        return Literal(value=True, offset=_start(token))

    def false(self, token: Token) -> Literal:
        return Literal(value=False, offset=_start(token))


def _start(token: Token) -> int:
    return token.start_pos or 0


def _with_sign(sign: Token, literal: Literal) -> Literal:
    value = literal.value
    if isinstance(value, bool | str):
        raise ConstraintError(f"{literal} has no sign", _start(sign), fix="only numbers have")
    return Literal(-value if sign == "-" else value, offset=_start(sign))


def _number(token: Token) -> int | float:
    text = token.replace("_", "")
    if text.isdigit() and len(text) <= 20 and int(text) <= _LARGEST:
        return int(text)
    if text.isdigit() or not math.isfinite(float(text)):
        raise ConstraintError("the number is too large", _start(token), fix="integers have 64 bits, reals are finite")
    return float(text)


def _unescaped(token: Token) -> str:
    def character(match: re.Match[str]) -> str:
        if match[2] is not None:
            if match[2] in "\\'\"":
                return match[2]
            raise ConstraintError(
                f"unknown escape {match[0]!r}", _start(token) + 1 + match.start(), fix=r"write \\ for a backslash"
            )
        code = int(match[1], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ConstraintError(f"{match[0]!r} is not a valid character", _start(token) + 1 + match.start())
        return chr(code)

    return _ESCAPE.sub(character, token[1:-1])
