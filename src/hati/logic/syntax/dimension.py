"""Dimensions of expressions: times are not added to memory, and a limit has the dimension of its other side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hati.core import parse_unit
from hati.logic.syntax.expression import Expression, Function, Negative, Number, Observed, Operation, Operator
from hati.logic.syntax.formula import LimitSide, Margin, PerformanceSide, Relation, RelationSide, StatisticKind

Dimension = Mapping[str, float] | None
"""Powers of base dimensions, such as ``{"memory": 1, "time": -1}``; None where it is not known."""

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
    FormulaError: where terms of different dimensions are added or compared.
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
    """The dimension of a relation's side whose metric has that unit, None where it is not known.

    Raises:
        FormulaError: where things of unlike dimension are added.
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
    """Refuse a relation whose sides or margin are of unlike dimension, where the sides' metrics have these units.

    Raises:
        FormulaError: with what the sides are.
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
    """The dimension of a margin in the metric's unit; None of a share, and where it is not known."""
    if margin is None or (isinstance(margin.amount, Number) and margin.amount.unit == "%"):
        return None
    found = dimension(margin.amount, None)
    return found if found or isinstance(margin.amount, Number) else None


def check_alike(left: Expression, right: Expression) -> None:
    """Refuse to compare two values of unlike dimension.

    Raises:
        FormulaError: with what they are.
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
