"""Trees of declarations, connectives and quantifiers as formulas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lark import Tree

from hati.core import InputError
from hati.formula import SIGNS, read_connective
from hati.logic.syntax.declarations import Constant, Declaration, MethodAlias, NamedGenerator, unknown
from hati.logic.syntax.expression import Expression, Variable, check_variable
from hati.logic.syntax.formula import Domain, Element, PerformanceFormula, Quantified, Quantifier, Range, Row
from hati.logic.syntax.language import FUNCTIONS, FUNCTIONS_OF_METHODS
from hati.logic.syntax.reading.expressions import Context, Part, read_expression
from hati.logic.syntax.reading.methods import read_generator, read_method
from hati.logic.syntax.reading.relations import read_relation

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
    """What stands between braces."""
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
