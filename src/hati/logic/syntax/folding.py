"""Values put in place of variables, and whatever then has a value computed."""

from __future__ import annotations

from collections.abc import Mapping

from hati.core import InputError, replace
from hati.logic.syntax.arithmetic import applied, combined
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
)
from hati.logic.syntax.node import NodeError
from hati.logic.syntax.substitution import negative

_SAME_UNIT = frozenset({"min", "max", "abs"})


def folded(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression without variables, computed as far as it is numbers of like units.

    Raises:
        NodeError: for a variable without a value, a division by zero, or what is no finite number.

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
                raise NodeError(expression, f"{name!r} has no value here")
            return replace(values[name], offset=expression.offset)
        case Negative(part):
            return negative(folded(part, values), expression.offset)
        case Operation(_, left, right):
            parts = folded(left, values), folded(right, values)
            if parts[0] is not left or parts[1] is not right:
                expression = replace(expression, left=parts[0], right=parts[1])
            return _operation(expression)
        case Function(_, arguments):
            inner = tuple(folded(part, values) for part in arguments)
            return _function(replace(expression, arguments=inner))
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
                raise NodeError(operation, error.message, fix=error.fix) from None
        case _:
            return operation


def _unit(operator: Operator, left: str, right: str) -> str | None:
    """The unit of a result, None where the units are to be told apart only later."""
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
        raise NodeError(function, error.message, fix=error.fix) from None
    return Number(value, unit, offset=function.offset)
