"""Relations: between performances, with transformations and margins, and between parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.logic.syntax.dimension import check_dimensions
from hati.logic.syntax.expression import Expression, Number, Observed, Operation, Operator, check_variable
from hati.logic.syntax.formula import STRICT, Comparator, Comparison, Formula, Margin, Relation
from hati.logic.syntax.performance import Performance, Side
from hati.logic.syntax.reading.context import Context
from hati.logic.syntax.reading.expressions import read_expression
from hati.logic.syntax.reading.sides import ReadSide, read_side

_COMPARATORS = {"==": "=", "≤": "<=", "≥": ">="}


class _Tail(Struct, frozen=True):
    """What follows the left side: the comparator, transformations and the margin of the original tool, the right."""

    comparator: Comparator
    right: Any
    transformations: tuple[Expression, ...] = ()
    margin: Margin | None = None


def read_relation(context: Context, tree: Any) -> Formula:
    """A relation between two sides.

    Raises:
        FormulaError: for chained relations, a wrong count of transformations, or sides that do not fit.
    """
    first, *rest = tree.children
    tails = [part for part in rest if str(part.data).endswith("tail")]
    margins = [part for part in rest if not str(part.data).endswith("tail")]
    if len(tails) > 1:
        fix = "write each by itself, joined: a <= b & b <= c"
        raise context.error(tails[1], "relations are not chained", fix)
    if len(margins) > 1:
        raise context.error(margins[1], "the relation already has a margin", "keep one")
    tail = _tail(context, tails[0])
    margin = _margin(context, margins[0]) if margins else tail.margin
    left, right = read_side(context, first), read_side(context, tail.right)
    offset = context.offset(tree)
    with context.at(margins[0] if margins else tails[0]):
        if left.measured is None and right.measured is None:
            return _comparison(left, right, tail, margin, offset)
        sides = _transformed(context, (first, tail.right), (left, right), tail.transformations)
        relation = Relation(sides[0], tail.comparator, sides[1], margin, offset=offset)
    check_dimensions(relation)
    return relation


def _comparison(left: ReadSide, right: ReadSide, tail: _Tail, margin: Margin | None, offset: int) -> Formula:
    if margin or tail.transformations:
        raise InputError("neither side of the relation is measured", fix="compare with a method")
    return Comparison(left.expression, tail.comparator, right.expression, offset=offset)


def _transformed(
    context: Context, trees: tuple[Any, Any], sides: tuple[ReadSide, ReadSide], transformations: tuple[Expression, ...]
) -> tuple[Side, Side]:
    left, right = (
        _with_transformation(context, tree, side, transformation)
        for tree, side, transformation in zip(trees, sides, transformations or (None, None), strict=True)
    )
    return left, right


def _with_transformation(context: Context, tree: Any, side: ReadSide, transformation: Expression | None) -> Side:
    with context.at(tree):
        if transformation is None:
            return side.side
        if side.measured is None:
            if not isinstance(transformation, Observed):
                raise InputError("a limit is not transformed", fix="write x: x for its side")
            return side.side
        if not isinstance(side.expression, Observed):
            raise InputError("this side has a lambda and arithmetic", fix="put the arithmetic into the lambda")
        return Performance(side.measured, transformation, offset=side.measured.offset)


def _tail(context: Context, tree: Any) -> _Tail:
    token, *rest = tree.children
    sign = token.removesuffix("_p")
    comparator = Comparator(_COMPARATORS.get(sign, sign))
    if tree.data == "plain_tail":
        return _Tail(comparator, rest[0])
    if tree.data == "epsilon_tail":
        return _Tail(comparator, rest[1], margin=_epsilon(context, comparator, rest[0]))
    *entries, right = rest
    if not 2 <= len(entries) <= 3:
        fix = "write one for each side: a <=(x: x, x: 1.05 * x) b"
        raise context.error(entries[0], f"{len(entries)} transformation{'s' * (len(entries) != 1)}", fix)
    margin = _epsilon(context, comparator, entries[2]) if len(entries) == 3 else None
    return _Tail(comparator, right, tuple(_entry(context, entry) for entry in entries[:2]), margin)


def _entry(context: Context, tree: Any) -> Expression:
    """A lambda, ``id``, or the factor of the original tool."""
    match tree:
        case Tree(data="lambda", children=[Token() as token, body]):
            return _lambda(context, token, body)
        case Tree(data="call", children=[Token(type="WORD", value="id")]):
            return Observed(offset=context.offset(tree))
        case _:
            factor = read_expression(context.plain("write a lambda: x: 1.05 * x"), tree)
            if factor == Number(1):
                return Observed(offset=factor.offset)
            return Operation(Operator.MULTIPLY, factor, Observed(), offset=factor.offset)


def _lambda(context: Context, token: Token, body: Any) -> Expression:
    name = token.strip("λ:. \t\r\n")
    with context.at(token):
        check_variable(name)
    read = read_expression(
        replace(context.plain("a lambda has numbers and its variable"), observed=name), _written(body)
    )
    if not read.observes:
        raise context.error(body, f"the lambda does not depend on {name}", f"write {name}: {name} for the identity")
    return read


def _written(body: Any) -> Any:
    """The body of a lambda; one printed as `0.95x` with the sign that is left out."""
    match body:
        case Tree(data="scaled", children=[factor, Token() as variable]):
            times = Token.new_borrow_pos("TIMES", "*", variable)
            return Tree("operation", [Tree("number", [factor]), times, Tree("call", [variable])])
        case _:
            return body


def _epsilon(context: Context, comparator: Comparator, tree: Any) -> Margin:
    """The margin of the original tool's ``=(0.05)``, a share."""
    with context.at(tree):
        if comparator is not Comparator.EQUAL:
            raise InputError("only = has a margin in parentheses", fix="write a <= b within 3%, or two lambdas")
        match read_expression(context.plain("write a = b +- 3%"), tree):
            case Number(value, ""):
                share = float(Decimal(repr(value)) * 100)
                return Margin(Number(int(share) if share.is_integer() else share, "%"), offset=context.offset(tree))
            case _:
                raise InputError("expected a number such as 0.05", fix="write a = b +- 5%")


def _margin(context: Context, tree: Any) -> Margin:
    with context.at(tree):
        if tree.data == "strictly":
            return STRICT
        amount = read_expression(context.plain("a margin is a share or an amount: 3%, 2 ms"), tree.children[1])
        if isinstance(amount, Number) and not amount.unit and amount.value:
            share = f"{amount.value * 100:g}% or {amount.value:g}%" if amount.value < 1 else f"{amount.value:g}%"
            raise context.error(tree.children[1], "a margin needs % or a unit", f"write {share}")
        if isinstance(amount, Number) and not amount.value:
            return STRICT
        return Margin(amount, offset=context.offset(tree))
