"""Read parse trees of arithmetic as expressions, and calls as methods and generators; the reader's context.

The measured methods of a side are collected. A call has names, revisions, generators and arguments, in any sensible
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.core.metric import is_unit
from hati.core.wording import nearest, suggestion
from hati.formula import FormulaError, Source, start_of, unquoted
from hati.logic.syntax.declarations import Declarations, unknown
from hati.logic.syntax.expression import (
    FUNCTIONS,
    FUNCTIONS_OF_METHODS,
    SELF,
    Expression,
    Function,
    Number,
    Observed,
    Operation,
    Operator,
    Text,
    Variable,
    name_text,
)
from hati.logic.syntax.formula import MeasuredStatistic
from hati.logic.syntax.transformation import Argument, Callee, Generator, Method, folded, negative

Part: TypeAlias = "Tree[Token] | Token"


@dataclass(slots=True)
class Placing:
    """A context manager that adds the place to errors; as a generator it would take most of the reading time."""

    context: Context
    part: Part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not error.place and not isinstance(error, FormulaError):
            raise self.context.error(self.part, error.message, error.fix) from None


class Context(Struct, frozen=True):
    """The context of reading the text from ``base`` on; ``methods`` are the known names, None if unknown.

    ``variables`` are those of the enclosing quantifiers. ``observed`` is the variable of an enclosing lambda.
    ``measured`` collects the methods of a side; if it is None no method can stand here, and ``refusal`` says why.
    """

    source: Source
    base: int = 0
    declarations: Declarations = field(default_factory=Declarations)
    methods: frozenset[str] | None = None
    variables: frozenset[str] = frozenset()
    observed: str | None = None
    measured: list[MeasuredStatistic] | None = None
    refusal: str = ""

    def offset(self, part: Part) -> int:
        """The offset of a part in the whole text."""
        return self.base + start_of(part)

    def error(self, part: Part, message: str, fix: str | None = None) -> FormulaError:
        """An error at the place of a part."""
        return self.source.error(self.offset(part), message, fix)

    def at(self, part: Part) -> Placing:
        """Return a context manager that adds this place to errors without one."""
        return Placing(self, part)

    def bound(self, *names: str) -> Context:
        """The context of a quantifier's body."""
        return replace(self, variables=self.variables.union(names))

    def plain(self, refusal: str = "") -> Context:
        """The context for parts that may not mention a method."""
        return replace(self, measured=None, refusal=refusal)


_LARGEST = 10**18
_MICRO = str.maketrans("µμ", "uu")
_NO_RATIO = "write a ratio as a factor: a <= 2 * b"
_NEEDS_LAMBDA = "write it as a lambda, such as a <=(x: log2(x), x: x) b"


def read_expression(context: Context, tree: Part) -> Expression:
    """The expression of a tree.

    Raises:
        FormulaError: for a tree that is not an expression, or mentions an unknown name.
    """
    with context.at(tree):
        reader = _READERS.get(str(tree.data)) if isinstance(tree, Tree) else None
        if reader is None:
            raise InputError("expected a number, found a formula", fix="combine formulas with &, |, ! and =>")
        return reader(context, tree)


def _number(context: Context, tree: Any) -> Expression:
    token, *unit = tree.children
    text = token.replace("_", "")
    value = int(text) if text.isdigit() and len(text) < 20 else float(text)
    if not math.isfinite(value) or (isinstance(value, int) and value > _LARGEST):
        raise InputError("the number is too large", fix=f"use {_LARGEST:.0e} at most")
    if not unit:
        return Number(value, offset=context.offset(tree))
    symbol = unquoted(unit[0], context.offset(unit[0])) if unit[0].type == "TEXT" else unit[0].translate(_MICRO)
    return Number(value, symbol, offset=context.offset(tree))


def _text(context: Context, tree: Any) -> Expression:
    return Text(unquoted(tree.children[0], context.offset(tree.children[0])), offset=context.offset(tree))


def _signed(context: Context, tree: Any) -> Expression:
    sign, part = tree.children
    value = read_expression(context, part)
    return negative(value, context.offset(sign)) if sign == "-" else value


def _power(context: Context, tree: Any) -> Expression:
    inner = context.plain(_NEEDS_LAMBDA)
    left, right = (read_expression(inner, part) for part in tree.children)
    return Operation(Operator.POWER, left, right, offset=context.offset(tree))


def _operation(context: Context, tree: Any) -> Expression:
    first, *rest = tree.children
    value = read_expression(context, first)
    for sign, part in zip(rest[::2], rest[1::2], strict=True):
        with context.at(sign):
            value = _combined(context, value, Operator(str(sign)), part, context.offset(tree))
    return value


def _combined(context: Context, left: Expression, operator: Operator, part: Part, offset: int) -> Expression:
    if operator is Operator.DIVIDE:
        below = _unit_below(context, part)
        if below and isinstance(left, Number):
            return Number(left.value, f"{left.unit or '1'}/{below}", offset=left.offset)
        if below:
            return Operation(operator, left, Number(1, below), offset=offset)
        return Operation(operator, left, read_expression(context.plain(_NO_RATIO), part), offset=offset)
    right = read_expression(context, part)
    if context.measured is not None and operator in {Operator.ADD, Operator.MULTIPLY}:
        return _ordered(operator, left, right, offset)
    return Operation(operator, left, right, offset=offset)


def _ordered(operator: Operator, left: Expression, right: Expression, offset: int) -> Expression:
    """Order a side as ``factor * method + shift``, whatever the order in the text."""
    if operator is Operator.ADD and right.observes:
        left, right = right, left
    if operator is Operator.MULTIPLY and left.observes:
        left, right = right, left
    match right:
        case Operation(Operator.MULTIPLY, factor, Observed()) if operator is Operator.MULTIPLY:
            both = Operation(operator, left, factor, offset=offset)
            return Operation(operator, both if both.variables else folded(both, {}), right.right, offset=offset)
        case _:
            return Operation(operator, left, right, offset=offset)


def _unit_below(context: Context, part: Part) -> str:
    """The unit that a number is divided by, as in ``1000 /s``; ``""`` for anything else."""
    match part:
        case Tree(data="call", children=[Token(type="WORD", value=name)]) if is_unit(name) and name != "count":
            return "" if name in context.variables else str(name)
        case _:
            return ""


def _call(context: Context, tree: Any) -> Expression:
    from hati.logic.syntax.formula_reader import read_measured

    head, *suffixes = tree.children
    name = str(head)
    if head.type == "WORD" and name == context.observed:
        return _without_suffix(context, tree, Observed(offset=context.offset(tree)))
    if head.type == "WORD" and _is_variable(context, name):
        return _without_suffix(context, tree, Variable(name, offset=context.offset(tree)))
    if head.type == "WORD" and name in FUNCTIONS:
        return _function(context, tree)
    if context.measured is not None:
        return read_measured(context, tree)
    if head.type == "QUANTILE" or name in FUNCTIONS_OF_METHODS:
        raise InputError(f"{name} of a method cannot stand here", fix=context.refusal or "compare it: p99(a) <= 2 ms")
    if name in context.declarations.sets:
        raise InputError(f"{name!r} is a set", fix=f"range over it: for all n in {name}: ...")
    if suffixes and nearest(name, FUNCTIONS):
        raise InputError(f"unknown function {name!r}", fix=suggestion(name, FUNCTIONS))
    if suffixes or head.type != "WORD" or name in context.declarations.aliases:
        raise InputError(f"a method cannot stand here: {name!r}", fix=context.refusal or "use numbers and variables")
    raise _unknown(context, name)


def _is_variable(context: Context, name: str) -> bool:
    return name in context.variables or name in context.declarations.constants


def _unknown(context: Context, name: str) -> InputError:
    if context.observed:
        known = (context.observed, *sorted(context.variables), *context.declarations.constants, *FUNCTIONS)
    else:
        known = (*sorted(context.variables), *context.declarations.constants)
    if nearest(name, known) is None and context.refusal:
        return InputError(f"unknown variable {name!r}", fix=context.refusal)
    fix = suggestion(name, known) if known else f"bind it: for all {name} in {{1..10}}: ..."
    return InputError(f"unknown variable {name!r}", fix=fix)


def _without_suffix(context: Context, tree: Any, value: Expression) -> Expression:
    head, *suffixes = tree.children
    if suffixes:
        raise context.error(head, f"{str(head)!r} is a variable, not a method", "a method needs another name")
    return value


def _function(context: Context, tree: Any) -> Expression:
    head, *suffixes = tree.children
    name = str(head)
    if len(suffixes) != 1 or suffixes[0].data != "arguments":
        fix = f"write {name}(n); a method of that name is `{name}`"
        raise InputError(f"{name!r} is a function of numbers", fix=fix)
    refusal = _NEEDS_LAMBDA if name not in {"min", "max"} else "the least of a is p0(a), the greatest p100(a)"
    inner = context.plain(refusal)
    arguments = tuple(read_expression(inner, part) for part in suffixes[0].children)
    return Function(name, arguments, offset=context.offset(tree))


def _metric(context: Context, tree: Any) -> Expression:
    from hati.logic.syntax.formula_reader import read_metric

    if context.measured is None:
        raise InputError("a metric of a method cannot stand here", fix=context.refusal or "use numbers and variables")
    return read_metric(context, tree)


_READERS: dict[str, Callable[[Context, Any], Expression]] = {
    "number": _number,
    "text": _text,
    "signed": _signed,
    "power": _power,
    "operation": _operation,
    "call": _call,
    "metric": _metric,
}


_NO_METHOD = "a workload's parameters are numbers, texts and variables"


@dataclass
class _Parts:
    """The parts of a call found so far."""

    name: str
    revision: str = ""
    constructor: tuple[Any, ...] | None = None
    member: str = ""
    types: tuple[Any, ...] | None = None
    generators: tuple[Any, ...] | None = None
    arguments: tuple[Any, ...] | None = None


def read_method(context: Context, tree: Part) -> Method:
    """The method of a call's tree.

    Raises:
        FormulaError: for a tree that is not a call, or parts that do not fit.
    """
    with context.at(tree):
        parts = _parts(context, _checked_call(tree, "a method"))
        _check_known(context, tree, parts.name)
        workload, instance = _generators(context, parts)
        return Method(
            _callee(context, tree, parts),
            parts.revision,
            workload,
            instance,
            tuple(_argument(context, part) for part in parts.arguments or ()),
            offset=context.offset(tree),
        )


def read_generator(context: Context, tree: Part) -> Generator:
    """The generator of a call's tree.

    Raises:
        FormulaError: for a tree that is not a call, or parts that do not fit.
    """
    with context.at(tree):
        parts = _parts(context, _checked_call(tree, "a generator"))
        if parts.generators:
            raise InputError("a generator has no generators of its own", fix="write [workload, instance]")
        arguments = tuple(_value(context, part) for part in parts.arguments or ())
        callee = _callee(context, tree, parts)
        return Generator(callee, parts.revision, arguments, offset=context.offset(tree))


def _checked_call(tree: Part, wanted: str) -> Any:
    if not isinstance(tree, Tree) or tree.data != "call":
        raise InputError(f"expected {wanted}, such as pkg.mod:sort", fix="write its name")
    return tree


def _parts(context: Context, tree: Any) -> _Parts:
    head, *suffixes = tree.children
    name = unquoted(head, context.offset(head)) if head.type == "BACKQUOTED" else str(head).lstrip(":")
    parts = _Parts(SELF if name == "THIS" else name)
    kinds = [_kind(suffix) for suffix in suffixes]
    for i, suffix in enumerate(suffixes):
        following = kinds[i + 1 :]
        with context.at(suffix if not isinstance(suffix, Tree) or suffix.children else head):
            _add(context, parts, kinds[i], suffix, following)
    return parts


def _kind(suffix: Any) -> str:
    return suffix.data if isinstance(suffix, Tree) else suffix.type


def _add(context: Context, parts: _Parts, kind: str, suffix: Any, following: list[str]) -> None:
    if kind == "REVISION":
        _once(parts.revision, "a revision")
        revision = suffix[1:]
        parts.revision = unquoted(revision, context.offset(suffix) + 1) if revision[0] in "'\"" else revision
    elif kind == "QUALIFIED":
        _once(":" in parts.name or parts.member, "a name")
        parts.name += suffix
    elif kind == "MEMBER":
        _once(parts.member, "a member")
        parts.member = suffix[1:]
    elif kind == "generators":
        _once(parts.generators is not None, "generators")
        parts.generators = tuple(suffix.children[1:])
    elif "MEMBER" in following:
        _once(parts.constructor is not None, "a constructor")
        parts.constructor = tuple(suffix.children)
    elif parts.member and parts.types is None and "generators" in following:
        parts.types = tuple(suffix.children)
    else:
        _once(parts.arguments is not None, "arguments")
        parts.arguments = tuple(suffix.children)


def _once(present: object, what: str) -> None:
    if present:
        raise InputError(f"the method already has {what}", fix="write it as name@revision[workload, instance](n)")


def _check_known(context: Context, tree: Any, name: str) -> None:
    if name in context.variables:
        raise InputError(f"{name!r} is a variable here, not a method", fix="choose another name for the variable")
    if name in FUNCTIONS and tree.children[0].type != "BACKQUOTED":
        raise InputError(
            f"{name!r} is a function of numbers", fix=f"a method of that name is written {name_text(name)}"
        )
    if name in context.declarations.sets or name in context.declarations.generators:
        raise InputError(f"{name!r} is declared, but not as a method", fix="declare it by alias")
    simple = "." not in name and ":" not in name and name != SELF
    if context.methods is None or not simple or name in context.methods or name in context.declarations.aliases:
        return
    raise unknown("method", name, (*context.declarations.aliases, *sorted(context.methods)))


def _generators(context: Context, parts: _Parts) -> tuple[Generator | None, Generator | None]:
    trees = parts.generators or ()
    if len(trees) > 2:
        raise context.error(trees[2], "a method has two generators", "write [workload, instance]")
    read = [read_generator(context, part) for part in trees]
    workload, instance, *_ = [*read, None, None]
    return workload, instance


def _callee(context: Context, tree: Part, parts: _Parts) -> Callee:
    return Callee(
        parts.name,
        tuple(_value(context, part) for part in parts.constructor or ()),
        parts.member,
        tuple(_type(part) for part in parts.types or ()),
        offset=context.offset(tree),
    )


def _type(tree: Any) -> str:
    match tree:
        case Tree(data="call", children=[Token(type="WORD" | "NAME", value=name)]):
            return str(name)
        case Tree(data="call", children=[Token(type="WORD" | "NAME", value=name), Tree(data="generators") as brackets]):
            if len(brackets.children) == 1:
                return f"{name}[]"
            raise InputError("expected types such as int[]", fix="write Class#method(int[])[gen](n)")
        case _:
            raise InputError("expected types such as int or java.lang.String", fix="write Class#method(int)[gen](n)")


def _argument(context: Context, tree: Any) -> Argument:
    offset = context.offset(tree)
    match tree:
        case Tree(
            data="relation",
            children=[
                Tree(data="call", children=[Token(type="WORD", value=name)]),
                Tree(data="plain_tail", children=[Token(value="="), value]),
            ],
        ):
            return Argument(_value(context, value), str(name), offset=offset)
        case _:
            return Argument(_value(context, tree), offset=offset)


def _value(context: Context, tree: Part) -> Expression:
    return read_expression(context.plain(_NO_METHOD), tree)
