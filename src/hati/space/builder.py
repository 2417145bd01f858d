"""The tree of a formula, built as its text is read; no recursion, whatever the nesting.

This module loads Lark, and is loaded itself when the first formula is read.
"""

from __future__ import annotations

import math
import re
from typing import Any

from lark import Token, Transformer, v_args

from hati.space.formula import (
    And,
    Comparator,
    Comparison,
    Equivalent,
    Flag,
    Formula,
    FormulaError,
    Implies,
    Literal,
    Membership,
    Name,
    Negative,
    Node,
    Not,
    Or,
    Product,
    Sum,
    Term,
    Truth,
)

_LARGEST = 2**63
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")


def as_formula(node: Node) -> Formula:
    """What was read, as something true or false; a bare name is then a boolean option."""
    match node:
        case Formula():
            return node
        case Name(name=name):
            return Flag(name, offset=node.offset)
        case Literal(value=bool(value)):
            return Truth(value, offset=node.offset)
        case _:
            raise FormulaError(f"expected something true or false, found {node}", node.offset, fix="compare it")


def transformer() -> Transformer[Any, Any]:
    """What turns the parser's rules into nodes."""
    return _Builder()


def _as_term(node: Node) -> Term:
    if isinstance(node, Term):
        return node
    raise FormulaError(
        "expected an option or a setting, found something true or false",
        node.offset,
        fix="combine truths with and, or, not, =>, <=>",
    )


@v_args(inline=True)
class _Builder(Transformer[Any, Any]):
    """One method for each rule of the grammar: nodes and tokens in, a node out."""

    def equivalent(self, left: Node, right: Node) -> Formula:
        return Equivalent(as_formula(left), as_formula(right), offset=left.offset)

    def implies(self, left: Node, right: Node) -> Formula:
        return Implies(as_formula(left), as_formula(right), offset=left.offset)

    def any_of(self, *parts: Node) -> Formula:
        return Or(tuple(as_formula(part) for part in parts), offset=parts[0].offset)

    def all_of(self, *parts: Node) -> Formula:
        return And(tuple(as_formula(part) for part in parts), offset=parts[0].offset)

    def negate(self, token: Token, part: Node) -> Formula:
        return Not(as_formula(part), offset=_start(token))

    def compare(self, left: Node, comparator: Token, right: Node) -> Formula:
        return Comparison(_as_term(left), Comparator(comparator), _as_term(right), offset=left.offset)

    def member(self, term: Node, *literals: Literal) -> Formula:
        return Membership(_as_term(term), literals, offset=term.offset)

    def add(self, first: Node, *rest: Any) -> Term:
        terms = (_as_term(first), *(_as_term(node) for node in rest[1::2]))
        return Sum(terms, tuple(str(sign) for sign in rest[::2]), offset=first.offset)

    def multiply(self, *factors: Node) -> Term:
        return Product(tuple(_as_term(factor) for factor in factors), offset=factors[0].offset)

    def signed(self, sign: Token, node: Node) -> Term:
        term = _as_term(node)
        if isinstance(term, Literal):
            return _with_sign(sign, term)
        return Negative(term, offset=_start(sign)) if sign == "-" else term

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
        raise FormulaError(f"{literal} has no sign", _start(sign), fix="only numbers have")
    return Literal(-value if sign == "-" else value, offset=_start(sign))


def _number(token: Token) -> int | float:
    text = token.replace("_", "")
    if text.isdigit() and len(text) <= 20 and int(text) <= _LARGEST:
        return int(text)
    if text.isdigit() or not math.isfinite(float(text)):
        raise FormulaError("the number is too large", _start(token), fix="integers have 64 bits, reals are finite")
    return float(text)


def _unescaped(token: Token) -> str:
    def character(match: re.Match[str]) -> str:
        if match[2] is not None:
            if match[2] in "\\'\"":
                return match[2]
            raise FormulaError(
                f"unknown escape {match[0]!r}", _start(token) + 1 + match.start(), fix=r"write \\ for a backslash"
            )
        code = int(match[1], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise FormulaError(f"{match[0]!r} is not a valid character", _start(token) + 1 + match.start())
        return chr(code)

    return _ESCAPE.sub(character, token[1:-1])
