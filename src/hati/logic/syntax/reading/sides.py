"""The sides of performance relations: a statistic of a method, times a factor, plus a shift, or a limit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.core.nearest import nearest, suggestion
from hati.logic.syntax.expression import Expression, Observed
from hati.logic.syntax.names import FUNCTIONS_OF_METHODS, unquoted
from hati.logic.syntax.node import shortened
from hati.logic.syntax.performance import (
    MEAN,
    MEDIAN,
    METRICS,
    THROUGHPUT,
    Limit,
    Measured,
    Performance,
    Side,
    Statistic,
    StatisticKind,
)
from hati.logic.syntax.reading.context import Context, Part
from hati.logic.syntax.reading.expressions import read_expression
from hati.logic.syntax.reading.methods import read_method
from hati.logic.syntax.transformation import affine

_STATISTICS = {"mean": MEAN, "median": MEDIAN, "throughput": THROUGHPUT}


class ReadSide(Struct, frozen=True):
    """A side as read: its expression, and the method that is observed in it, None for a limit."""

    expression: Expression
    measured: Measured | None

    @property
    def side(self) -> Side:
        """The side of a relation."""
        if self.measured is None:
            return Limit(self.expression, offset=self.expression.offset)
        return Performance(self.measured, self.expression, offset=self.expression.offset)


def read_side(context: Context, tree: Part) -> ReadSide:
    """A side of a relation.

    Raises:
        FormulaError: for two methods in one side, or names that are not known.
    """
    found: list[Measured] = []
    expression = read_expression(replace(context, measured=found, refusal=""), tree)
    if len(found) > 1:
        fix = "write a relation for each, joined by & or |"
        raise context.source.error(found[1].offset, "a side has one method, not two", fix)
    if found and not isinstance(expression, Observed) and not expression.variables:
        _check_factor(context, tree, found[0], expression)
    return ReadSide(expression, found[0] if found else None)


def _check_factor(context: Context, tree: Part, measured: Measured, expression: Expression) -> None:
    """Refuse a factor that leaves nothing of what is measured, or that a statistic does not commute with."""
    line = affine(expression)
    if line is None or line.factor > 0 or (line.factor < 0 and measured.statistic == MEAN):
        return
    allowed = "use one that is not zero" if measured.statistic == MEAN else "use one above zero"
    fix = "turn the relation round" if line.factor < 0 else allowed
    raise context.error(tree, f"the factor of {shortened(measured)} is {line.factor:g}", fix)


def read_measured(context: Context, tree: Any) -> Expression:
    """A method, or a statistic or metric of one, as what is observed; the method is put into the context's list."""
    head, *suffixes = tree.children
    name = str(head)
    if head.type != "QUANTILE" and not (head.type == "WORD" and name in FUNCTIONS_OF_METHODS):
        _check_function(context, tree, name)
        offset = context.offset(tree)
        return _found(context, Measured(read_method(context, tree), offset=offset), Observed(offset=offset))
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


def _percentile(name: str) -> Statistic:
    level = Decimal(name[1:]) / 100
    if level > 1:
        raise InputError(f"there is no {name}", fix="use p0 to p100")
    return Statistic(StatisticKind.QUANTILE, float(level))


def _quantile(arguments: list[Any]) -> Statistic:
    match arguments[:1]:
        case [Tree(data="number", children=[Token(value=text), *unit])] if not unit or unit[0] == "%":
            level = Decimal(text.replace("_", "")) / (100 if unit else 1)
            arguments.pop(0)
            return Statistic(StatisticKind.QUANTILE, float(level))
        case _:
            raise InputError("a quantile needs its level", fix="write quantile(0.99, a) or p99(a)")


def _inner(context: Context, tree: Part, name: str) -> ReadSide:
    inner = read_side(context, tree)
    if inner.measured is None:
        raise context.error(tree, f"{name} of a number", f"write {name}(a); a method of that name is `{name}`")
    return inner


def _with_statistic(context: Context, tree: Any, inner: ReadSide, statistic: Statistic) -> Expression:
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
    metric = unquoted(name) if name.type == "TEXT" else str(name)
    if not metric:
        raise InputError("a metric has an empty name", fix="name it, for instance 'latency'")
    return _with_metric(context, tree, _inner(context, part, metric), metric)


def _found(context: Context, measured: Measured, expression: Expression) -> Expression:
    assert context.measured is not None
    context.measured.append(measured)
    return expression
