"""The sides of a performance relation: a statistic of what is measured, transformed; or a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from hati.core import InputError
from hati.formula import Node, quoted
from hati.logic.syntax.expression import Expression, Number, Observed, Operation, Operator, Text
from hati.logic.syntax.language import is_word
from hati.logic.syntax.method import Method

METRICS = {"cpu": "cpu_time", "memory": "peak_memory"}
"""The metrics that have a function of their own: ``cpu(x)`` is ``cpu_time of x``."""


class StatisticKind(StrEnum):
    """What is told of a sample."""

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

        >>> Statistic(StatisticKind.QUANTILE, 0.999).name
        'p99.9'
        """
        if self.level is None or self.level == 0.5:
            return self.kind.value if self.level is None else "median"
        percent = f"{Decimal(repr(self.level)) * 100:f}"
        return f"p{percent.rstrip('0').rstrip('.') if '.' in percent else percent}"

    @property
    def fewest(self) -> int:
        """Of how many observations it can be taken: so many that one is expected beyond a quantile, on its rarer side.

        The least and the greatest are of any number.

        >>> [Statistic(StatisticKind.QUANTILE, level).fewest for level in (0.5, 0.9, 0.01, 0.999, 1.0)]
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
    """A statistic of a metric of a method; ``metric`` is ``""`` for the method's own, else its name."""

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
    """What is measured, and the transformation of each of its observations (Def. 3.4's tl and tr).

    ``str`` tells it to people; a lambda is read only as part of a relation.

    Raises:
        InputError: where the transformation does not depend on what is observed.
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
        """The side without a lambda (``1.05 * b``, ``b + 2 ms``), or None where that cannot be."""
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
