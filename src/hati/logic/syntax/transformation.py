"""Transformations evaluated: on observations, and as ``factor * x + shift`` where they are affine.

All values are in their dimension's own unit (seconds, bytes, shares of one): ``hati.core.parse_unit`` gives the scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, parse_unit
from hati.logic.syntax.expression import (
    Expression,
    Function,
    Negative,
    Number,
    Observed,
    Operation,
    Operator,
)
from hati.logic.syntax.node import NodeError, shortened

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
        NodeError: for a variable, a text, or what is observed where nothing is.

    >>> from hati.logic.syntax.text import parse_formula
    >>> relation = parse_formula("a <= 1.5 * b + 2 ms").relations[0]
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
            raise NodeError(expression, f"{shortened(expression)} has no value")


def affine(expression: Expression) -> Affine | None:
    """The transformation as ``factor * x + shift``, or None where it is none.

    Raises:
        NodeError: for a variable or a text.

    >>> from hati.logic.syntax.text import parse_formula
    >>> affine(parse_formula("a <= 1.5 * b + 2 ms").relations[0].right.transformation)
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
