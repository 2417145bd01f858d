"""Methods: the callable, its revision and its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from hati.core import InputError
from hati.formula import Node, quoted
from hati.logic.syntax.expression import Expression, Number, Text
from hati.logic.syntax.language import REVISION, name_text
from hati.logic.syntax.transformation import Values, folded

N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Callee(Node):
    """The target of a call: a name, and for Java the constructor's arguments, the method's name and its types.

    ``name`` is a declared name, a Python object ``pkg.mod:Class.method``, or a class.
    """

    name: str
    constructor: tuple[Expression, ...] = ()
    member: str = ""
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name or "`" in self.name or "\n" in self.name:
            raise InputError(f"{self.name!r} is not a valid name of a method")
        if (self.constructor or self.types) and not self.member:
            raise InputError("only a member of a class has a constructor or types", fix="write Class('x')#method")

    def __str__(self) -> str:
        member = f"#{self.member}" if self.member else ""
        types = f"({', '.join(self.types)})" if self.types else ""
        return f"{name_text(self.name)}{_listed(self.constructor)}{member}{types}"


@dataclass(frozen=True)
class Generator(Node):
    """What makes the input of a method (its workload) or the object that it is called on (its instance)."""

    callee: Callee
    revision: str = ""
    arguments: tuple[Expression, ...] = ()

    def __str__(self) -> str:
        typed = "[]" if self.callee.types else ""
        return f"{self.callee}{revision_text(self.revision)}{typed}{_listed(self.arguments)}"


@dataclass(frozen=True)
class Argument(Node):
    """A parameter of the workload: by its place, or by its name."""

    value: Expression
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.value}" if self.name else str(self.value)


@dataclass(frozen=True)
class Method(Node):
    """A method with a workload: ``sort@v1.2[rand](1000)``; its ``revision`` is ``""`` for the working tree."""

    callee: Callee
    revision: str = ""
    workload: Generator | None = None
    instance: Generator | None = None
    arguments: tuple[Argument, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instance and not self.workload:
            raise InputError("an instance generator needs a workload generator before it")

    @property
    def name(self) -> str:
        """The callee's name."""
        return self.callee.name

    def __str__(self) -> str:
        generators = ", ".join(str(part) for part in (self.workload, self.instance) if part)
        brackets = f"[{generators}]" if generators or self.callee.types else ""
        return f"{self.callee}{revision_text(self.revision)}{brackets}{_listed(self.arguments)}"


def revision_text(revision: str) -> str:
    """A revision as it follows a name.

    >>> revision_text("v1.2"), revision_text("HEAD~1"), revision_text("pkg==1.4"), revision_text("odd name")
    ('@v1.2', '@HEAD~1', '@pkg==1.4', "@'odd name'")
    """
    if not revision:
        return ""
    return f"@{revision}" if REVISION.fullmatch(revision) else f"@{quoted(revision)}"


def _listed(parts: tuple[Node, ...]) -> str:
    return f"({', '.join(str(part) for part in parts)})" if parts else ""


def grounded(node: N, values: Values) -> N:
    """A method or generator with values for the variables of its arguments.

    Raises:
        FormulaError: for an argument that is then neither a number nor a text.
    """

    def put(part: Node) -> Node:
        return _argument(part, values) if isinstance(part, Expression) else part.mapped(put)

    return node.mapped(put)


def _argument(expression: Expression, values: Values) -> Expression:
    value = folded(expression, values)
    if isinstance(value, Text) or (isinstance(value, Number) and not value.unit):
        return value
    message = f"an argument is a number without unit or a text, not {value.shortened}"
    raise expression.error(message)
