"""The sets that quantifiers range over: how many values there are, and which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from hati.logic.syntax.expression import Expression, Number, Text, Variable
from hati.logic.syntax.folding import folded
from hati.logic.syntax.formula import Domain, Element, Quantified, Range, Row
from hati.logic.syntax.node import NodeError, shortened

Value = int | Fraction
_ONE = Number(1)

Values = Mapping[str, Expression]
"""What the variables in scope stand for: numbers and texts."""


class Sets(Struct, frozen=True):
    """The declared sets by name, and what is in any set."""

    declared: Mapping[str, Domain]

    def size(self, domain: Domain, values: Values) -> int:
        """How many elements a set has, those that are there twice counted twice."""
        return sum(self._element_size(element, values) for element in domain.elements)

    def _element_size(self, element: Element, values: Values) -> int:
        if isinstance(element, Variable) and element.name in self.declared:
            return self.size(self.declared[element.name], values)
        return _steps(element, values)[2] if isinstance(element, Range) else 1

    def rows(self, formula: Quantified, values: Values) -> Iterator[tuple[Expression, ...]]:
        """The values of a quantifier's variables, each once, in order.

        Raises:
            NodeError: for an empty range, or values that are not as many as the variables.
        """
        seen = set()
        for row in self._elements(formula.domain, values):
            if len(row) != len(formula.variables):
                message = f"{shortened(formula.domain)} has {len(row)} values for {len(formula.variables)} variables"
                raise NodeError(formula.domain, message, fix="give a value for each")
            if row not in seen:
                seen.add(row)
                yield row

    def _elements(self, domain: Domain, values: Values) -> Iterator[tuple[Expression, ...]]:
        for element in domain.elements:
            match element:
                case Variable(name) if name in self.declared:
                    yield from self._elements(self.declared[name], values)
                case Range():
                    yield from _range(element, values)
                case Row(parts):
                    yield tuple(_value(part, values) for part in parts)
                case _:
                    yield (_value(element, values),)


def _number(expression: Expression, values: Values, what: str) -> Number:
    value = folded(expression, values)
    if isinstance(value, Number) and not value.unit:
        return value
    raise NodeError(expression, f"{what} is a number without unit, not {shortened(value)}")


def _value(expression: Expression, values: Values) -> Expression:
    value = folded(expression, values)
    if isinstance(value, Number | Text):
        return value
    raise NodeError(expression, f"{shortened(value)} is not a single value", fix="use one unit")


def _steps(element: Range, values: Values) -> tuple[Value, Value, int]:
    """The first number of a range, the step, and how many there are; decimals are exact."""
    bounds = (element.first, element.last, element.step or _ONE)
    first, last, step = (_exact(_number(bound, values, "a range's bound").value) for bound in bounds)
    if step <= 0:
        raise NodeError(element, f"the step {float(step):g} is not above zero", fix="count upwards")
    if last < first:
        raise NodeError(
            element, f"the range {float(first):g}..{float(last):g} is empty", fix="put the least number first"
        )
    return first, step, int((last - first) // step) + 1


def _exact(number: float) -> Value:
    return number if isinstance(number, int) else Fraction(repr(number))


def _range(element: Range, values: Values) -> Iterator[tuple[Expression, ...]]:
    first, step, count = _steps(element, values)
    for i in range(count):
        value = first + i * step
        whole = isinstance(value, int) or value.denominator == 1
        yield (Number(int(value) if whole else float(value), offset=element.offset),)
