"""Read formulas: parse trees of declarations, connectives, quantifiers and relations.

The sides of a relation are performances with transformations and margins, or parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.core.wording import nearest, suggestion
from hati.formula import SIGNS, Comparator, Source, read_connective, unquoted
from hati.logic.syntax.declarations import Constant, Declaration, Declarations, MethodAlias, NamedGenerator, unknown
from hati.logic.syntax.expression import (
    FUNCTIONS,
    FUNCTIONS_OF_METHODS,
    PERFORMANCE,
    Expression,
    Number,
    Observed,
    Operation,
    Operator,
    Variable,
    check_variable,
)
from hati.logic.syntax.expression_reader import Context, Part, read_expression, read_generator, read_method
from hati.logic.syntax.formula import (
    MEAN,
    MEDIAN,
    METRICS,
    STRICT,
    THROUGHPUT,
    Domain,
    Element,
    FormulaStatistic,
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
    StatisticKind,
    check_dimensions,
)
from hati.logic.syntax.transformation import affine

_STATISTICS = {"mean": MEAN, "median": MEDIAN, "throughput": THROUGHPUT}


def parse_formula(
    text: str,
    source: str = "formula",
    *,
    line: int = 1,
    declarations: Declarations | None = None,
    methods: Iterable[str] | None = None,
) -> PerformanceFormula:
    """Read a formula such as ``for all n in {100, 1000}: new(n) <= 1.05 * old(n)``.

    ``source`` is the text's name in messages; the text begins on its ``line``. ``declarations`` are the names that it
    may use; ``methods`` the names of other known methods: where they are given, any other name that is not a Python
    object is refused.

    Raises:
        FormulaError: for malformed text, with line, column and the expected token.

    >>> str(parse_formula("a<=(x:0.95*x,x:x) b"))
    '0.95 * a <= b'
    """
    origin = Source(text, source, line)
    tree = PERFORMANCE.parse(origin, "formula")
    known = None if methods is None else frozenset(methods)
    with origin.placing():
        return read_formula(Context(origin, 0, declarations or Declarations(), known), tree)


class ReadSide(Struct, frozen=True):
    """A side as read: its expression and its measured method, None for a limit."""

    expression: Expression
    measured: MeasuredStatistic | None

    @property
    def side(self) -> RelationSide:
        """The side of a relation."""
        if self.measured is None:
            return LimitSide(self.expression, offset=self.expression.offset)
        return PerformanceSide(self.measured, self.expression, offset=self.expression.offset)


def read_side(context: Context, tree: Part) -> ReadSide:
    """A side of a relation.

    Raises:
        FormulaError: for two methods in one side, or names that are not known.
    """
    found: list[MeasuredStatistic] = []
    expression = read_expression(replace(context, measured=found, refusal=""), tree)
    if len(found) > 1:
        fix = "write a relation for each, joined by & or |"
        raise context.source.error(found[1].offset, "a side has one method, not two", fix)
    if found and not isinstance(expression, Observed) and not expression.variables:
        _check_factor(context, tree, found[0], expression)
    return ReadSide(expression, found[0] if found else None)


def _check_factor(context: Context, tree: Part, measured: MeasuredStatistic, expression: Expression) -> None:
    """Refuse a factor that is zero, or a negative one of a statistic that does not commute with it."""
    line = affine(expression)
    if line is None or line.factor > 0 or (line.factor < 0 and measured.statistic == MEAN):
        return
    allowed = "use one that is not zero" if measured.statistic == MEAN else "use one above zero"
    fix = "turn the relation round" if line.factor < 0 else allowed
    raise context.error(tree, f"the factor of {measured.shortened} is {line.factor:g}", fix)


def read_measured(context: Context, tree: Any) -> Expression:
    """A method, or a statistic or metric of one, as the observed value; add the method to the context's list."""
    head, *suffixes = tree.children
    name = str(head)
    if head.type != "QUANTILE" and not (head.type == "WORD" and name in FUNCTIONS_OF_METHODS):
        _check_function(context, tree, name)
        offset = context.offset(tree)
        return _found(context, MeasuredStatistic(read_method(context, tree), offset=offset), Observed(offset=offset))
    if len(suffixes) != 1 or _data(suffixes[0]) != "arguments":
        fix = f"write {name}(a); a method of that name is `{name}`"
        raise InputError(f"{name!r} is a function of methods", fix=fix)
    arguments = list(suffixes[0].children)
    if head.type == "QUANTILE":
        statistic = _percentile(name)
    elif name == "quantile":
        statistic = _quantile(arguments)
    else:
        statistic = _STATISTICS.get(name, MEAN)
    if len(arguments) != 1:
        raise InputError(f"{name} takes one method, not {len(arguments)}", fix=f"write {name}(a)")
    inner = _inner(context, arguments[0], name)
    if name in METRICS:
        return _with_metric(context, tree, inner, METRICS[name])
    return _with_statistic(context, tree, inner, statistic)


def _check_function(context: Context, tree: Any, name: str) -> None:
    """Refuse a method that is called with a method, where a function of methods was probably meant."""
    match tree.children[1:]:
        case [Tree(data="arguments", children=[Tree(data="call", children=[Token(value=inner), *_])])]:
            known = context.declarations.aliases.keys() | (context.methods or frozenset())
            variables = context.variables | context.declarations.constants.keys()
            if name not in known and inner not in variables and nearest(name, FUNCTIONS_OF_METHODS):
                raise InputError(f"unknown function {name!r}", fix=suggestion(name, FUNCTIONS_OF_METHODS))


def _data(suffix: Any) -> str:
    return suffix.data if isinstance(suffix, Tree) else ""


def _percentile(name: str) -> FormulaStatistic:
    level = Decimal(name[1:]) / 100
    if level > 1:
        raise InputError(f"there is no {name}", fix="use p0 to p100")
    return FormulaStatistic(StatisticKind.QUANTILE, float(level))


def _quantile(arguments: list[Any]) -> FormulaStatistic:
    match arguments[:1]:
        case [Tree(data="number", children=[Token(value=text), *unit])] if not unit or unit[0] == "%":
            level = Decimal(text.replace("_", "")) / (100 if unit else 1)
            arguments.pop(0)
            return FormulaStatistic(StatisticKind.QUANTILE, float(level))
        case _:
            raise InputError("a quantile needs its level", fix="write quantile(0.99, a) or p99(a)")


def _inner(context: Context, tree: Part, name: str) -> ReadSide:
    inner = read_side(context, tree)
    if inner.measured is None:
        raise context.error(tree, f"{name} of a number", f"write {name}(a); a method of that name is `{name}`")
    return inner


def _with_statistic(context: Context, tree: Any, inner: ReadSide, statistic: FormulaStatistic) -> Expression:
    assert inner.measured is not None
    if inner.measured.statistic != MEAN:
        raise InputError("a statistic of a statistic", fix="keep one")
    measured = replace(inner.measured, statistic=statistic, offset=context.offset(tree))
    return _found(context, measured, inner.expression)


def _with_metric(context: Context, tree: Any, inner: ReadSide, metric: str) -> Expression:
    assert inner.measured is not None
    if inner.measured.metric:
        raise InputError("a metric of a metric", fix="keep one")
    if inner.measured.statistic != MEAN:
        raise InputError("a metric of a statistic", fix="write the statistic outside: p99(cpu(a))")
    return _found(context, replace(inner.measured, metric=metric, offset=context.offset(tree)), inner.expression)


def read_metric(context: Context, tree: Any) -> Expression:
    """``latency of get(1000)``."""
    name, part = tree.children
    metric = unquoted(name, context.offset(name)) if name.type == "TEXT" else str(name)
    if not metric:
        raise InputError("a metric has an empty name", fix="name it, for instance 'latency'")
    return _with_metric(context, tree, _inner(context, part, metric), metric)


def _found(context: Context, measured: MeasuredStatistic, expression: Expression) -> Expression:
    assert context.measured is not None
    context.measured.append(measured)
    return expression


_COMPARATORS = {"==": "=", "≤": "<=", "≥": ">="}


class _Tail(Struct, frozen=True):
    """The part after the left side: comparator, the original tool's transformations and margin, and the right side."""

    comparator: Comparator
    right: Any
    transformations: tuple[Expression, ...] = ()
    margin: Margin | None = None


def read_relation(context: Context, tree: Any) -> PerformanceFormula:
    """A relation between two sides.

    Raises:
        FormulaError: for chained relations, a wrong count of transformations, or sides that do not fit.
    """
    first, *rest = tree.children
    tails = [part for part in rest if str(part.data).endswith("tail")]
    margins = [part for part in rest if not str(part.data).endswith("tail")]
    if len(tails) > 1:
        fix = "write separate relations, joined: a <= b & b <= c"
        raise context.error(tails[1], "relations are not chained", fix)
    if len(margins) > 1:
        raise context.error(margins[1], "the relation already has a margin", "keep one")
    tail = _tail(context, tails[0])
    margin = _margin(context, margins[0]) if margins else tail.margin
    left, right = read_side(context, first), read_side(context, tail.right)
    offset = context.offset(tree)
    with context.at(margins[0] if margins else tails[0]):
        if left.measured is None and right.measured is None:
            return _comparison(left, right, tail, margin, offset)
        sides = _transformed(context, (first, tail.right), (left, right), tail.transformations)
        relation = Relation(sides[0], tail.comparator, sides[1], margin, offset=offset)
    check_dimensions(relation)
    return relation


def _comparison(left: ReadSide, right: ReadSide, tail: _Tail, margin: Margin | None, offset: int) -> PerformanceFormula:
    if margin or tail.transformations:
        raise InputError("neither side of the relation is measured", fix="compare with a method")
    return ParameterComparison(left.expression, tail.comparator, right.expression, offset=offset)


def _transformed(
    context: Context, trees: tuple[Any, Any], sides: tuple[ReadSide, ReadSide], transformations: tuple[Expression, ...]
) -> tuple[RelationSide, RelationSide]:
    left, right = (
        _with_transformation(context, tree, side, transformation)
        for tree, side, transformation in zip(trees, sides, transformations or (None, None), strict=True)
    )
    return left, right


def _with_transformation(
    context: Context, tree: Any, side: ReadSide, transformation: Expression | None
) -> RelationSide:
    with context.at(tree):
        if transformation is None:
            return side.side
        if side.measured is None:
            if not isinstance(transformation, Observed):
                raise InputError("a limit is not transformed", fix="write x: x for its side")
            return side.side
        if not isinstance(side.expression, Observed):
            raise InputError("this side has a lambda and arithmetic", fix="put the arithmetic into the lambda")
        return PerformanceSide(side.measured, transformation, offset=side.measured.offset)


def _tail(context: Context, tree: Any) -> _Tail:
    token, *rest = tree.children
    sign = token.removesuffix("_p")
    comparator = Comparator(_COMPARATORS.get(sign, sign))
    if tree.data == "plain_tail":
        return _Tail(comparator, rest[0])
    if tree.data == "epsilon_tail":
        return _Tail(comparator, rest[1], margin=_epsilon(context, comparator, rest[0]))
    *entries, right = rest
    if not 2 <= len(entries) <= 3:
        fix = "write one for each side: a <=(x: x, x: 1.05 * x) b"
        raise context.error(entries[0], f"{len(entries)} transformation{'s' * (len(entries) != 1)}", fix)
    margin = _epsilon(context, comparator, entries[2]) if len(entries) == 3 else None
    return _Tail(comparator, right, tuple(_entry(context, entry) for entry in entries[:2]), margin)


def _entry(context: Context, tree: Any) -> Expression:
    """A lambda, ``id``, or the factor of the original tool."""
    match tree:
        case Tree(data="lambda", children=[Token() as token, body]):
            return _lambda(context, token, body)
        case Tree(data="call", children=[Token(type="WORD", value="id")]):
            return Observed(offset=context.offset(tree))
        case _:
            factor = read_expression(context.plain("write a lambda: x: 1.05 * x"), tree)
            if factor == Number(1):
                return Observed(offset=factor.offset)
            return Operation(Operator.MULTIPLY, factor, Observed(), offset=factor.offset)


def _lambda(context: Context, token: Token, body: Any) -> Expression:
    name = token.strip("λ:. \t\r\n")
    with context.at(token):
        check_variable(name)
    read = read_expression(
        replace(context.plain("a lambda has numbers and its variable"), observed=name), _written(body)
    )
    if not read.observes:
        raise context.error(body, f"the lambda does not depend on {name}", f"write {name}: {name} for the identity")
    return read


def _written(body: Any) -> Any:
    """The body of a lambda; `0.95x` is read as a product."""
    match body:
        case Tree(data="scaled", children=[factor, Token() as variable]):
            times = Token.new_borrow_pos("TIMES", "*", variable)
            return Tree("operation", [Tree("number", [factor]), times, Tree("call", [variable])])
        case _:
            return body


def _epsilon(context: Context, comparator: Comparator, tree: Any) -> Margin:
    """The margin of the original tool's ``=(0.05)``, a fraction."""
    with context.at(tree):
        if comparator is not Comparator.EQUAL:
            raise InputError("only = has a margin in parentheses", fix="write a <= b within 3%, or two lambdas")
        match read_expression(context.plain("write a = b +- 3%"), tree):
            case Number(value, ""):
                share = float(Decimal(repr(value)) * 100)
                return Margin(Number(int(share) if share.is_integer() else share, "%"), offset=context.offset(tree))
            case _:
                raise InputError("expected a number such as 0.05", fix="write a = b +- 5%")


def _margin(context: Context, tree: Any) -> Margin:
    with context.at(tree):
        if tree.data == "strictly":
            return STRICT
        amount = read_expression(context.plain("a margin is a share or an amount: 3%, 2 ms"), tree.children[1])
        if isinstance(amount, Number) and not amount.unit and amount.value:
            share = f"{amount.value * 100:g}% or {amount.value:g}%" if amount.value < 1 else f"{amount.value:g}%"
            raise context.error(tree.children[1], "a margin needs % or a unit", f"write {share}")
        if isinstance(amount, Number) and not amount.value:
            return STRICT
        return Margin(amount, offset=context.offset(tree))


_IN_SET = "a set has numbers, texts and variables"


def read_formula(context: Context, tree: Part) -> PerformanceFormula:
    """The formula of a tree.

    Raises:
        FormulaError: for a tree that is not a formula, or mentions an unknown name.
    """
    with context.at(tree):
        connective = read_connective(tree, partial(read_formula, context), context.offset(tree), SIGNS)
        if connective is not None:
            return connective
        reader = _READERS.get(str(tree.data)) if isinstance(tree, Tree) else None
        if reader is None:
            raise InputError("this is not compared with anything", fix="write a relation: a <= b")
        return reader(context, tree)


def _quantified(context: Context, tree: Any) -> PerformanceFormula:
    token, *bindings, body = tree.children
    return _nested(context, token, bindings, body)


def _nested(context: Context, token: Any, bindings: list[Any], body: Any) -> PerformanceFormula:
    """One quantifier for each binding, the first outside."""
    if not bindings:
        return read_formula(context, body)
    first, *rest = bindings
    names, domain = _binding(context, first)
    inner = _nested(context.bound(*names), token, rest, body)
    with context.at(first):
        return Quantified(_quantifier(token), names, domain, inner, offset=context.offset(token))


def _quantifier(token: Any) -> Quantifier:
    return Quantifier.EXISTS if token in {"exists", "∃"} else Quantifier.ALL


def _binding(context: Context, tree: Any) -> tuple[tuple[str, ...], Domain]:
    if tree.data == "columns":
        *tokens, braces = tree.children
        names = _names(context, tokens)
        return names, _transposed(context, braces, len(names))
    target, values = tree.children
    names = _names(context, target.children)
    if tree.data == "binding_of_set":
        with context.at(values):
            return names, Domain((_set(context, values),), offset=context.offset(values))
    return names, read_domain(context, values)


def _set(context: Context, token: Any) -> Expression:
    if token not in context.declarations.sets:
        fix = f"declare it: constant {token} = {{10, 100}}" if not context.declarations.sets else None
        error = unknown("set", str(token), tuple(context.declarations.sets))
        raise InputError(error.message, fix=fix or error.fix)
    return Variable(str(token), offset=context.offset(token))


def _names(context: Context, tokens: list[Any]) -> tuple[str, ...]:
    for token in tokens:
        with context.at(token):
            check_variable(str(token))
            if token in context.variables or token in context.declarations.by_name:
                raise InputError(f"{str(token)!r} is taken already", fix="choose another name")
    return tuple(str(token) for token in tokens)


def _quantified_bare(context: Context, tree: Any) -> PerformanceFormula:
    token, target, bare, body = tree.children
    names = _names(context, target.children)
    domain = Domain(tuple(_element(context, part) for part in bare.children), offset=context.offset(bare))
    inner = read_formula(context.bound(*names), body)
    return Quantified(_quantifier(token), names, domain, inner, offset=context.offset(token))


def read_domain(context: Context, tree: Any) -> Domain:
    """The set between braces."""
    return Domain(tuple(_element(context, part) for part in tree.children), offset=context.offset(tree))


def _element(context: Context, tree: Any) -> Element:
    plain = context.plain(_IN_SET)
    match tree:
        case Tree(data="range", children=parts):
            first, last, *step = (read_expression(plain, part) for part in parts)
            return Range(first, last, step[0] if step else None, offset=context.offset(tree))
        case Tree(data="row", children=parts):
            return Row(tuple(read_expression(plain, part) for part in parts), offset=context.offset(tree))
        case Tree(data="call", children=[token]) if token in context.declarations.sets:
            return Variable(str(token), offset=context.offset(tree))
        case _:
            return read_expression(plain, tree)


def _transposed(context: Context, tree: Any, width: int) -> Domain:
    """The original tool writes each variable's values as a tuple: columns, not rows."""
    elements = [_element(context, part) for part in tree.children]
    if width == 1:
        return Domain(tuple(elements), offset=context.offset(tree))
    columns = [element.values for element in elements if isinstance(element, Row)]
    if len(columns) != len(elements) or len(columns) != width or len({len(column) for column in columns}) != 1:
        fix = "write (a,b){(1,2),(3,4)} with a's values first, or for all (a, b) in {...} with rows"
        raise context.error(tree, f"{width} variables need {width} tuples of the same length", fix)
    rows = tuple(Row(values, offset=values[0].offset) for values in zip(*columns, strict=True))
    return Domain(rows, offset=context.offset(tree))


_READERS: dict[str, Callable[[Context, Any], PerformanceFormula]] = {
    "quantified": _quantified,
    "quantified_bare": _quantified_bare,
    "quantified_columns": _quantified,
    "relation": read_relation,
}


def read_declaration(context: Context, tree: Any) -> Declaration:
    """A declaration.

    Raises:
        FormulaError: for a name that means something else, or a value that does not fit.
    """
    kind, token, value = tree.children
    name, offset = str(token), context.offset(tree)
    if name in FUNCTIONS or name in FUNCTIONS_OF_METHODS:
        raise InputError(f"{name!r} is a function of formulas", fix="choose another name")
    is_set = isinstance(value, Tree) and value.data == "braces"
    if is_set and kind != "constant":
        raise context.error(value, f"a set is not a {kind}", f"write: constant {name} = {{...}}")
    if kind == "alias":
        return MethodAlias(name, read_method(context, value), offset=offset)
    if kind == "generator":
        return NamedGenerator(name, read_generator(context, value), offset=offset)
    plain = context.plain("a constant is a number, a text or a set")
    read = read_domain(plain, value) if is_set else read_expression(plain, value)
    return Constant(name, read, offset=offset)
