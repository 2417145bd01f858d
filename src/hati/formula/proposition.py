"""Propositions: connectives and comparisons of any kind of atoms, and how they print."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import Struct

from hati.core import InputError
from hati.formula.node import Node

A = TypeVar("A", bound=Node)
"""The atoms of a language."""


class Notation(Struct, frozen=True):
    """How a language writes connectives and equality."""

    negation: str
    conjunction: str
    disjunction: str
    equal: str


WORDS = Notation("not ", " and ", " or ", "==")
"""As constraints are written."""

SIGNS = Notation("!", " & ", " | ", "=")
"""As performance formulas are written."""


class Proposition(Node, Generic[A]):
    """A proposition, true, false or open: an atom, or a connective of propositions."""

    @property
    @abstractmethod
    def notation(self) -> Notation:
        """How it prints; connectives print as their parts do."""


class Connective(Proposition[A]):
    """A proposition of propositions."""

    @property
    def notation(self) -> Notation:
        """That of the first part."""
        first = self.parts[0]
        assert isinstance(first, Proposition)
        return first.notation


@dataclass(frozen=True)
class Truth(Connective[A]):
    """``true`` or ``false``; a constant without other atoms prints in its notation."""

    value: bool
    notation: Notation = field(default=WORDS, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return str(self.value).lower()


@dataclass(frozen=True)
class Not(Connective[A]):
    """What holds where its part does not."""

    precedence = 5
    part: Proposition[A]

    def __str__(self) -> str:
        return f"{self.notation.negation}{self.part.bracketed(20)}"


class _Joined(Connective[A]):
    """Two propositions or more, joined by one word."""

    formulas: tuple[Proposition[A], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.formulas) < 2:
            raise InputError("a connective joins two formulas or more")

    def _text(self, word: str) -> str:
        return word.join(part.bracketed(self.precedence) for part in self.formulas)


@dataclass(frozen=True)
class And(_Joined[A]):
    """What holds where all of its parts do, two or more."""

    precedence = 4
    formulas: tuple[Proposition[A], ...]

    def __str__(self) -> str:
        return self._text(self.notation.conjunction)


@dataclass(frozen=True)
class Or(_Joined[A]):
    """What holds where one of its parts does, or several."""

    precedence = 3
    formulas: tuple[Proposition[A], ...]

    def __str__(self) -> str:
        return self._text(self.notation.disjunction)


@dataclass(frozen=True)
class Implies(Connective[A]):
    """What holds unless the condition does and the consequence does not; groups to the right."""

    precedence = 2
    condition: Proposition[A]
    consequence: Proposition[A]

    def __str__(self) -> str:
        return f"{self.condition.bracketed(2)} => {self.consequence.bracketed(1)}"


@dataclass(frozen=True)
class Equivalent(Connective[A]):
    """What holds where both sides do or neither does; groups to the left."""

    precedence = 1
    left: Proposition[A]
    right: Proposition[A]

    def __str__(self) -> str:
        return f"{self.left.bracketed(0)} <=> {self.right.bracketed(1)}"


class Comparator(StrEnum):
    """How the left side is to be to the right one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    LESS = "<"
    MORE = ">"
    EQUAL = "="
    UNEQUAL = "!="

    @property
    def strict(self) -> bool:
        """Whether equal sides break it though it has an order."""
        return self in {Comparator.LESS, Comparator.MORE}

    @property
    def ordered(self) -> bool:
        """Whether it needs an order of its sides."""
        return self not in {Comparator.EQUAL, Comparator.UNEQUAL}

    def compare(self, left: Any, right: Any) -> Any:
        """Whether the comparison holds; of arrays element by element."""
        return _COMPARED[self](left, right)


_COMPARED: dict[Comparator, Callable[[Any, Any], Any]] = {
    Comparator.AT_MOST: operator.le,
    Comparator.AT_LEAST: operator.ge,
    Comparator.LESS: operator.lt,
    Comparator.MORE: operator.gt,
    Comparator.EQUAL: operator.eq,
    Comparator.UNEQUAL: operator.ne,
}

S = TypeVar("S", bound=Node)
"""The sides of a comparison."""


@dataclass(frozen=True)
class ComparisonNode(Proposition[A], Generic[A, S]):
    """Two values compared: an atom."""

    precedence = 20
    left: S
    comparator: Comparator
    right: S

    def __str__(self) -> str:
        sign = self.notation.equal if self.comparator is Comparator.EQUAL else self.comparator
        return f"{self.left.bracketed(20)} {sign} {self.right.bracketed(20)}"
