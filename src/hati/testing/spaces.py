"""Hypothesis strategies for spaces with their formulas, performance formulas, and files of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec import Struct

from hati.core import Setting, replace
from hati.formula import SIGNS, And, Comparator, Equivalent, Implies, Not, Or, Truth
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
from hati.space import Constraint, Option, OptionKind, Space
from hati.space.constraint import Flag, Literal, Membership, Name, NegatedTerm, Product, Sum, Term, TermComparison

T = TypeVar("T")

NAMES = ("a", "b", "cache_size", "page-size", "not", "innodb.flush", "größe", "x y", "in", "_1")
"""Names of options; some need backquotes in formulas and quotes in TOML."""

_TEXTS = ("WAL", "", "it's", 'a "b"', "back\\slash", "line\nbreak", "\x00", "1", "true", "ü")
_REALS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 1e16, -1e-7)


_SETTINGS: tuple[st.SearchStrategy[Any], ...] = (
    st.booleans(),
    st.sampled_from(_TEXTS),
    st.integers(-3, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(_REALS),
)
_NUMBERS: tuple[Setting, ...] = (-9, -1, 0, 1, 2, 7, *_REALS)


@st.composite
def options(draw: st.DrawFn, name: str, condition: Constraint | None = None, *, most: int = 4) -> Option:
    """An option of any kind with up to ``most`` settings."""
    values = _SETTINGS[draw(st.integers(0, len(_SETTINGS) - 1))]
    settings = tuple(draw(st.lists(values, min_size=1, max_size=most, unique=True)))
    default = settings[draw(st.integers(0, len(settings) - 1))]
    unit, doc = draw(st.sampled_from(_TEXTS)), draw(st.sampled_from(_TEXTS))
    return Option(name, settings, default, unit=unit, doc=doc, active_if=condition)


@st.composite
def spaces(draw: st.DrawFn, *, most_options: int = 4, most_constraints: int = 3) -> Space:
    """A space, some of whose options are active under conditions on earlier ones."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=most_options, unique=True))
    made: list[Option] = []
    for name in names:
        conditional = bool(made) and draw(st.booleans())
        made.append(draw(options(name, _formula(_Chooser(draw, made), 1) if conditional else None, most=3)))
    chooser = _Chooser(draw, made)
    constraints = tuple(_formula(chooser, 2) for _ in range(draw(st.integers(0, most_constraints))))
    return Space(tuple(made), constraints)


@st.composite
def formulas(draw: st.DrawFn, known: Sequence[Option], *, levels: int = 3) -> Constraint:
    """A formula that fits the options, with up to ``levels`` levels of connectives."""
    return _formula(_Chooser(draw, known), levels)


class _Chooser(Struct, frozen=True):
    """Draws among alternatives. Nested strategies would take most of a test's time."""

    draw: st.DrawFn
    known: Sequence[Option]

    def one(self, things: Sequence[T]) -> T:
        return things[self.draw(st.integers(0, len(things) - 1))]

    def several(self, make: Callable[[], T]) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.one((2, 3))))


def _formula(choose: _Chooser, levels: int) -> Constraint:
    kind = choose.one(("atom", "not", "and", "or", "=>", "<=>")) if levels else "atom"

    def part() -> Constraint:
        return _formula(choose, levels - 1)

    match kind:
        case "not":
            return Not(part())
        case "and":
            return And(choose.several(part))
        case "or":
            return Or(choose.several(part))
        case "=>":
            return Implies(part(), part())
        case "<=>":
            return Equivalent(part(), part())
        case _:
            return _atom(choose)


def _atom(choose: _Chooser) -> Constraint:
    kind = choose.one(("setting", "numbers", "truth")) if choose.known else "numbers"
    if kind == "truth":
        return Truth(choose.one((False, True)))
    if kind == "numbers":
        return TermComparison(_sum(choose, 1), choose.one(tuple(Comparator)), _sum(choose, 1))
    option = choose.one(choose.known)
    name, literal = Name(option.name), Literal(choose.one(option.settings))
    forms: list[Constraint] = [
        TermComparison(name, choose.one((Comparator.EQUAL, Comparator.UNEQUAL)), literal),
        TermComparison(literal, Comparator.EQUAL, name),
        Membership(name, (literal, Literal(choose.one(option.settings)))),
    ]
    return choose.one([*forms, Flag(option.name)] if option.kind is OptionKind.BOOLEAN else forms)


def _term(choose: _Chooser, levels: int) -> Term:
    """A numeric term; sums and products are never compared with a setting, so any number is valid."""
    kind = choose.one(("name", "literal", "product", "sum", "negative")) if levels else choose.one(("name", "literal"))
    numeric = [option for option in choose.known if option.kind.numeric]
    if kind == "name" and numeric:
        return Name(choose.one(numeric).name)
    if kind == "product":
        return Product(choose.several(lambda: _term(choose, levels - 1)))
    if kind == "sum":
        return _sum(choose, levels - 1)
    if kind == "negative":
        term = _term(choose, levels - 1)
        return term if isinstance(term, Literal) else NegatedTerm(term)
    return Literal(choose.one(_NUMBERS))


def _sum(choose: _Chooser, levels: int) -> Term:
    terms = choose.several(lambda: _term(choose, levels))
    return Sum(terms, tuple(choose.one(("+", "-")) for _ in terms[1:]))


U = TypeVar("U")

FORMULA_NAMES = (
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
_FORMULA_NUMBERS = (0, 1, 2, 7, 1000, 10**18, 0.5, 1.05, 1e-07, 1e16, -3, -0.25)
_UNKNOWN_METRICS = ("", "latency", "queue depth", "p99", "of")
_METRICS = (*_UNKNOWN_METRICS, "cpu_time")
_LEVELS = (0.0, 0.05, 0.5, 0.999, 0.9999999, 1.0, 1e-09, 0.1 + 0.2)
_COMPARATORS = tuple(each for each in Comparator if each is not Comparator.UNEQUAL)
_VARIABLES = ("n", "k", "m", "x", "y")
_FUNCTIONS = (("log2", 1), ("abs", 1), ("round", 1), ("min", 2), ("max", 3))


@st.composite
def performance_formulas(draw: st.DrawFn, *, levels: int = 3) -> PerformanceFormula:
    """A formula with up to ``levels`` levels of connectives and quantifiers."""
    return _performance_formula(_FormulaChooser(draw), levels)


@st.composite
def formula_files(draw: st.DrawFn) -> FormulaFile:
    """A file of declarations and formulas."""
    choose = _FormulaChooser(draw)
    declared = (
        MethodAlias("old", replace(_method(choose), arguments=())),
        NamedGenerator("rand", _generator(choose)),
        Constant("sizes", _domain(choose, 1)),
        Constant("limit", Number(3, choose.one(("", "%", "ms")))),
    )
    declarations = Declarations(tuple(item for item in declared if choose.one((True, False))))
    names = ("", "quick", "not slower", "it's")
    count = choose.one((0, 1, 2, 3))
    formulas = tuple(NamedFormula(_performance_formula(choose, 2), names[i] if i else "") for i in range(count))
    return FormulaFile(declarations, formulas)


class _FormulaChooser(Struct, frozen=True):
    """Draws among alternatives. Nested strategies would take most of a test's time."""

    draw: st.DrawFn
    variables: tuple[str, ...] = ()

    def one(self, things: Sequence[U]) -> U:
        return things[self.draw(st.integers(0, len(things) - 1))]

    def several(self, make: Callable[[], U], counts: Sequence[int] = (2, 3)) -> tuple[U, ...]:
        return tuple(make() for _ in range(self.one(counts)))


def _performance_formula(choose: _FormulaChooser, levels: int) -> PerformanceFormula:
    def part() -> PerformanceFormula:
        return _performance_formula(choose, levels - 1)

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


def _quantified(choose: _FormulaChooser, levels: int) -> PerformanceFormula:
    free = [name for name in _VARIABLES if name not in choose.variables]
    count = choose.one((1, 2)) if len(free) > 2 else 1
    if not free:
        return _relation(choose)
    names = tuple(free[:count])
    domain = _domain(choose, count)
    body = _performance_formula(replace(choose, variables=(*choose.variables, *names)), levels - 1)
    return Quantified(choose.one(tuple(Quantifier)), names, domain, body)


def _domain(choose: _FormulaChooser, width: int) -> Domain:
    if width > 1:
        return Domain(choose.several(lambda: Row(tuple(_expression(choose, 1) for _ in range(width))), (1, 2)))
    return Domain(choose.several(lambda: _element(choose), (1, 2, 3)))


def _element(choose: _FormulaChooser) -> Expression | Range:
    match choose.one(("value", "text", "range", "stepped")):
        case "text":
            return Text(choose.one(TEXTS))
        case "range":
            return Range(_expression(choose, 1), _expression(choose, 1))
        case "stepped":
            return Range(_expression(choose, 1), _expression(choose, 1), _expression(choose, 1))
        case _:
            return _expression(choose, 1)


def _relation(choose: _FormulaChooser) -> PerformanceFormula:
    comparator = choose.one(_COMPARATORS)
    unit = choose.one(("ms", "1/s", "MB/s", "page", ""))
    left, right = _side(choose, unit), _side(choose, unit)
    if isinstance(left, LimitSide) and isinstance(right, LimitSide):
        right = PerformanceSide(_measured(choose, unit))
    return Relation(left, comparator, right, _margin(choose, comparator, unit))


def _margin(choose: _FormulaChooser, comparator: Comparator, unit: str) -> Margin | None:
    if comparator in {Comparator.LESS, Comparator.MORE}:
        return None
    amount = Number(0.5, "ms") if unit == "ms" else Number(0.5, "%")
    margins = (None, Margin(Number(3, "%")), Margin(amount), STRICT)
    return choose.one(margins[:3] if comparator is Comparator.EQUAL else margins)


def _side(choose: _FormulaChooser, unit: str) -> RelationSide:
    kind = choose.one(("method", "transformed", "limit"))
    if kind == "limit":
        return LimitSide(choose.one((Number(choose.one(_FORMULA_NUMBERS), unit), _amount(choose, unit))))
    if kind == "method":
        return PerformanceSide(_measured(choose, unit))
    return PerformanceSide(_measured(choose, unit), choose.one(_transformations(choose, unit)))


def _amount(choose: _FormulaChooser, unit: str) -> Expression:
    return Operation(Operator.MULTIPLY, _expression(choose, 2), Number(choose.one((2, 0.5)), unit))


def _transformations(choose: _FormulaChooser, unit: str) -> tuple[Expression, ...]:
    scaled = Operation(Operator.MULTIPLY, Number(choose.one((2, 0.5, 1.05))), Observed())
    divided = Operation(Operator.DIVIDE, Observed(), _expression(choose, 1))
    factor = Operation(Operator.MULTIPLY, _expression(choose, 1), Observed())
    sign = choose.one((Operator.ADD, Operator.SUBTRACT))
    shifted = Operation(sign, choose.one((scaled, divided, factor)), _amount(choose, unit))
    curved = Function("max", (shifted, Function("sqrt", (Operation(Operator.POWER, Observed(), Number(2)),))))
    return scaled, divided, factor, shifted, Operation(sign, _amount(choose, unit), shifted), Negative(shifted), curved


def _measured(choose: _FormulaChooser, unit: str) -> MeasuredStatistic:
    level = FormulaStatistic(StatisticKind.QUANTILE, choose.one(_LEVELS))
    metrics = _METRICS if unit == "ms" else _UNKNOWN_METRICS
    metric = choose.one(metrics)
    statistics = (MEAN, level) if metric in {"cpu_time", "peak_memory"} else (MEAN, level, THROUGHPUT)
    return MeasuredStatistic(_method(choose), metric, choose.one(statistics))


def _method(choose: _FormulaChooser) -> Method:
    return Method(
        _callee(choose),
        choose.one(REVISIONS),
        *choose.one(((None, None), (_generator(choose), None), (_generator(choose), _generator(choose)))),
        choose.several(lambda: _argument(choose), (0, 1, 2)),
    )


def _callee(choose: _FormulaChooser) -> Callee:
    name = choose.one([name for name in FORMULA_NAMES if name not in choose.variables])
    if choose.one((True, True, False)):
        return Callee(name)
    constructor = choose.one(((), (Text("x"),), (Text("it's"), Number(1))))
    return Callee(name, constructor, "method", choose.one(((), ("int", "java.lang.String[]"))))


def _generator(choose: _FormulaChooser) -> Generator:
    arguments = choose.several(lambda: Text(choose.one(TEXTS)), (0, 0, 1))
    return Generator(_callee(choose), choose.one(REVISIONS), arguments)


def _argument(choose: _FormulaChooser) -> Argument:
    value = choose.one((_expression(choose, 1), Text(choose.one(TEXTS))))
    return Argument(value, choose.one(("", "", "rows")))


def _expression(choose: _FormulaChooser, levels: int) -> Expression:
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
            return Number(choose.one(_FORMULA_NUMBERS), choose.one(("", "", "", "%")))
