"""Formulas that Python files state of their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from hati.core import InputError, Place
from hati.logic.syntax import (
    Alias,
    Declarations,
    Formula,
    Generator,
    Method,
    NamedGenerator,
    Performance,
    Relation,
    Source,
    parse_formula,
)
from hati.python import SELF, StatedFunction, read_statements
from hati.studies.assertion import Requirement
from hati.wiring.pythons import interpreter_around

PYTHON = ".py"

T = TypeVar("T", Generator, Method)


class Misstated(Struct, frozen=True):
    """What is stated of the function ``name``, and is no formula; ``error`` says why, and where."""

    name: str
    text: str
    error: InputError


def requirements_of(file: Path, root: Path) -> Iterator[Requirement]:
    """The formulas of a Python file of the project ``root``, in order; each is named as its function.

    Raises:
        InputError: where the file cannot be imported, or a formula is none.
    """
    for each in stated_in(file, root):
        if isinstance(each, Misstated):
            raise each.error
        yield each


def stated_in(file: Path, root: Path) -> Iterator[Requirement | Misstated]:
    """The same with those that are wrong, each in its place.

    Raises:
        InputError: where the file cannot be imported.
    """
    statements = read_statements(file, root, interpreter_around(root))
    yield from (_stated(text, each, str(file)) for each in statements for text in each.formulas)


def _stated(text: str, stated: StatedFunction, file: str) -> Requirement | Misstated:
    try:
        return _requirement(text, stated, file)
    except InputError as error:
        return Misstated(_name(stated), text, error)


def _requirement(text: str, stated: StatedFunction, file: str) -> Requirement:
    formula = parse_formula(text, file, line=stated.line)
    try:
        declarations = _declarations(formula, stated)
    except InputError as error:
        raise InputError(error.message, place=Place(file, stated.line), fix=error.fix) from None
    formula = parse_formula(text, file, line=stated.line, declarations=declarations)
    seen = {**stated.known, SELF: stated.method}
    return Requirement(formula, Source(text, file, stated.line), declarations, _name(stated), seen)


def _name(stated: StatedFunction) -> str:
    return stated.method.rpartition(":")[2]


def _declarations(formula: Formula, stated: StatedFunction) -> Declarations:
    """Its aliases, as methods or as generators, whichever they are used as, and the generators that it sees."""
    methods = list(_methods(formula))
    generators = [each.callee.name for method in methods for each in (method.workload, method.instance) if each]
    named = _followed(generators, {**stated.known, **stated.aliases}, _generator)
    called = _followed([method.name for method in methods], stated.aliases, _method)
    return Declarations(
        (
            *(NamedGenerator(name, generator) for name, generator in named.items()),
            *(Alias(name, method) for name, method in called.items()),
        )
    )


def _followed(names: Iterable[str], texts: Mapping[str, str], read: Callable[[str], T]) -> dict[str, T]:
    """What each name stands for, and the names in that."""
    found: dict[str, T] = {}
    left = sorted(names, reverse=True)
    while left:
        name = left.pop()
        if name in texts and name not in found:
            found[name] = read(texts[name])
            left.append(found[name].callee.name)
    return found


def _methods(formula: Formula) -> Iterator[Method]:
    for relation in formula.relations:
        for side in (relation.left, relation.right):
            if isinstance(side, Performance):
                yield side.measured.method


def _generator(text: str) -> Generator:
    """A generator as formulas write it: in brackets."""
    found = _method(f"{SELF}[{text}]").workload
    assert found is not None
    return found


def _method(text: str) -> Method:
    """A method as formulas write it.

    Raises:
        InputError: for another text.
    """
    relation = parse_formula(f"{text} <= 1 s", "alias")
    if not isinstance(relation, Relation) or not isinstance(relation.left, Performance):
        raise InputError(
            f"{text!r} is not a valid name of a method", fix="write module:function, or give the function itself"
        )
    return relation.left.measured.method
