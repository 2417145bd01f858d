"""Quantifiers expanded: a formula as a tree of relations without variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial

from msgspec import Struct

from hati.core import InputError
from hati.formula import SIGNS, And, Comparator, Connective, FormulaError, Or, Proposition, Source, Truth
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.dimension import check_alike, check_dimensions
from hati.logic.syntax.expression import Expression, Number, Text, Variable
from hati.logic.syntax.formula import (
    MEAN,
    Domain,
    Element,
    LimitSide,
    Margin,
    MeasuredStatistic,
    ParameterComparison,
    PerformanceFormula,
    PerformanceSide,
    Quantified,
    Quantifier,
    Range,
    Relation,
    RelationSide,
    Row,
)
from hati.logic.syntax.method import grounded
from hati.logic.syntax.transformation import Values, affine, evaluate, folded

Value = int | Fraction
_ONE = Number(1)


class Sets(Struct, frozen=True):
    """The declared sets by name, and the elements of all sets."""

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
            FormulaError: for an empty range, or values that are not as many as the variables.
        """
        seen = set()
        for row in self._elements(formula.domain, values):
            if len(row) != len(formula.variables):
                message = f"{formula.domain.shortened} has {len(row)} values for {len(formula.variables)} variables"
                raise formula.domain.error(message, fix="give a value for each")
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
    raise expression.error(f"{what} is a number without unit, not {value.shortened}")


def _value(expression: Expression, values: Values) -> Expression:
    value = folded(expression, values)
    if isinstance(value, Number | Text):
        return value
    raise expression.error(f"{value.shortened} is not a single value", fix="use one unit")


def _steps(element: Range, values: Values) -> tuple[Value, Value, int]:
    """The first number of a range, the step, and how many there are; decimals are exact."""
    bounds = (element.first, element.last, element.step or _ONE)
    first, last, step = (_exact(_number(bound, values, "a range's bound").value) for bound in bounds)
    if step <= 0:
        raise element.error(f"the step {float(step):g} is not above zero", fix="count upwards")
    if last < first:
        raise element.error(f"the range {float(first):g}..{float(last):g} is empty", fix="put the least number first")
    return first, step, int((last - first) // step) + 1


def _exact(number: float) -> Value:
    return number if isinstance(number, int) else Fraction(repr(number))


def _range(element: Range, values: Values) -> Iterator[tuple[Expression, ...]]:
    first, step, count = _steps(element, values)
    for i in range(count):
        value = first + i * step
        whole = isinstance(value, int) or value.denominator == 1
        yield (Number(int(value) if whole else float(value), offset=element.offset),)


def compared(comparison: ParameterComparison, values: Values) -> PerformanceFormula:
    """Whether a comparison of parameters holds.

    Raises:
        FormulaError: for texts that are ordered, or values of unlike dimension.
    """
    left, right = folded(comparison.left, values), folded(comparison.right, values)
    if isinstance(left, Text) or isinstance(right, Text):
        if comparison.comparator is not Comparator.EQUAL:
            constant = left is comparison.left and right is comparison.right
            fix = "write a method's name in backquotes" if constant else "use ="
            raise comparison.error(f"texts have no order: {left} {comparison.comparator} {right}", fix=fix)
        return Truth(left == right, notation=SIGNS, offset=comparison.offset)
    check_alike(left, right)
    first, second = float(evaluate(left)), float(evaluate(right))
    return Truth(comparison.comparator.compare(first, second), notation=SIGNS, offset=comparison.offset)


def _relation(relation: Relation, values: Values) -> Relation:
    """A relation with values for its variables.

    Raises:
        FormulaError: for sides of unlike dimension, or arithmetic that has no value.
    """
    margin = relation.margin and _margin(relation.margin, values)
    try:
        left, right = _side(relation.left, values), _side(relation.right, values)
        if left is relation.left and right is relation.right and margin is relation.margin:
            return relation
        ground = Relation(left, relation.comparator, right, margin, offset=relation.offset)
    except FormulaError:
        raise
    except InputError as error:
        raise relation.error(error.message, fix=error.fix) from None
    check_dimensions(ground)
    return ground


def _margin(margin: Margin, values: Values) -> Margin:
    amount = folded(margin.amount, values)
    if not isinstance(amount, Number) or not amount.unit:
        raise margin.amount.error(f"a margin is a share or an amount, not {amount.shortened}", fix="write 3% or 2 ms")
    return margin if amount is margin.amount else Margin(amount, offset=margin.offset)


def _side(side: RelationSide, values: Values) -> RelationSide:
    if isinstance(side, LimitSide):
        amount = folded(side.amount, values)
        return side if amount is side.amount else LimitSide(amount, offset=side.offset)
    assert isinstance(side, PerformanceSide)
    transformation, measured = folded(side.transformation, values), side.measured
    method = grounded(measured.method, values)
    if transformation is not side.transformation:
        _check_factor(side, transformation)
    elif method is measured.method:
        return side
    measured = MeasuredStatistic(method, measured.metric, measured.statistic, offset=measured.offset)
    return PerformanceSide(measured, transformation, offset=side.offset)


def _check_factor(side: PerformanceSide, transformation: Expression) -> None:
    """Refuse a factor that turned out to be zero, or below it of a statistic that it would not commute with."""
    line = None if side.sugared is None else affine(transformation)
    if line is None or line.factor > 0 or (line.factor < 0 and side.measured.statistic == MEAN):
        return
    message = f"the factor of {side.measured.shortened} is {line.factor:g}"
    fix = "use one that is not zero" if side.measured.statistic == MEAN else "use one above zero"
    raise side.error(message, fix=fix)


MOST_ATOMS = 20_000
"""The greatest count of relations that a formula expands to."""

_LARGE = 10**12


def expand(
    formula: PerformanceFormula,
    declarations: Declarations | None = None,
    *,
    source: Source | None = None,
    most: int = MOST_ATOMS,
) -> PerformanceFormula:
    """The formula with a conjunction for each ``for all`` and a disjunction for each ``exists``.

    Variables and constants have their values, constant parts are computed, and comparisons of parameters are
    ``true`` or ``false``; names of methods and generators stay. Errors are placed in ``source`` where it is given.

    Raises:
        InputError: for more than ``most`` relations, an empty set, or arithmetic that has no value.

    >>> from hati.logic.syntax.file import parse_formula
    >>> str(expand(parse_formula("for all n in {1..3 step 2}: a(n) <= n * b(2 ** n)")))
    'a(1) <= 1 * b(2) & a(3) <= 3 * b(8)'
    """
    expansion = _Expansion(declarations or Declarations(), most)
    if source is None:
        return expansion.whole(formula)
    with source.placing():
        return expansion.whole(formula)


class _Expansion:
    """Expands one formula."""

    def __init__(self, declarations: Declarations, most: int) -> None:
        self._sets = Sets(declarations.sets)
        self._most = most
        self._constants = declarations.values

    def whole(self, formula: PerformanceFormula) -> PerformanceFormula:
        count = self._count(formula, self._constants)
        if count > self._most:
            counted = str(count) if count < _LARGE else f"{min(count, 10**300):.0e}"
            raise formula.error(
                f"the formula has {counted} relations at least, once its sets are expanded",
                fix=f"use {self._most} at most; smaller sets or larger steps",
            )
        return self._ground(formula, self._constants)

    def _count(self, formula: PerformanceFormula, values: Values) -> int:
        """The count of relations, exactly or some count above the greatest."""
        if not isinstance(formula, Quantified):
            parts = [part for part in formula.parts if isinstance(part, Proposition)]
            return sum(self._count(part, values) for part in parts) or 1
        if not self._dependent(formula):
            bound = dict.fromkeys(formula.variables, Number(1))
            return self._sets.size(formula.domain, values) * self._count(formula.body, {**values, **bound})
        count = 0
        for row in self._sets.rows(formula, values):
            count += self._count(formula.body, {**values, **dict(zip(formula.variables, row, strict=True))})
            if count > self._most:
                break
        return count

    def _dependent(self, formula: Quantified) -> bool:
        """Whether a set further inside depends on the variables."""
        domains = formula.body.find(Domain)
        used = {node.name for domain in domains for node in domain.find(Variable)}
        return bool(used.intersection(formula.variables))

    def _ground(self, formula: PerformanceFormula, values: Values) -> PerformanceFormula:
        if isinstance(formula, Connective):
            return formula.mapped(partial(self._ground, values=values))
        match formula:
            case Quantified():
                return self._instances(formula, values)
            case ParameterComparison():
                return compared(formula, values)
            case Relation():
                return _relation(formula, values)
        raise AssertionError(formula)

    def _instances(self, formula: Quantified, values: Values) -> PerformanceFormula:
        instances = tuple(
            self._ground(formula.body, {**values, **dict(zip(formula.variables, row, strict=True))})
            for row in self._sets.rows(formula, values)
        )
        if len(instances) == 1:
            return instances[0]
        joined = And if formula.quantifier is Quantifier.ALL else Or
        return joined(instances, offset=formula.offset)
