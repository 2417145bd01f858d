"""Arithmetic of numbers, parameters, units and, in transformations, of observations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hati.core import InputError
from hati.core.metric import is_unit
from hati.formula import PLAIN, Node, quoted
from hati.logic.syntax.language import FUNCTIONS, is_word

_UNIT = re.compile(r"(.*)/(\w+)")


class Expression(Node):
    """An expression with a value once its variables have one."""

    @property
    def variables(self) -> frozenset[str]:
        """The names of the parameters in it."""
        return frozenset(node.name for node in self.find(Variable))

    @property
    def observes(self) -> bool:
        """Whether it depends on the observation."""
        return bool(self.find(Observed))


@dataclass(frozen=True)
class Number(Expression):
    """A number with its unit, ``""`` where it has none: ``3``, ``2 ms``, ``5 %``, ``1000 /s``.

    Raises:
        InputError: for a number that is not finite.
    """

    value: int | float
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.value):
            raise InputError(f"{self.value} is not a valid number of a formula", fix="use a finite one")

    @property
    def precedence(self) -> int:  # type: ignore[override]  # depends on its sign
        """That of a division where its unit has one, and that of a sign where it has one."""
        if "/" in self.unit:
            return _PRECEDENCE[Operator.DIVIDE]
        return Negative.precedence if math.copysign(1, self.value) < 0 else PLAIN

    def __str__(self) -> str:
        return f"{self.value!r}{unit_text(self.unit)}"


def unit_text(unit: str) -> str:
    """A unit as it follows a number.

    >>> unit_text("ms"), unit_text("%"), unit_text("1/s"), unit_text("MB/s"), unit_text("page")
    (' ms', '%', ' /s', ' MB/s', " 'page'")
    """
    above, below = match.groups() if (match := _UNIT.fullmatch(unit)) else (unit, "")
    known = is_unit(above) and above and (not below or (is_unit(below) and is_word(below)))
    if not known or above == "count" or (above == "1" and not below):
        return f" {quoted(unit)}" if unit else ""
    if above == "1":
        return f" /{below}"
    return f"{'' if above == '%' else ' '}{unit}"


@dataclass(frozen=True)
class Text(Expression):
    """A text, as an argument of a method."""

    value: str

    def __str__(self) -> str:
        return quoted(self.value)


@dataclass(frozen=True)
class Variable(Expression):
    """A quantified variable or a declared constant.

    Raises:
        InputError: for a name that is not a plain word, or that is a unit.
    """

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_variable(self.name)

    def __str__(self) -> str:
        return self.name


def check_variable(name: str) -> None:
    """Refuse a name that a variable cannot have.

    Raises:
        InputError: for a name that is not a plain word, or that is a unit or a function.
    """
    if not is_word(name):
        raise InputError(f"{name!r} is not a valid name of a variable", fix="use a word such as n")
    if is_unit(name):
        raise InputError(f"{name!r} is a unit, not a variable", fix="choose another name")
    if name in FUNCTIONS:
        raise InputError(f"{name!r} is a function, not a variable", fix="choose another name")


@dataclass(frozen=True)
class Observed(Expression):
    """What a transformation is a function of: one observation; printed as the lambda's variable."""

    def __str__(self) -> str:
        return "x"


class Operator(StrEnum):
    """How two numbers are combined."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    POWER = "**"


@dataclass(frozen=True)
class Negative(Expression):
    """A value with its sign changed; a number carries its own sign."""

    precedence = 26
    part: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.part, Number):
            raise InputError("a number carries its own sign")

    def __str__(self) -> str:
        return f"-{self.part.bracketed(25)}"


_PRECEDENCE = {
    Operator.ADD: 24,
    Operator.SUBTRACT: 24,
    Operator.MULTIPLY: 25,
    Operator.DIVIDE: 25,
    Operator.POWER: 27,
}


@dataclass(frozen=True)
class Operation(Expression):
    """Two values combined; sums and products group to the left, powers to the right."""

    operator: Operator
    left: Expression
    right: Expression

    @property
    def precedence(self) -> int:  # type: ignore[override]  # depends on the operator
        """How tightly the operator binds."""
        return _PRECEDENCE[self.operator]

    def __str__(self) -> str:
        own = self.precedence
        if self.operator is Operator.POWER:
            return f"{self.left.bracketed(own)} ** {self.right.bracketed(25)}"
        return f"{self.left.bracketed(own - 1)} {self.operator} {self.right.bracketed(own)}"


@dataclass(frozen=True)
class Function(Expression):
    """A function of numbers: ``log2(n)``, ``max(n, 10)``.

    Raises:
        InputError: for a function that is not known or a wrong count of arguments.
    """

    name: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        least, most = FUNCTIONS.get(self.name, (1, 0))
        if not least <= len(self.arguments) <= most:
            wanted = f"{least} or more" if most > least else str(least)
            raise InputError(f"{self.name} takes {wanted} argument{'s' * (wanted != '1')}, not {len(self.arguments)}")

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(part) for part in self.arguments)})"


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
        InputError: for a division by zero, or a result that is not finite.

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
