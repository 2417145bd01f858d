"""What a file of formulas declares: other names of methods and generators, and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec import Struct

from hati.core import InputError, replace
from hati.core.wording import suggestion
from hati.formula import Node
from hati.logic.syntax.expression import Expression, check_variable
from hati.logic.syntax.formula import Domain
from hati.logic.syntax.language import SELF, is_word
from hati.logic.syntax.method import Generator, Method, grounded
from hati.logic.syntax.transformation import folded

MOST_DECLARATIONS = 500
"""The greatest count of declarations."""


class Declaration(Node):
    """A name and what it stands for."""

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
        InputError: for a name that is declared twice, and for names in a circle, which mean no method or generator.
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
            InputError: where the alias and its use both say the revision, the generators or the arguments.
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
    """Refuse names that lead back to themselves through others; a name that means itself is the object of that name."""
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
    """What a generator stands for with what its use adds."""
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
    """The error that a name is none of the known ones, with the nearest."""
    return InputError(f"unknown {what} {name!r}", fix=suggestion(name, known))
