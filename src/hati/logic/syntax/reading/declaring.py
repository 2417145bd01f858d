"""Declarations: aliases, generators, constants."""

from __future__ import annotations

from typing import Any

from lark import Tree

from hati.core import InputError
from hati.logic.syntax.declarations import Alias, Constant, Declaration, NamedGenerator
from hati.logic.syntax.names import FUNCTIONS, FUNCTIONS_OF_METHODS
from hati.logic.syntax.reading.context import Context
from hati.logic.syntax.reading.expressions import read_expression
from hati.logic.syntax.reading.formulas import read_domain
from hati.logic.syntax.reading.methods import read_generator, read_method


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
        return Alias(name, read_method(context, value), offset=offset)
    if kind == "generator":
        return NamedGenerator(name, read_generator(context, value), offset=offset)
    plain = context.plain("a constant is a number, a text or a set")
    read = read_domain(plain, value) if is_set else read_expression(plain, value)
    return Constant(name, read, offset=offset)
