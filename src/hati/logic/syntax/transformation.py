"""Methods (callable, revision and input), substitution of variables, and evaluation of transformations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, parse_unit, replace
from hati.formula import Node, quoted
from hati.logic.syntax.expression import (
    REVISION,
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
    name_text,
)

Values: TypeAlias = Mapping[str, Expression]
"""The values of the variables in scope: numbers and texts."""


def substituted(expression: Expression, values: Values, observed: Expression | None = None) -> Expression:
    """The expression with values for its variables, and for the observation if one is given."""

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
    """The expression without variables, computed where it combines numbers of like units.

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

    >>> from hati.logic.syntax.formula_reader import parse_formula
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
    """The transformation as ``factor * x + shift``, or None if it is not affine.

    Raises:
        FormulaError: for a variable or a text.

    >>> from hati.logic.syntax.formula_reader import parse_formula
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


N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Callee(Node):
    """The target of a call: a name and, for Java, the constructor's arguments, the method's name and its types.

    ``name`` is a declared name, a Python object ``pkg.mod:Class.method``, or a class.
    """

    name: str
    constructor: tuple[Expression, ...] = ()
    member: str = ""
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name or "`" in self.name or "\n" in self.name:
            raise InputError(f"{self.name!r} is not a valid name of a method")
        if (self.constructor or self.types) and not self.member:
            raise InputError("only a member of a class has a constructor or types", fix="write Class('x')#method")

    def __str__(self) -> str:
        member = f"#{self.member}" if self.member else ""
        types = f"({', '.join(self.types)})" if self.types else ""
        return f"{name_text(self.name)}{_listed(self.constructor)}{member}{types}"


@dataclass(frozen=True)
class Generator(Node):
    """The function that makes the input of a method (its workload) or the object it is called on (its instance)."""

    callee: Callee
    revision: str = ""
    arguments: tuple[Expression, ...] = ()

    def __str__(self) -> str:
        typed = "[]" if self.callee.types else ""
        return f"{self.callee}{revision_text(self.revision)}{typed}{_listed(self.arguments)}"


@dataclass(frozen=True)
class Argument(Node):
    """A parameter of the workload: by its place, or by its name."""

    value: Expression
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.value}" if self.name else str(self.value)


@dataclass(frozen=True)
class Method(Node):
    """A method with a workload: ``sort@v1.2[rand](1000)``; its ``revision`` is ``""`` for the working tree."""

    callee: Callee
    revision: str = ""
    workload: Generator | None = None
    instance: Generator | None = None
    arguments: tuple[Argument, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instance and not self.workload:
            raise InputError("an instance generator needs a workload generator before it")

    @property
    def name(self) -> str:
        """The callee's name."""
        return self.callee.name

    def __str__(self) -> str:
        generators = ", ".join(str(part) for part in (self.workload, self.instance) if part)
        brackets = f"[{generators}]" if generators or self.callee.types else ""
        return f"{self.callee}{revision_text(self.revision)}{brackets}{_listed(self.arguments)}"


def revision_text(revision: str) -> str:
    """A revision as it follows a name.

    >>> revision_text("v1.2"), revision_text("HEAD~1"), revision_text("pkg==1.4"), revision_text("odd name")
    ('@v1.2', '@HEAD~1', '@pkg==1.4', "@'odd name'")
    """
    if not revision:
        return ""
    return f"@{revision}" if REVISION.fullmatch(revision) else f"@{quoted(revision)}"


def _listed(parts: tuple[Node, ...]) -> str:
    return f"({', '.join(str(part) for part in parts)})" if parts else ""


def grounded(node: N, values: Values) -> N:
    """A method or generator with values for the variables of its arguments.

    Raises:
        FormulaError: for an argument that is then neither a number nor a text.
    """

    def put(part: Node) -> Node:
        return _argument(part, values) if isinstance(part, Expression) else part.mapped(put)

    return node.mapped(put)


def _argument(expression: Expression, values: Values) -> Expression:
    value = folded(expression, values)
    if isinstance(value, Text) or (isinstance(value, Number) and not value.unit):
        return value
    message = f"an argument is a number without unit or a text, not {value.shortened}"
    raise expression.error(message)
