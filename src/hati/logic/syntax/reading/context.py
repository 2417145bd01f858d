"""What is known while a tree is read: the text, the names in scope, and where errors are placed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from lark import Token, Tree
from msgspec import Struct

from hati.core import InputError, replace
from hati.formula import FormulaError, Source, start_of
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.performance import MeasuredStatistic

Part: TypeAlias = "Tree[Token] | Token"


@dataclass(slots=True)
class Placing:
    """A context manager that gives errors their place; a generator would take most of the time of reading."""

    context: Context
    part: Part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not error.place and not isinstance(error, FormulaError):
            raise self.context.error(self.part, error.message, error.fix) from None


class Context(Struct, frozen=True):
    """The text from ``base`` on is read; ``methods`` are the names that there are, None where that is not known.

    ``variables`` are those of the quantifiers around. ``observed`` is the lambda's variable inside of one.
    ``measured`` takes the methods of a side; where it is None there can be none, for the reason ``refusal``.
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
        """Where a part starts in the whole text."""
        return self.base + start_of(part)

    def error(self, part: Part, message: str, fix: str | None = None) -> FormulaError:
        """The error that something is wrong there."""
        return self.source.error(self.offset(part), message, fix)

    def at(self, part: Part) -> Placing:
        """Places what is refused inside, unless it has its place already."""
        return Placing(self, part)

    def bound(self, *names: str) -> Context:
        """The context of a quantifier's body."""
        return replace(self, variables=self.variables.union(names))

    def plain(self, refusal: str = "") -> Context:
        """The context of what may not mention a method."""
        return replace(self, measured=None, refusal=refusal)
