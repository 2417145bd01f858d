"""A formula that is to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from hati.core import InputError, Place, replace
from hati.logic import syntax
from hati.studies.assertion.book import Book


@dataclass(frozen=True)
class Requirement:
    """A formula with the names that it may use, and the text that it was read from.

    ``seen`` are names that mean a method where the formula is stated, such as ``SELF`` on a function.

    Raises:
        InputError: where it has too many relations, an empty set or arithmetic without a value.
    """

    formula: syntax.Formula
    source: syntax.Source
    declarations: syntax.Declarations = field(default_factory=syntax.Declarations)
    name: str = ""
    seen: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.ground  # noqa: B018  # what cannot be expanded is refused when it is built

    @cached_property
    def ground(self) -> syntax.Formula:
        """The same without variables; names that are declared stay."""
        return syntax.expand(self.formula, self.declarations, source=self.source)

    @property
    def place(self) -> Place:
        """Where it is written."""
        return self.source.place(self.formula.offset)

    def resolved(self, relation: syntax.Relation, book: Book) -> syntax.Relation:
        """A relation with what is declared in place of its names, but for names by which something was measured."""
        sides = (self._side(side, book) for side in (relation.left, relation.right))
        return replace(relation, left=next(sides), right=next(sides))

    def _side(self, side: syntax.Side, book: Book) -> syntax.Side:
        if not isinstance(side, syntax.Performance) or book.has(side.measured.method):
            return side
        method = self.declarations.resolved(side.measured.method)
        if method.name in self.seen:
            method = replace(method, callee=replace(method.callee, name=self.seen[method.name]))
        return replace(side, measured=replace(side.measured, method=method))

    @contextmanager
    def placing(self, node: syntax.Formula | syntax.Method) -> Iterator[None]:
        """Places what is refused where a part was read, or where the node that the error tells was."""
        try:
            yield
        except InputError as error:
            if error.place is not None:
                raise
            offset = getattr(error, "offset", node.offset)
            raise self.source.error(offset, error.message, error.fix) from None


def methods_of(relation: syntax.Relation) -> tuple[str, ...]:
    """The texts of the methods that a relation is about."""
    sides = (relation.left, relation.right)
    return tuple(str(side.measured.method) for side in sides if isinstance(side, syntax.Performance))
