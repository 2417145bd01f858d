"""Declarations of a file of formulas (aliases, generators, constants), and the expansion of quantifiers.

An expanded formula is a tree of relations without variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from msgspec import Struct

from hati.core import InputError, replace
from hati.core.wording import suggestion
from hati.formula import SIGNS, And, Comparator, Connective, FormulaError, Node, Or, Proposition, Source, Truth
from hati.logic.syntax.expression import SELF, Expression, Number, Text, Variable, check_variable, is_word
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
    check_alike,
    check_dimensions,
)
from hati.logic.syntax.transformation import Generator, Method, Values, affine, evaluate, folded, grounded

MOST_DECLARATIONS = 500
"""The largest number of declarations."""


class Declaration(Node):
    """A name and its meaning."""

    name: str


@dataclass(frozen=True)
class MethodAlias(Declaration):
    """Another name of a method."""

    name: str
    method: Method

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_word(self.name) or self.name == SELF:
            raise InputError(f"{self.name!r} cannot be an alias", fix="use another word")

    def __str__(self) -> str:
        return f"alias {self.name} = {self.method}"


@dataclass(frozen=True)
class NamedGenerator(Declaration):
    """Another name of a generator."""

    name: str
    generator: Generator

    def __str__(self) -> str:
        return f"generator {self.name} = {self.generator}"


@dataclass(frozen=True)
class Constant(Declaration):
    """A name of a value, or of a set of values that quantifiers may range over."""

    name: str
    value: Expression | Domain

    def __post_init__(self) -> None:
        super().__post_init__()
        check_variable(self.name)

    def __str__(self) -> str:
        return f"constant {self.name} = {self.value}"


class Declarations(Struct, frozen=True, dict=True):
    """Declarations in their order.

    Raises:
        InputError: for a name that is declared twice, and for names that stand for each other in a circle.
    """

    declared: tuple[Declaration, ...] = ()

    def __post_init__(self) -> None:
        if len(self.declared) > MOST_DECLARATIONS:
            raise InputError(f"there are more than {MOST_DECLARATIONS} declarations", fix="split the file up")
        if len(self.by_name) < len(self.declared):
            names = [item.name for item in self.declared]
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InputError(f"{twice!r} is declared twice", fix="choose another name")
        _refuse_circle({name: method.name for name, method in self.aliases.items()}, "method")
        _refuse_circle({name: generator.callee.name for name, generator in self.generators.items()}, "generator")

    @cached_property
    def by_name(self) -> Mapping[str, Declaration]:
        """Each declaration by its name."""
        return {item.name: item for item in self.declared}

    @cached_property
    def aliases(self) -> Mapping[str, Method]:
        """The methods by their declared names."""
        return {item.name: item.method for item in self.declared if isinstance(item, MethodAlias)}

    @cached_property
    def generators(self) -> Mapping[str, Generator]:
        """The generators by their declared names."""
        return {item.name: item.generator for item in self.declared if isinstance(item, NamedGenerator)}

    @cached_property
    def constants(self) -> Mapping[str, Expression]:
        """The values by their declared names, without the sets."""
        return {
            item.name: item.value
            for item in self.declared
            if isinstance(item, Constant) and isinstance(item.value, Expression)
        }

    @cached_property
    def sets(self) -> Mapping[str, Domain]:
        """The sets by their declared names."""
        return {
            item.name: item.value
            for item in self.declared
            if isinstance(item, Constant) and isinstance(item.value, Domain)
        }

    @cached_property
    def values(self) -> Mapping[str, Expression]:
        """The constants by their names, computed.

        Raises:
            FormulaError: for arithmetic that has no value.
        """
        values: dict[str, Expression] = {}
        for name, value in self.constants.items():
            values[name] = folded(value, values)
        return values

    def and_(self, declaration: Declaration) -> Declarations:
        """These declarations and one more.

        Raises:
            InputError: for a name that is declared already, or one in a circle.
        """
        return Declarations((*self.declared, declaration))

    def resolved(self, method: Method) -> Method:
        """The method with declarations in place of its name and of its generators' names.

        Raises:
            InputError: if the alias and its use both give the revision, the generators or the arguments.
        """
        seen: list[str] = []
        while method.name in self.aliases and method.name not in seen:
            seen.append(method.name)
            method = _merged(grounded(self.aliases[method.name], self.values), method)
        return replace(method, workload=self._generator(method.workload), instance=self._generator(method.instance))

    def _generator(self, generator: Generator | None) -> Generator | None:
        if generator is None:
            return None
        seen: list[str] = []
        while (name := generator.callee.name) in self.generators and name not in seen:
            seen.append(name)
            generator = _made(grounded(self.generators[name], self.values), generator)
        return generator


def _refuse_circle(meant: Mapping[str, str], what: str) -> None:
    """Refuse names that lead back to themselves through others; a name that means itself is the method of that name."""
    seen: set[str] = set()
    for start in reversed(list(meant)):
        chain, name = dict[str, None](), start
        while name in meant and name not in seen and meant[name] != name:
            seen.add(name)
            chain[name] = None
            name = meant[name]
        if name in chain:
            circle = [*list(chain)[list(chain).index(name) :], name]
            fix = f"let one of them stand for a {what}"
            raise InputError(f"{name!r} stands for itself: {' = '.join(circle)}", fix=fix)


def _merged(target: Method, use: Method) -> Method:
    """An alias's method with what its use adds."""
    _check_once(use.name, "its revision", target.revision, use.revision)
    _check_once(use.name, "its generators", target.workload, use.workload)
    _check_once(use.name, "its arguments", target.arguments, use.arguments)
    if use.callee.member or use.callee.constructor:
        raise InputError(f"{use.name!r} is a method, without members", fix="declare an alias of its own")
    return replace(
        target,
        revision=use.revision or target.revision,
        workload=use.workload or target.workload,
        instance=use.instance or target.instance,
        arguments=use.arguments or target.arguments,
        offset=use.offset,
    )


def _made(target: Generator, use: Generator) -> Generator:
    """A declared generator with what its use adds."""
    _check_once(use.callee.name, "its arguments", target.arguments, use.arguments)
    _check_once(use.callee.name, "its revision", target.revision, use.revision)
    return replace(
        target,
        arguments=use.arguments or target.arguments,
        revision=use.revision or target.revision,
        offset=use.offset,
    )


def _check_once(name: str, what: str, declared: object, used: object) -> None:
    if declared and used:
        raise InputError(f"{name!r} already has {what}", fix="say it either where it is declared or where it is used")


def unknown(what: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> InputError:
    """The error for an unknown name, with the nearest known one."""
    return InputError(f"unknown {what} {name!r}", fix=suggestion(name, known))


Value = int | Fraction
_ONE = Number(1)


class Sets(Struct, frozen=True):
    """The declared sets by name, and the elements of all sets."""

    declared: Mapping[str, Domain]

    def size(self, domain: Domain, values: Values) -> int:
        """The number of elements of a set, with repeated ones counted each time."""
        return sum(self._element_size(element, values) for element in domain.elements)

    def _element_size(self, element: Element, values: Values) -> int:
        if isinstance(element, Variable) and element.name in self.declared:
            return self.size(self.declared[element.name], values)
        return _steps(element, values)[2] if isinstance(element, Range) else 1

    def rows(self, formula: Quantified, values: Values) -> Iterator[tuple[Expression, ...]]:
        """The values of a quantifier's variables, each once, in order.

        Raises:
            FormulaError: for an empty range, or if the number of values is not that of the variables.
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
    """The first number of a range, the step, and the count of numbers; decimals are exact."""
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
    """Refuse a factor that is zero, or a negative one of a statistic that does not commute with it."""
    line = None if side.sugared is None else affine(transformation)
    if line is None or line.factor > 0 or (line.factor < 0 and side.measured.statistic == MEAN):
        return
    message = f"the factor of {side.measured.shortened} is {line.factor:g}"
    fix = "use one that is not zero" if side.measured.statistic == MEAN else "use one above zero"
    raise side.error(message, fix=fix)


MOST_ATOMS = 20_000
"""The largest number of relations that a formula expands to."""

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

    >>> from hati.logic.syntax.formula_reader import parse_formula
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
        """The number of relations: exact, or some number above the largest."""
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
