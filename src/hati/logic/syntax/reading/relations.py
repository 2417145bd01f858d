"""Relations: their sides are performances with transformations and margins, or parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.core.wording import nearest, suggestion
from hati.formula import Comparator, unquoted
from hati.logic.syntax.dimension import check_dimensions
from hati.logic.syntax.expression import Expression, Number, Observed, Operation, Operator, check_variable
from hati.logic.syntax.formula import (
    MEAN,
    MEDIAN,
    METRICS,
    STRICT,
    THROUGHPUT,
    FormulaStatistic,
    LimitSide,
    Margin,
    MeasuredStatistic,
    ParameterComparison,
    PerformanceFormula,
    PerformanceSide,
    Relation,
    RelationSide,
    StatisticKind,
)
from hati.logic.syntax.language import FUNCTIONS_OF_METHODS
from hati.logic.syntax.reading.expressions import Context, Part, read_expression
from hati.logic.syntax.reading.methods import read_method
from hati.logic.syntax.transformation import affine

_STATISTICS = {"mean": MEAN, "median": MEDIAN, "throughput": THROUGHPUT}


class ReadSide(Struct, frozen=True):
    """A side as read: its expression, and the method that is observed in it, None for a limit."""

    expression: Expression
    measured: MeasuredStatistic | None

    @property
    def side(self) -> RelationSide:
        """The side of a relation."""
        if self.measured is None:
            return LimitSide(self.expression, offset=self.expression.offset)
        return PerformanceSide(self.measured, self.expression, offset=self.expression.offset)


def read_side(context: Context, tree: Part) -> ReadSide:
    """A side of a relation.

    Raises:
        FormulaError: for two methods in one side, or names that are not known.
    """
    found: list[MeasuredStatistic] = []
    expression = read_expression(replace(context, measured=found, refusal=""), tree)
    if len(found) > 1:
        fix = "write a relation for each, joined by & or |"
        raise context.source.error(found[1].offset, "a side has one method, not two", fix)
    if found and not isinstance(expression, Observed) and not expression.variables:
        _check_factor(context, tree, found[0], expression)
    return ReadSide(expression, found[0] if found else None)


def _check_factor(context: Context, tree: Part, measured: MeasuredStatistic, expression: Expression) -> None:
    """Refuse a factor that cancels the measurement, or that a statistic does not commute with."""
    line = affine(expression)
    if line is None or line.factor > 0 or (line.factor < 0 and measured.statistic == MEAN):
        return
    allowed = "use one that is not zero" if measured.statistic == MEAN else "use one above zero"
    fix = "turn the relation round" if line.factor < 0 else allowed
    raise context.error(tree, f"the factor of {measured.shortened} is {line.factor:g}", fix)


def read_measured(context: Context, tree: Any) -> Expression:
    """A method, or a statistic or metric of one, as the observed value; the method joins the context's list."""
    head, *suffixes = tree.children
    name = str(head)
    if head.type != "QUANTILE" and not (head.type == "WORD" and name in FUNCTIONS_OF_METHODS):
        _check_function(context, tree, name)
        offset = context.offset(tree)
        return _found(context, MeasuredStatistic(read_method(context, tree), offset=offset), Observed(offset=offset))
    if len(suffixes) != 1 or _data(suffixes[0]) != "arguments":
        fix = f"write {name}(a); a method of that name is `{name}`"
        raise InputError(f"{name!r} is a function of methods", fix=fix)
    arguments = list(suffixes[0].children)
    if head.type == "QUANTILE":
        statistic = _percentile(name)
    elif name == "quantile":
        statistic = _quantile(arguments)
    else:
        statistic = _STATISTICS.get(name, MEAN)
    if len(arguments) != 1:
        raise InputError(f"{name} takes one method, not {len(arguments)}", fix=f"write {name}(a)")
    inner = _inner(context, arguments[0], name)
    if name in METRICS:
        return _with_metric(context, tree, inner, METRICS[name])
    return _with_statistic(context, tree, inner, statistic)


def _check_function(context: Context, tree: Any, name: str) -> None:
    """Refuse a method that is called with a method, where a function of methods was probably meant."""
    match tree.children[1:]:
        case [Tree(data="arguments", children=[Tree(data="call", children=[Token(value=inner), *_])])]:
            known = context.declarations.aliases.keys() | (context.methods or frozenset())
            variables = context.variables | context.declarations.constants.keys()
            if name not in known and inner not in variables and nearest(name, FUNCTIONS_OF_METHODS):
                raise InputError(f"unknown function {name!r}", fix=suggestion(name, FUNCTIONS_OF_METHODS))


def _data(suffix: Any) -> str:
    return suffix.data if isinstance(suffix, Tree) else ""


def _percentile(name: str) -> FormulaStatistic:
    level = Decimal(name[1:]) / 100
    if level > 1:
        raise InputError(f"there is no {name}", fix="use p0 to p100")
    return FormulaStatistic(StatisticKind.QUANTILE, float(level))


def _quantile(arguments: list[Any]) -> FormulaStatistic:
    match arguments[:1]:
        case [Tree(data="number", children=[Token(value=text), *unit])] if not unit or unit[0] == "%":
            level = Decimal(text.replace("_", "")) / (100 if unit else 1)
            arguments.pop(0)
            return FormulaStatistic(StatisticKind.QUANTILE, float(level))
        case _:
            raise InputError("a quantile needs its level", fix="write quantile(0.99, a) or p99(a)")


def _inner(context: Context, tree: Part, name: str) -> ReadSide:
    inner = read_side(context, tree)
    if inner.measured is None:
        raise context.error(tree, f"{name} of a number", f"write {name}(a); a method of that name is `{name}`")
    return inner


def _with_statistic(context: Context, tree: Any, inner: ReadSide, statistic: FormulaStatistic) -> Expression:
    assert inner.measured is not None
    if inner.measured.statistic != MEAN:
        raise InputError("a statistic of a statistic", fix="keep one")
    measured = replace(inner.measured, statistic=statistic, offset=context.offset(tree))
    return _found(context, measured, inner.expression)


def _with_metric(context: Context, tree: Any, inner: ReadSide, metric: str) -> Expression:
    assert inner.measured is not None
    if inner.measured.metric:
        raise InputError("a metric of a metric", fix="keep one")
    if inner.measured.statistic != MEAN:
        raise InputError("a metric of a statistic", fix="write the statistic outside: p99(cpu(a))")
    return _found(context, replace(inner.measured, metric=metric, offset=context.offset(tree)), inner.expression)


def read_metric(context: Context, tree: Any) -> Expression:
    """``latency of get(1000)``."""
    name, part = tree.children
    metric = unquoted(name, context.offset(name)) if name.type == "TEXT" else str(name)
    if not metric:
        raise InputError("a metric has an empty name", fix="name it, for instance 'latency'")
    return _with_metric(context, tree, _inner(context, part, metric), metric)


def _found(context: Context, measured: MeasuredStatistic, expression: Expression) -> Expression:
    assert context.measured is not None
    context.measured.append(measured)
    return expression


_COMPARATORS = {"==": "=", "≤": "<=", "≥": ">="}


class _Tail(Struct, frozen=True):
    """What follows the left side: the comparator, transformations and the margin of the original tool, the right."""

    comparator: Comparator
    right: Any
    transformations: tuple[Expression, ...] = ()
    margin: Margin | None = None


def read_relation(context: Context, tree: Any) -> PerformanceFormula:
    """A relation between two sides.

    Raises:
        FormulaError: for chained relations, a wrong count of transformations, or sides that do not fit.
    """
    first, *rest = tree.children
    tails = [part for part in rest if str(part.data).endswith("tail")]
    margins = [part for part in rest if not str(part.data).endswith("tail")]
    if len(tails) > 1:
        fix = "write separate relations, joined: a <= b & b <= c"
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


def _comparison(left: ReadSide, right: ReadSide, tail: _Tail, margin: Margin | None, offset: int) -> PerformanceFormula:
    if margin or tail.transformations:
        raise InputError("neither side of the relation is measured", fix="compare with a method")
    return ParameterComparison(left.expression, tail.comparator, right.expression, offset=offset)


def _transformed(
    context: Context, trees: tuple[Any, Any], sides: tuple[ReadSide, ReadSide], transformations: tuple[Expression, ...]
) -> tuple[RelationSide, RelationSide]:
    left, right = (
        _with_transformation(context, tree, side, transformation)
        for tree, side, transformation in zip(trees, sides, transformations or (None, None), strict=True)
    )
    return left, right


def _with_transformation(
    context: Context, tree: Any, side: ReadSide, transformation: Expression | None
) -> RelationSide:
    with context.at(tree):
        if transformation is None:
            return side.side
        if side.measured is None:
            if not isinstance(transformation, Observed):
                raise InputError("a limit is not transformed", fix="write x: x for its side")
            return side.side
        if not isinstance(side.expression, Observed):
            raise InputError("this side has a lambda and arithmetic", fix="put the arithmetic into the lambda")
        return PerformanceSide(side.measured, transformation, offset=side.measured.offset)


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
