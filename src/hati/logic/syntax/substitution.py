"""Values put in place of variables."""

from __future__ import annotations

from collections.abc import Mapping

from hati.core import replace
from hati.logic.syntax.expression import Expression, Function, Negative, Number, Observed, Operation, Variable


def substituted(
    expression: Expression, values: Mapping[str, Expression], observed: Expression | None = None
) -> Expression:
    """The expression with values for its variables, and for what is observed where that is given."""

    def put(part: Expression) -> Expression:
        return substituted(part, values, observed)

    match expression:
        case Observed() if observed is not None:
            return observed
        case Variable(name):
            return values.get(name, expression)
        case Negative(part):
            return negative(put(part), expression.offset)
        case Operation(_, left, right):
            return replace(expression, left=put(left), right=put(right))
        case Function(_, arguments):
            return replace(expression, arguments=tuple(put(part) for part in arguments))
        case _:
            return expression


def negative(part: Expression, offset: int) -> Expression:
    """The value with its sign changed; a number takes the sign itself."""
    if isinstance(part, Number):
        return Number(-part.value, part.unit, offset=offset)
    return Negative(part, offset=offset)
