"""Formulas of performance: sides, relations and quantifiers, which print so that they parse to the same tree.

Dimensions are checked: times are not added to memory, and a limit has the dimension of its other side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct

from hati.core import InputError, parse_unit
from hati.formula import SIGNS, Comparator, ComparisonNode, Node, Notation, Proposition, quoted
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
    check_variable,
    is_word,
)
from hati.logic.syntax.transformation import Method, substituted

METRICS = {"cpu": "cpu_time", "memory": "peak_memory"}
"""The metrics that have a function of their own: ``cpu(x)`` is ``cpu_time of x``."""


class StatisticKind(StrEnum):
    """The statistics of a sample."""

    MEAN = "mean"
    QUANTILE = "quantile"
    THROUGHPUT = "throughput"


class FormulaStatistic(Struct, frozen=True):
    """A statistic; ``level`` is a quantile's, from 0 to 1. Throughput is calls per second: 1 / mean time.

    Raises:
        InputError: for a level outside of 0 to 1, or one of another statistic.
    """

    kind: StatisticKind
    level: float | None = None

    def __post_init__(self) -> None:
        if (self.level is not None) != (self.kind is StatisticKind.QUANTILE):
            raise InputError("a quantile has a level, and no other statistic has")
        if self.level is not None and not 0 <= self.level <= 1:
            raise InputError(f"there is no quantile {self.level:g}", fix="use a level from 0 to 1, or p0 to p100")

    @property
    def name(self) -> str:
        """The function's name: ``median``, ``p99.9``, ``throughput``.

        >>> FormulaStatistic(StatisticKind.QUANTILE, 0.999).name
        'p99.9'
        """
        if self.level is None or self.level == 0.5:
            return self.kind.value if self.level is None else "median"
        percent = f"{Decimal(repr(self.level)) * 100:f}"
        return f"p{percent.rstrip('0').rstrip('.') if '.' in percent else percent}"

    @property
    def fewest(self) -> int:
        """The fewest observations for the statistic: a quantile needs one expected beyond it, on its rarer side.

        The minimum and the maximum need one observation.

        >>> [FormulaStatistic(StatisticKind.QUANTILE, level).fewest for level in (0.5, 0.9, 0.01, 0.999, 1.0)]
        [2, 10, 100, 1000, 1]
        """
        if self.level is None:
            return 1
        level = Fraction(repr(self.level))  # the level as it is written: 1 - 0.9 is more than a tenth by floats
        rarer = min(level, 1 - level)
        return math.ceil(1 / rarer) if rarer else 1


MEAN = FormulaStatistic(StatisticKind.MEAN)
THROUGHPUT = FormulaStatistic(StatisticKind.THROUGHPUT)
MEDIAN = FormulaStatistic(StatisticKind.QUANTILE, 0.5)


@dataclass(frozen=True)
class MeasuredStatistic(Node):
    """A statistic of a metric of a method; ``metric`` is its name, ``""`` for the method's default metric."""

    method: Method
    metric: str = ""
    statistic: FormulaStatistic = MEAN

    def __str__(self) -> str:
        text = str(self.method)
        functions = {metric: function for function, metric in METRICS.items()}
        if self.metric in functions:
            text = f"{functions[self.metric]}({text})"
        elif self.metric:
            text = f"{self.metric if is_word(self.metric) else quoted(self.metric)} of {text}"
        return text if self.statistic == MEAN else f"{self.statistic.name}({text})"


class RelationSide(Node):
    """One side of a performance relation."""


@dataclass(frozen=True)
class PerformanceSide(RelationSide):
    """The measured method, and the transformation of each of its observations (Def. 3.4's tl and tr).

    ``str`` prints it for people; a lambda is read only as part of a relation.

    Raises:
        InputError: if the transformation does not depend on the observations.
    """

    measured: MeasuredStatistic
    transformation: Expression = field(default_factory=Observed)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.transformation, Observed) or self.transformation.observes):
            raise InputError("the transformation does not depend on what is measured", fix="write a limit as one side")

    @property
    def transformed(self) -> bool:
        """Whether the transformation is more than the identity."""
        return not isinstance(self.transformation, Observed)

    @property
    def sugared(self) -> str | None:
        """The side without a lambda (``1.05 * b``, ``b + 2 ms``), or None if it needs one."""
        return _sugared(self.transformation, str(self.measured))

    def __str__(self) -> str:
        return self.sugared or f"(x: {self.transformation}) {self.measured}"


def _sugared(expression: Expression, measured: str) -> str | None:
    match expression:
        case Observed():
            return measured
        case Operation(Operator.MULTIPLY, factor, Observed()) if not factor.observes and _positive(factor):
            return f"{factor.bracketed(24)} * {measured}"
        case Operation(Operator.DIVIDE, Observed(), divisor) if not divisor.observes and _positive(divisor):
            return f"{measured} / {divisor.bracketed(25)}"
        case Operation(Operator.ADD | Operator.SUBTRACT as sign, left, right) if not right.observes:
            inner = _sugared(left, measured)
            return inner and f"{inner} {sign} {right.bracketed(24)}"
        case _:
            return None


def _positive(factor: Expression) -> bool:
    return factor.value > 0 if isinstance(factor, Number) else bool(factor.variables)


@dataclass(frozen=True)
class LimitSide(RelationSide):
    """An absolute limit: ``2 ms``, ``n * 3 us``."""

    amount: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amount.observes:
            raise InputError("a limit does not depend on what is measured")
        if self.amount.find(Text):
            fix = "use a number with its unit, or a method's name in backquotes"
            raise InputError(f"{self.amount} is not a valid limit", fix=fix)

    def __str__(self) -> str:
        return self.amount.bracketed(20)


class PerformanceAtom(Proposition["PerformanceAtom"]):
    """An operand of connectives: a relation, a comparison of parameters, or a quantified formula."""

    @property
    def notation(self) -> Notation:
        """Signs."""
        return SIGNS


PerformanceFormula: TypeAlias = Proposition[PerformanceAtom]
"""A formula, which holds, is violated or stays inconclusive."""


@dataclass(frozen=True)
class Margin(Node):
    """The largest difference that counts as equal: a percentage (unit ``%``) or an amount of the metric.

    Raises:
        InputError: for a margin below zero, or one that depends on the observation.
    """

    amount: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amount.observes:
            raise InputError("a margin does not depend on what is measured")
        if isinstance(self.amount, Number) and self.amount.value < 0:
            raise InputError("a margin is not below zero")

    @property
    def strict(self) -> bool:
        """Whether there is no margin."""
        return isinstance(self.amount, Number) and self.amount.value == 0


STRICT = Margin(Number(0, "%"))
"""The margin of a relation that is marked as strict."""


@dataclass(frozen=True)
class Relation(PerformanceAtom):
    """A performance relation between two sides, of which at least one is measured.

    ``margin`` is None if the project's margin applies, and ``STRICT`` for no margin at all.

    Raises:
        InputError: without a measured side, for a margin of ``<`` or ``>``, or for an equality that is strict.
    """

    precedence = 20
    left: RelationSide
    comparator: Comparator
    right: RelationSide
    margin: Margin | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_comparator(self.comparator)
        if isinstance(self.left, LimitSide) and isinstance(self.right, LimitSide):
            raise InputError("neither side of the relation is measured", fix="compare with a method")
        if self.margin is None:
            return
        if self.comparator.strict:
            raise InputError(f"{self.comparator} has no margin", fix=f"write {self.comparator}= with a margin")
        if self.comparator is Comparator.EQUAL and self.margin.strict:
            raise InputError("an equality needs a margin above zero", fix="write a = b +- 3%")

    def __str__(self) -> str:
        left, right = self._texts()
        return f"{left} {self.comparator}{right}{self._margin()}"

    def _texts(self) -> tuple[str, str]:
        left, right = (
            side.sugared if isinstance(side, PerformanceSide) else str(side) for side in (self.left, self.right)
        )
        if left is not None and right is not None:
            return left, f" {right}"
        pair = ", ".join(_lambda(side) for side in (self.left, self.right))
        left, right = (
            str(side.measured if isinstance(side, PerformanceSide) else side) for side in (self.left, self.right)
        )
        return left, f"({pair}) {right}"

    def _margin(self) -> str:
        if self.margin is None:
            return ""
        if self.margin.strict:
            return " strictly"
        word = "+-" if self.comparator is Comparator.EQUAL else "within"
        return f" {word} {self.margin.amount.bracketed(25)}"


def _lambda(side: RelationSide) -> str:
    """The transformation of a side as a lambda, with a variable that differs from its parameters."""
    if not isinstance(side, PerformanceSide):
        return "x: x"
    parameters = side.transformation.variables
    name = next(name for name in ("x", "y", "z", *(f"x{i}" for i in range(1000))) if name not in parameters)
    return f"{name}: {_renamed(side.transformation, name)}"


def _renamed(transformation: Expression, name: str) -> Expression:
    return transformation if name == "x" else substituted(transformation, {}, observed=Variable(name))


class ParameterComparison(ComparisonNode[PerformanceAtom, Expression], PerformanceAtom):
    """A relation between parameters (Def. 3.4's ``<=`` and ``=`` of P x P), true or false without measuring."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_comparator(self.comparator)


def _check_comparator(comparator: Comparator) -> None:
    if comparator is Comparator.UNEQUAL:
        raise InputError("a relation has no !=", fix="negate an equality")


class Quantifier(StrEnum):
    """For all values, or for at least one."""

    ALL = "for all"
    EXISTS = "exists"


@dataclass(frozen=True)
class Range(Node):
    """The numbers from ``first`` to at most ``last``; the step is 1 if none is given."""

    first: Expression
    last: Expression
    step: Expression | None = None

    def __str__(self) -> str:
        step = f" step {self.step.bracketed(20)}" if self.step else ""
        return f"{self.first.bracketed(20)}..{self.last.bracketed(20)}{step}"


@dataclass(frozen=True)
class Row(Node):
    """Values for several variables at once."""

    values: tuple[Expression, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) < 2:
            raise InputError("a tuple has two values or more")

    def __str__(self) -> str:
        return f"({', '.join(str(value) for value in self.values)})"


Element = Expression | Range | Row


@dataclass(frozen=True)
class Domain(Node):
    """A finite set of values, in order; a name of a declared set stands for its elements.

    Raises:
        InputError: for an empty set.
    """

    elements: tuple[Element, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.elements:
            raise InputError("the set is empty", fix="give one value at least")

    def __str__(self) -> str:
        return f"{{{', '.join(str(element) for element in self.elements)}}}"


@dataclass(frozen=True)
class Quantified(PerformanceAtom):
    """A formula for all, or for some, of the values of one variable or of several at once.

    Raises:
        InputError: for a repeated variable, or a row whose number of values is not that of the variables.
    """

    precedence = 1
    quantifier: Quantifier
    variables: tuple[str, ...]
    domain: Domain
    body: PerformanceFormula

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.variables:
            check_variable(name)
        if len(set(self.variables)) < len(self.variables) or not self.variables:
            raise InputError("a variable is there twice", fix="name each once")
        for element in self.domain.elements:
            if isinstance(element, Variable):
                continue
            width = len(element.values) if isinstance(element, Row) else 1
            if width != len(self.variables):
                values = f"{width} value{'s' * (width != 1)}"
                raise InputError(f"{element} is {values} for {len(self.variables)} variables", fix="give one for each")

    def __str__(self) -> str:
        names = ", ".join(self.variables)
        variables = names if len(self.variables) == 1 else f"({names})"
        return f"{self.quantifier} {variables} in {self.domain}: {self.body}"


Dimension = Mapping[str, float] | None
"""Powers of base dimensions, such as ``{"memory": 1, "time": -1}``; None if unknown."""

UNIT_OF_METRIC = {"cpu_time": "s", "peak_memory": "B"}
"""The units of the metrics that formulas have functions for."""


def unit_dimension(unit: str) -> Mapping[str, float]:
    """The dimension of a unit.

    >>> unit_dimension("MB/s") == {"memory": 1, "time": -1}
    True
    """
    above, *below = parse_unit(unit).dimension.split("/")
    powers = Counter({above: 1.0})
    for name in below:
        powers[name] -= 1
    return _clean(powers)


def dimension(expression: Expression, observed: Dimension) -> Dimension:
    """The dimension of an expression, given the dimension of the observations; that of variables is unknown.

    Raises:
        FormulaError: if terms of different dimensions are added or compared.
    """
    match expression:
        case Number(_, unit):
            return unit_dimension(unit)
        case Observed():
            return observed
        case Negative(part):
            return dimension(part, observed)
        case Operation(operator, left, right):
            return _operation(operator, left, right, observed)
        case Function(name, arguments):
            return _function(name, arguments, observed)
        case _:
            return None


def _operation(operator: Operator, left: Expression, right: Expression, observed: Dimension) -> Dimension:
    first, second = dimension(left, observed), dimension(right, observed)
    match operator:
        case Operator.ADD | Operator.SUBTRACT:
            return _alike(first, right, second)
        case Operator.MULTIPLY | Operator.DIVIDE:
            if first is None or second is None:
                return None
            sign = 1 if operator is Operator.MULTIPLY else -1
            powers = Counter(dict(first))
            for name, power in second.items():
                powers[name] += sign * power  # type: ignore[assignment]  # powers are fractions too
            return _clean(powers)
        case Operator.POWER:
            exponent = right.value if isinstance(right, Number) and not right.unit else None
            if first is None or exponent is None:
                return {} if first == {} else None
            return _clean({name: power * exponent for name, power in first.items()})


def _function(name: str, arguments: tuple[Expression, ...], observed: Dimension) -> Dimension:
    first, *rest = (dimension(part, observed) for part in arguments)
    match name:
        case "min" | "max":
            for part, other in zip(arguments[1:], rest, strict=True):
                first = _alike(first, part, other)
            return first
        case "abs" | "round" | "ceil" | "floor":
            return first
        case "sqrt":
            return None if first is None else {key: power / 2 for key, power in first.items()}
        case _:
            return {}


def _alike(first: Dimension, part: Expression, second: Dimension) -> Dimension:
    if first is None or second is None:
        return first or second
    if dict(first) != dict(second):
        raise part.error(
            f"{part.shortened} is {dimension_text(second)}, not {dimension_text(first)}",
            fix="use a unit that fits",
        )
    return first


def side_dimension(side: RelationSide, unit: str | None) -> Dimension:
    """The dimension of a relation's side whose metric has that unit; None if unknown.

    Raises:
        FormulaError: if terms of different dimensions are added.
    """
    if isinstance(side, LimitSide):
        return dimension(side.amount, None)
    assert isinstance(side, PerformanceSide)
    known = unit if unit is not None else UNIT_OF_METRIC.get(side.measured.metric)
    observed = None if known is None else unit_dimension(known)
    if observed is not None and side.measured.statistic.kind is StatisticKind.THROUGHPUT:
        observed = {name: -power for name, power in observed.items()}
    return dimension(side.transformation, observed)


def check_dimensions(relation: Relation, left: str | None = None, right: str | None = None) -> None:
    """Refuse a relation whose sides or margin differ in dimension; ``left`` and ``right`` are the metrics' units.

    Raises:
        FormulaError: with the dimensions of the sides.
    """
    first, second = side_dimension(relation.left, left), side_dimension(relation.right, right)
    if first is not None and second is not None and dict(first) != dict(second):
        message = f"the left side is {dimension_text(first)}, the right side {dimension_text(second)}"
        raise relation.right.error(message, fix="compare what has the same unit")
    amount, known = _amount_dimension(relation.margin), second if first is None else first
    if amount is not None and known is not None and dict(amount) != dict(known):
        assert relation.margin is not None
        message = f"the margin is {dimension_text(amount)}, the sides {dimension_text(known)}"
        raise relation.margin.amount.error(message, fix="give it in a unit that fits, or as a share such as 3%")


def _amount_dimension(margin: Margin | None) -> Dimension:
    """The dimension of a margin in the metric's unit; None for a percentage, or if unknown."""
    if margin is None or (isinstance(margin.amount, Number) and margin.amount.unit == "%"):
        return None
    found = dimension(margin.amount, None)
    return found if found or isinstance(margin.amount, Number) else None


def check_alike(left: Expression, right: Expression) -> None:
    """Refuse to compare two values of different dimensions.

    Raises:
        FormulaError: with both dimensions.
    """
    _alike(dimension(left, None), right, dimension(right, None))


def dimension_text(dimension: Mapping[str, float]) -> str:
    """A dimension in words.

    >>> dimension_text({"memory": 1, "time": -1}), dimension_text({})
    ('memory/time', 'a number without unit')
    """
    above = [_power(name, power) for name, power in dimension.items() if power > 0]
    below = [_power(name, -power) for name, power in dimension.items() if power < 0]
    if not above and not below:
        return "a number without unit"
    return "/".join(["*".join(above) or "1", *below])


def _power(name: str, power: float) -> str:
    return name if power == 1 else f"{name}**{power:g}"


def _clean(powers: Mapping[str, float]) -> Mapping[str, float]:
    return {name: power for name, power in powers.items() if power and name != "1"}
