"""Calls as methods and generators: names, revisions, generators and arguments, in any sensible order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from hati.core import InputError
from hati.formula import unquoted
from hati.logic.syntax.declarations import unknown
from hati.logic.syntax.expression import Expression
from hati.logic.syntax.language import FUNCTIONS, SELF, name_text
from hati.logic.syntax.method import Argument, Callee, Generator, Method
from hati.logic.syntax.reading.expressions import Context, Part, read_expression

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
