"""Trees of arithmetic as expressions; in a side, the measured methods are collected. Holds the reader's context."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.core.metric import is_unit
from hati.core.wording import nearest, suggestion
from hati.formula import FormulaError, Source, start_of, unquoted
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.expression import Expression, Function, Number, Observed, Operation, Operator, Text, Variable
from hati.logic.syntax.formula import MeasuredStatistic
from hati.logic.syntax.language import FUNCTIONS, FUNCTIONS_OF_METHODS
from hati.logic.syntax.transformation import folded, negative

Part: TypeAlias = "Tree[Token] | Token"


@dataclass(slots=True)
class Placing:
    """A context manager that gives errors their place; a generator would take most of the time of reading."""

    context: Context
    part: Part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not error.place and not isinstance(error, FormulaError):
            raise self.context.error(self.part, error.message, error.fix) from None


class Context(Struct, frozen=True):
    """The text from ``base`` on is read; ``methods`` are the names that there are, None where that is not known.

    ``variables`` are those of the quantifiers around. ``observed`` is the lambda's variable inside of one.
    ``measured`` takes the methods of a side; where it is None there can be none, for the reason ``refusal``.
    """

    source: Source
    base: int = 0
    declarations: Declarations = field(default_factory=Declarations)
    methods: frozenset[str] | None = None
    variables: frozenset[str] = frozenset()
    observed: str | None = None
    measured: list[MeasuredStatistic] | None = None
    refusal: str = ""

    def offset(self, part: Part) -> int:
        """Where a part starts in the whole text."""
        return self.base + start_of(part)

    def error(self, part: Part, message: str, fix: str | None = None) -> FormulaError:
        """The error that something is wrong there."""
        return self.source.error(self.offset(part), message, fix)

    def at(self, part: Part) -> Placing:
        """Add this place to errors that are raised inside, unless they have one."""
        return Placing(self, part)

    def bound(self, *names: str) -> Context:
        """The context of a quantifier's body."""
        return replace(self, variables=self.variables.union(names))

    def plain(self, refusal: str = "") -> Context:
        """The context for parts that may not mention a method."""
        return replace(self, measured=None, refusal=refusal)


_LARGEST = 10**18
_MICRO = str.maketrans("µμ", "uu")
_NO_RATIO = "write a ratio as a factor: a <= 2 * b"
_NEEDS_LAMBDA = "write it as a lambda, such as a <=(x: log2(x), x: x) b"


def read_expression(context: Context, tree: Part) -> Expression:
    """The expression of a tree.

    Raises:
        FormulaError: for a tree that is not an expression, or mentions an unknown name.
    """
    with context.at(tree):
        reader = _READERS.get(str(tree.data)) if isinstance(tree, Tree) else None
        if reader is None:
            raise InputError("expected a number, found a formula", fix="combine formulas with &, |, ! and =>")
        return reader(context, tree)


def _number(context: Context, tree: Any) -> Expression:
    token, *unit = tree.children
    text = token.replace("_", "")
    value = int(text) if text.isdigit() and len(text) < 20 else float(text)
    if not math.isfinite(value) or (isinstance(value, int) and value > _LARGEST):
        raise InputError("the number is too large", fix=f"use {_LARGEST:.0e} at most")
    if not unit:
        return Number(value, offset=context.offset(tree))
    symbol = unquoted(unit[0], context.offset(unit[0])) if unit[0].type == "TEXT" else unit[0].translate(_MICRO)
    return Number(value, symbol, offset=context.offset(tree))


def _text(context: Context, tree: Any) -> Expression:
    return Text(unquoted(tree.children[0], context.offset(tree.children[0])), offset=context.offset(tree))


def _signed(context: Context, tree: Any) -> Expression:
    sign, part = tree.children
    value = read_expression(context, part)
    return negative(value, context.offset(sign)) if sign == "-" else value


def _power(context: Context, tree: Any) -> Expression:
    inner = context.plain(_NEEDS_LAMBDA)
    left, right = (read_expression(inner, part) for part in tree.children)
    return Operation(Operator.POWER, left, right, offset=context.offset(tree))


def _operation(context: Context, tree: Any) -> Expression:
    first, *rest = tree.children
    value = read_expression(context, first)
    for sign, part in zip(rest[::2], rest[1::2], strict=True):
        with context.at(sign):
            value = _combined(context, value, Operator(str(sign)), part, context.offset(tree))
    return value


def _combined(context: Context, left: Expression, operator: Operator, part: Part, offset: int) -> Expression:
    if operator is Operator.DIVIDE:
        below = _unit_below(context, part)
        if below and isinstance(left, Number):
            return Number(left.value, f"{left.unit or '1'}/{below}", offset=left.offset)
        if below:
            return Operation(operator, left, Number(1, below), offset=offset)
        return Operation(operator, left, read_expression(context.plain(_NO_RATIO), part), offset=offset)
    right = read_expression(context, part)
    if context.measured is not None and operator in {Operator.ADD, Operator.MULTIPLY}:
        return _ordered(operator, left, right, offset)
    return Operation(operator, left, right, offset=offset)


def _ordered(operator: Operator, left: Expression, right: Expression, offset: int) -> Expression:
    """Sides are written as ``factor * method + shift``, whatever the order was."""
    if operator is Operator.ADD and right.observes:
        left, right = right, left
    if operator is Operator.MULTIPLY and left.observes:
        left, right = right, left
    match right:
        case Operation(Operator.MULTIPLY, factor, Observed()) if operator is Operator.MULTIPLY:
            both = Operation(operator, left, factor, offset=offset)
            return Operation(operator, both if both.variables else folded(both, {}), right.right, offset=offset)
        case _:
            return Operation(operator, left, right, offset=offset)


def _unit_below(context: Context, part: Part) -> str:
    """The unit that a number is divided by, as in ``1000 /s``; ``""`` for anything else."""
    match part:
        case Tree(data="call", children=[Token(type="WORD", value=name)]) if is_unit(name) and name != "count":
            return "" if name in context.variables else str(name)
        case _:
            return ""


def _call(context: Context, tree: Any) -> Expression:
    from hati.logic.syntax.reading.relations import read_measured

    head, *suffixes = tree.children
    name = str(head)
    if head.type == "WORD" and name == context.observed:
        return _without_suffix(context, tree, Observed(offset=context.offset(tree)))
    if head.type == "WORD" and _is_variable(context, name):
        return _without_suffix(context, tree, Variable(name, offset=context.offset(tree)))
    if head.type == "WORD" and name in FUNCTIONS:
        return _function(context, tree)
    if context.measured is not None:
        return read_measured(context, tree)
    if head.type == "QUANTILE" or name in FUNCTIONS_OF_METHODS:
        raise InputError(f"{name} of a method cannot stand here", fix=context.refusal or "compare it: p99(a) <= 2 ms")
    if name in context.declarations.sets:
        raise InputError(f"{name!r} is a set", fix=f"range over it: for all n in {name}: ...")
    if suffixes and nearest(name, FUNCTIONS):
        raise InputError(f"unknown function {name!r}", fix=suggestion(name, FUNCTIONS))
    if suffixes or head.type != "WORD" or name in context.declarations.aliases:
        raise InputError(f"a method cannot stand here: {name!r}", fix=context.refusal or "use numbers and variables")
    raise _unknown(context, name)


def _is_variable(context: Context, name: str) -> bool:
    return name in context.variables or name in context.declarations.constants


def _unknown(context: Context, name: str) -> InputError:
    if context.observed:
        known = (context.observed, *sorted(context.variables), *context.declarations.constants, *FUNCTIONS)
    else:
        known = (*sorted(context.variables), *context.declarations.constants)
    if nearest(name, known) is None and context.refusal:
        return InputError(f"unknown variable {name!r}", fix=context.refusal)
    fix = suggestion(name, known) if known else f"bind it: for all {name} in {{1..10}}: ..."
    return InputError(f"unknown variable {name!r}", fix=fix)


def _without_suffix(context: Context, tree: Any, value: Expression) -> Expression:
    head, *suffixes = tree.children
    if suffixes:
        raise context.error(head, f"{str(head)!r} is a variable, not a method", "a method needs another name")
    return value


def _function(context: Context, tree: Any) -> Expression:
    head, *suffixes = tree.children
    name = str(head)
    if len(suffixes) != 1 or suffixes[0].data != "arguments":
        fix = f"write {name}(n); a method of that name is `{name}`"
        raise InputError(f"{name!r} is a function of numbers", fix=fix)
    refusal = _NEEDS_LAMBDA if name not in {"min", "max"} else "the least of a is p0(a), the greatest p100(a)"
    inner = context.plain(refusal)
    arguments = tuple(read_expression(inner, part) for part in suffixes[0].children)
    return Function(name, arguments, offset=context.offset(tree))


def _metric(context: Context, tree: Any) -> Expression:
    from hati.logic.syntax.reading.relations import read_metric

    if context.measured is None:
        raise InputError("a metric of a method cannot stand here", fix=context.refusal or "use numbers and variables")
    return read_metric(context, tree)


_READERS: dict[str, Callable[[Context, Any], Expression]] = {
    "number": _number,
    "text": _text,
    "signed": _signed,
    "power": _power,
    "operation": _operation,
    "call": _call,
    "metric": _metric,
}
