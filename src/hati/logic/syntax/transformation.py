"""Values put in place of variables, constants folded, and transformations evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, parse_unit, replace
from hati.logic.syntax.expression import (
    Expression,
    Function,
    Negative,
    Number,
    Observed,
    Operation,
    Operator,
    Text,
    Variable,
    applied,
    combined,
)

Values: TypeAlias = Mapping[str, Expression]
"""What the variables in scope stand for: numbers and texts."""


def substituted(expression: Expression, values: Values, observed: Expression | None = None) -> Expression:
    """The expression with values for its variables, and for the observation where one is given."""

    def put(part: Expression) -> Expression:
        return substituted(part, values, observed)

    match expression:
        case Observed() if observed is not None:
            return observed
        case Variable(name):
            return values.get(name, expression)
        case Negative(part):
            return negative(put(part), expression.offset)
        case _:
            return expression.mapped(put)


def negative(part: Expression, offset: int) -> Expression:
    """The value with its sign changed; a number takes the sign itself."""
    if isinstance(part, Number):
        return Number(-part.value, part.unit, offset=offset)
    return Negative(part, offset=offset)


_SAME_UNIT = frozenset({"min", "max", "abs"})


def folded(expression: Expression, values: Values) -> Expression:
    """The expression without variables, computed as far as it is numbers of like units.

    Raises:
        FormulaError: for a variable without a value, a division by zero, or a result that is not finite.

    >>> from hati.logic.syntax.expression import Observed
    >>> n = Operation(Operator.MULTIPLY, Number(2), Variable("n"))
    >>> print(folded(Operation(Operator.MULTIPLY, n, Number(3, "ms")), {"n": Number(5)}))
    30 ms
    >>> print(folded(Operation(Operator.MULTIPLY, n, Observed()), {"n": Number(5)}))
    10 * x
    """
    match expression:
        case Number() | Observed() | Text():
            return expression
        case Variable(name):
            if name not in values:
                raise expression.error(f"{name!r} has no value here")
            return replace(values[name], offset=expression.offset)
        case Negative(part):
            return negative(folded(part, values), expression.offset)
        case Operation():
            return _operation(expression.mapped(partial(folded, values=values)))
        case Function():
            return _function(expression.mapped(partial(folded, values=values)))
        case _:
            return expression


def _operation(operation: Operation) -> Expression:
    match operation:
        case Operation(operator, Number(left, above) as first, Number(right, below)):
            unit = _unit(operator, above, below)
            if unit is None:
                return operation
            try:
                return Number(combined(operator, left, right), unit, offset=first.offset)
            except InputError as error:
                raise operation.error(error.message, fix=error.fix) from None
        case _:
            return operation


def _unit(operator: Operator, left: str, right: str) -> str | None:
    """The unit of a result, None where only a later step determines it."""
    match operator:
        case Operator.ADD | Operator.SUBTRACT if left == right:
            return left
        case Operator.MULTIPLY if not left or not right:
            return left or right
        case Operator.DIVIDE if not right or left == right:
            return "" if right else left
        case Operator.DIVIDE if "/" not in right and left != "%" != right:
            return f"{left or '1'}/{right}"
        case Operator.POWER if not left and not right:
            return ""
        case _:
            return None


def _function(function: Function) -> Expression:
    numbers = [part for part in function.arguments if isinstance(part, Number)]
    units = {part.unit for part in numbers}
    if len(numbers) < len(function.arguments) or len(units) > 1:
        return function
    unit = units.pop()
    if unit and function.name not in _SAME_UNIT:
        return function
    try:
        value = applied(function.name, tuple(part.value for part in numbers))
    except InputError as error:
        raise function.error(error.message, fix=error.fix) from None
    return Number(value, unit, offset=function.offset)


_OPERATORS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.ADD: np.add,
    Operator.SUBTRACT: np.subtract,
    Operator.MULTIPLY: np.multiply,
    Operator.DIVIDE: np.divide,
    Operator.POWER: np.float_power,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "round": np.round,
    "sqrt": np.sqrt,
}


class Affine(Struct, frozen=True):
    """``factor * x + shift``, both in the dimension's own unit."""

    factor: float
    shift: float


def evaluate(expression: Expression, observed: FloatArray | float | None = None) -> FloatArray:
    """The value of an expression without variables, for each of the observations.

    Values that are not finite stay so: ``log2(0)`` is minus infinity.

    Raises:
        FormulaError: for a variable, a text, or an observation where none is given.

    >>> from hati.logic.syntax.file import parse_formula
    >>> relation = parse_formula("a <= 1.5 * b + 2 ms")
    >>> evaluate(relation.right.transformation, np.array([1.0, 2.0])).tolist()
    [1.502, 3.002]
    """
    with np.errstate(all="ignore"):
        return np.asarray(_value(expression, observed), dtype=float)


def _value(expression: Expression, observed: FloatArray | float | None) -> Any:
    match expression:
        case Number(value, unit):
            return value * parse_unit(unit).scale
        case Observed() if observed is not None:
            return observed
        case Negative(part):
            return np.negative(_value(part, observed))
        case Operation(operator, left, right):
            return _OPERATORS[operator](_value(left, observed), _value(right, observed))
        case Function("min" | "max" as name, arguments):
            reduced = np.minimum if name == "min" else np.maximum
            first, *rest = (_value(part, observed) for part in arguments)
            for value in rest:
                first = reduced(first, value)
            return first
        case Function(name, (argument,)):
            return _FUNCTIONS[name](_value(argument, observed))
        case _:
            raise expression.error(f"{expression.shortened} has no value")


def affine(expression: Expression) -> Affine | None:
    """The transformation as ``factor * x + shift``, or None where it is none.

    Raises:
        FormulaError: for a variable or a text.

    >>> from hati.logic.syntax.file import parse_formula
    >>> affine(parse_formula("a <= 1.5 * b + 2 ms").right.transformation)
    Affine(factor=1.5, shift=0.002)
    """
    if not expression.observes:
        return Affine(0.0, float(evaluate(expression)))
    match expression:
        case Observed():
            return Affine(1.0, 0.0)
        case Negative(part):
            inner = affine(part)
            return inner and Affine(-inner.factor, -inner.shift)
        case Operation(operator, left, right):
            parts = affine(left), affine(right)
            return None if parts[0] is None or parts[1] is None else _joined(operator, parts[0], parts[1])
        case _:
            return None


def _joined(operator: Operator, left: Affine, right: Affine) -> Affine | None:
    match operator:
        case Operator.ADD | Operator.SUBTRACT:
            sign = 1 if operator is Operator.ADD else -1
            return Affine(left.factor + sign * right.factor, left.shift + sign * right.shift)
        case Operator.MULTIPLY if not (left.factor and right.factor):
            constant, line = (left.shift, right) if not left.factor else (right.shift, left)
            return Affine(constant * line.factor, constant * line.shift)
        case Operator.DIVIDE if not right.factor and right.shift:
            return Affine(left.factor / right.shift, left.shift / right.shift)
        case Operator.POWER if not right.factor and right.shift == 1:
            return left
        case _:
            return None
