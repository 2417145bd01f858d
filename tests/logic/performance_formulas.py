"""Hypothesis strategies for performance formulas and files of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st
from msgspec import Struct

from hati.core import replace
from hati.formula import SIGNS, And, Comparator, Implies, Not, Or, Truth
from hati.logic.syntax import (
    MEAN,
    STRICT,
    THROUGHPUT,
    Argument,
    Callee,
    Constant,
    Declarations,
    Domain,
    Expression,
    FormulaFile,
    FormulaStatistic,
    Function,
    Generator,
    LimitSide,
    Margin,
    MeasuredStatistic,
    Method,
    MethodAlias,
    NamedFormula,
    NamedGenerator,
    Negative,
    Number,
    Observed,
    Operation,
    Operator,
    ParameterComparison,
    PerformanceFormula,
    PerformanceSide,
    Quantified,
    Quantifier,
    Range,
    Relation,
    RelationSide,
    Row,
    StatisticKind,
    Text,
    Variable,
)

T = TypeVar("T")
NAMES = (
    "a",
    "new",
    "SELF",
    "pkg.mod:sort",
    "ArrayList.contains",
    "get-small",
    "in",
    "größe",
    "m:f",
    "x",
    "p99",
    "mod:median",
)
REVISIONS = ("", "", "v1.2", "HEAD~1", "main", "pkg==1.4", "r123", "odd name", "it's", "^/tags/v1", "a/b-c", "main@{2}")
TEXTS = ("big.xml", "", "it's", 'a "b"', "back\\slash", "line\nbreak", "\x00", "ü", "# no comment")
_NUMBERS = (0, 1, 2, 7, 1000, 10**18, 0.5, 1.05, 1e-07, 1e16, -3, -0.25)
_UNKNOWN_METRICS = ("", "latency", "queue depth", "p99", "of")
_METRICS = (*_UNKNOWN_METRICS, "cpu_time")
_LEVELS = (0.0, 0.05, 0.5, 0.999, 0.9999999, 1.0, 1e-09, 0.1 + 0.2)
_COMPARATORS = tuple(each for each in Comparator if each is not Comparator.UNEQUAL)
_VARIABLES = ("n", "k", "m", "x", "y")
_FUNCTIONS = (("log2", 1), ("abs", 1), ("round", 1), ("min", 2), ("max", 3))


@st.composite
def performance_formulas(draw: st.DrawFn, *, levels: int = 3) -> PerformanceFormula:
    """A formula with up to ``levels`` levels of connectives and quantifiers."""
    return _formula(_Chooser(draw), levels)


@st.composite
def formula_files(draw: st.DrawFn) -> FormulaFile:
    """A file of declarations and formulas."""
    choose = _Chooser(draw)
    declared = (
        MethodAlias("old", replace(_method(choose), arguments=())),
        NamedGenerator("rand", _generator(choose)),
        Constant("sizes", _domain(choose, 1)),
        Constant("limit", Number(3, choose.one(("", "%", "ms")))),
    )
    declarations = Declarations(tuple(item for item in declared if choose.one((True, False))))
    names = ("", "quick", "not slower", "it's")
    count = choose.one((0, 1, 2, 3))
    formulas = tuple(NamedFormula(_formula(choose, 2), names[i] if i else "") for i in range(count))
    return FormulaFile(declarations, formulas)


class _Chooser(Struct, frozen=True):
    """Draws among alternatives. Nested strategies would take most of a test's time."""

    draw: st.DrawFn
    variables: tuple[str, ...] = ()

    def one(self, things: Sequence[T]) -> T:
        return things[self.draw(st.integers(0, len(things) - 1))]

    def several(self, make: Callable[[], T], counts: Sequence[int] = (2, 3)) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.one(counts)))


def _formula(choose: _Chooser, levels: int) -> PerformanceFormula:
    def part() -> PerformanceFormula:
        return _formula(choose, levels - 1)

    makers: dict[str, Callable[[], PerformanceFormula]] = {
        "not": lambda: Not(part()),
        "and": lambda: And(choose.several(part)),
        "or": lambda: Or(choose.several(part)),
        "=>": lambda: Implies(part(), part()),
        "quantified": lambda: _quantified(choose, levels),
        "truth": lambda: Truth(choose.one((False, True)), notation=SIGNS),
        "comparison": lambda: ParameterComparison(
            _expression(choose, 2), choose.one(_COMPARATORS), _expression(choose, 2)
        ),
        "relation": lambda: _relation(choose),
    }
    return makers[choose.one(tuple(makers)) if levels else "relation"]()


def _quantified(choose: _Chooser, levels: int) -> PerformanceFormula:
    free = [name for name in _VARIABLES if name not in choose.variables]
    count = choose.one((1, 2)) if len(free) > 2 else 1
    if not free:
        return _relation(choose)
    names = tuple(free[:count])
    domain = _domain(choose, count)
    body = _formula(replace(choose, variables=(*choose.variables, *names)), levels - 1)
    return Quantified(choose.one(tuple(Quantifier)), names, domain, body)


def _domain(choose: _Chooser, width: int) -> Domain:
    if width > 1:
        return Domain(choose.several(lambda: Row(tuple(_expression(choose, 1) for _ in range(width))), (1, 2)))
    return Domain(choose.several(lambda: _element(choose), (1, 2, 3)))


def _element(choose: _Chooser) -> Expression | Range:
    match choose.one(("value", "text", "range", "stepped")):
        case "text":
            return Text(choose.one(TEXTS))
        case "range":
            return Range(_expression(choose, 1), _expression(choose, 1))
        case "stepped":
            return Range(_expression(choose, 1), _expression(choose, 1), _expression(choose, 1))
        case _:
            return _expression(choose, 1)


def _relation(choose: _Chooser) -> PerformanceFormula:
    comparator = choose.one(_COMPARATORS)
    unit = choose.one(("ms", "1/s", "MB/s", "page", ""))
    left, right = _side(choose, unit), _side(choose, unit)
    if isinstance(left, LimitSide) and isinstance(right, LimitSide):
        right = PerformanceSide(_measured(choose, unit))
    return Relation(left, comparator, right, _margin(choose, comparator, unit))


def _margin(choose: _Chooser, comparator: Comparator, unit: str) -> Margin | None:
    if comparator in {Comparator.LESS, Comparator.MORE}:
        return None
    amount = Number(0.5, "ms") if unit == "ms" else Number(0.5, "%")
    margins = (None, Margin(Number(3, "%")), Margin(amount), STRICT)
    return choose.one(margins[:3] if comparator is Comparator.EQUAL else margins)


def _side(choose: _Chooser, unit: str) -> RelationSide:
    kind = choose.one(("method", "transformed", "limit"))
    if kind == "limit":
        return LimitSide(choose.one((Number(choose.one(_NUMBERS), unit), _amount(choose, unit))))
    if kind == "method":
        return PerformanceSide(_measured(choose, unit))
    return PerformanceSide(_measured(choose, unit), choose.one(_transformations(choose, unit)))


def _amount(choose: _Chooser, unit: str) -> Expression:
    return Operation(Operator.MULTIPLY, _expression(choose, 2), Number(choose.one((2, 0.5)), unit))


def _transformations(choose: _Chooser, unit: str) -> tuple[Expression, ...]:
    scaled = Operation(Operator.MULTIPLY, Number(choose.one((2, 0.5, 1.05))), Observed())
    divided = Operation(Operator.DIVIDE, Observed(), _expression(choose, 1))
    factor = Operation(Operator.MULTIPLY, _expression(choose, 1), Observed())
    sign = choose.one((Operator.ADD, Operator.SUBTRACT))
    shifted = Operation(sign, choose.one((scaled, divided, factor)), _amount(choose, unit))
    curved = Function("max", (shifted, Function("sqrt", (Operation(Operator.POWER, Observed(), Number(2)),))))
    return scaled, divided, factor, shifted, Operation(sign, _amount(choose, unit), shifted), Negative(shifted), curved


def _measured(choose: _Chooser, unit: str) -> MeasuredStatistic:
    level = FormulaStatistic(StatisticKind.QUANTILE, choose.one(_LEVELS))
    metrics = _METRICS if unit == "ms" else _UNKNOWN_METRICS
    metric = choose.one(metrics)
    statistics = (MEAN, level) if metric in {"cpu_time", "peak_memory"} else (MEAN, level, THROUGHPUT)
    return MeasuredStatistic(_method(choose), metric, choose.one(statistics))


def _method(choose: _Chooser) -> Method:
    return Method(
        _callee(choose),
        choose.one(REVISIONS),
        *choose.one(((None, None), (_generator(choose), None), (_generator(choose), _generator(choose)))),
        choose.several(lambda: _argument(choose), (0, 1, 2)),
    )


def _callee(choose: _Chooser) -> Callee:
    name = choose.one([name for name in NAMES if name not in choose.variables])
    if choose.one((True, True, False)):
        return Callee(name)
    constructor = choose.one(((), (Text("x"),), (Text("it's"), Number(1))))
    return Callee(name, constructor, "method", choose.one(((), ("int", "java.lang.String[]"))))


def _generator(choose: _Chooser) -> Generator:
    arguments = choose.several(lambda: Text(choose.one(TEXTS)), (0, 0, 1))
    return Generator(_callee(choose), choose.one(REVISIONS), arguments)


def _argument(choose: _Chooser) -> Argument:
    value = choose.one((_expression(choose, 1), Text(choose.one(TEXTS))))
    return Argument(value, choose.one(("", "", "rows")))


def _expression(choose: _Chooser, levels: int) -> Expression:
    kinds = ("number", "variable", "operation", "function", "negative")
    match choose.one(kinds) if levels else choose.one(("number", "variable")):
        case "variable" if choose.variables:
            return Variable(choose.one(choose.variables))
        case "operation":
            parts = _expression(choose, levels - 1), _expression(choose, levels - 1)
            return Operation(choose.one(tuple(Operator)), *parts)
        case "function":
            name, count = choose.one(_FUNCTIONS)
            return Function(name, tuple(_expression(choose, levels - 1) for _ in range(count)))
        case "negative":
            part = _expression(choose, levels - 1)
            return part if isinstance(part, Number) else Negative(part)
        case _:
            return Number(choose.one(_NUMBERS), choose.one(("", "", "", "%")))
