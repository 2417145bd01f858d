"""What is known while a tree is read: the text, the names in scope, and where errors are placed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lark import Token, Tree

from hati.core import InputError
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.node import NodeError
from hati.logic.syntax.performance import Measured
from hati.logic.syntax.source import FormulaError, Source

Part: TypeAlias = "Tree[Token] | Token"


@dataclass(frozen=True)
class Context:
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
    measured: list[Measured] | None = None
    refusal: str = ""

    def offset(self, part: Part) -> int:
        """Where a part starts in the whole text."""
        while isinstance(part, Tree):
            part = part.children[0]
        return self.base + (part.start_pos or 0)

    def error(self, part: Part, message: str, fix: str | None = None) -> FormulaError:
        """The error that something is wrong there."""
        return self.source.error(self.offset(part), message, fix)

    @contextmanager
    def at(self, part: Part) -> Iterator[None]:
        """Places what is refused inside, unless it has its place already."""
        try:
            yield
        except InputError as error:
            if error.place or isinstance(error, NodeError):
                raise
            raise self.error(part, error.message, error.fix) from None

    def bound(self, *names: str) -> Context:
        """The context of a quantifier's body."""
        return replace(self, variables=self.variables.union(names))

    def plain(self, refusal: str = "") -> Context:
        """The context of what may not mention a method."""
        return replace(self, measured=None, refusal=refusal)
