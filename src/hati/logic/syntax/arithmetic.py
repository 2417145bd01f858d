"""Arithmetic of parameters: whole numbers stay whole, and nothing grows without bound."""

from __future__ import annotations

import math
from collections.abc import Callable

from hati.core import InputError
from hati.logic.syntax.expression import Operator

Value = int | float

LARGEST = 10**18
"""The greatest whole number."""

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def combined(operator: Operator, left: Value, right: Value) -> Value:
    """Two numbers combined; a whole result of whole numbers is a whole number.

    Raises:
        InputError: for a division by zero, or what is no finite number.

    >>> combined(Operator.DIVIDE, 100, 4), combined(Operator.DIVIDE, 1, 4), combined(Operator.POWER, 2, 10)
    (25, 0.25, 1024)
    """
    text = f"{left!r} {operator} {right!r}"
    return _whole(text, lambda: _combined(operator, left, right), (left, right))


def applied(name: str, arguments: tuple[Value, ...]) -> Value:
    """A function of numbers; a whole result of whole numbers is a whole number.

    Raises:
        InputError: where the function has no value, or none that is finite.

    >>> applied("log2", (1024,)), applied("max", (3, 2.5))
    (10, 3)
    """
    text = f"{name}({', '.join(repr(argument) for argument in arguments)})"
    return _whole(text, lambda: _FUNCTIONS[name](*arguments), arguments)


def _combined(operator: Operator, left: Value, right: Value) -> Value:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.POWER:
            return _power(left, right)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent > 64:
            raise OverflowError
        if exponent < 0:
            return float(base) ** exponent
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError
    return value


def _whole(text: str, compute: Callable[[], Value], inputs: tuple[Value, ...]) -> Value:
    try:
        value = compute()
    except ZeroDivisionError:
        raise InputError(f"{text} divides by zero") from None
    except ValueError:
        raise InputError(f"{text} has no value") from None
    except OverflowError:
        raise InputError(f"{text} is too large") from None
    if abs(value) > LARGEST and all(isinstance(part, int) for part in inputs):
        raise InputError(f"{text} is too large", fix=f"whole numbers are {LARGEST:.0e} at most")
    if not math.isfinite(value):
        raise InputError(f"{text} is too large")
    whole = isinstance(value, float) and value.is_integer() and all(isinstance(part, int) for part in inputs)
    return int(value) if whole else value
