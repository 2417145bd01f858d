"""What propositions come to: one evaluation, in Kleene's logic, of trees, arrays, diagrams, or any other algebra."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from hati.formula.proposition import A, And, Connective, Equivalent, Implies, Not, Or, Proposition, Truth

T = TypeVar("T")


class Algebra(Protocol[T]):
    """What a proposition is evaluated in; ``T`` is a truth. Parts come one by one, and need not all be taken."""

    @abstractmethod
    def constant(self, *, truth: bool) -> T:
        """The constant: always true or never true."""

    @abstractmethod
    def negation(self, part: T) -> T:
        """True where the part is not."""

    @abstractmethod
    def conjunction(self, parts: Iterable[T]) -> T:
        """True where all parts are."""

    def disjunction(self, parts: Iterable[T]) -> T:
        """True where at least one part is."""
        return self.negation(self.conjunction([self.negation(part) for part in parts]))

    def implication(self, condition: T, consequence: T) -> T:
        """True unless the condition is true and the consequence is not."""
        return self.disjunction((self.negation(condition), consequence))

    def equivalence(self, left: T, right: T) -> T:
        """True where both are or neither is."""
        return self.conjunction((self.implication(left, right), self.implication(right, left)))


def combined(connective: Connective[A], algebra: Algebra[T], read: Callable[[Proposition[A]], T]) -> T:
    """What an algebra makes of a connective's parts, as ``read`` has them."""
    match connective:
        case Not(part):
            return algebra.negation(read(part))
        case And(parts):
            return algebra.conjunction(read(part) for part in parts)
        case Or(parts):
            return algebra.disjunction(read(part) for part in parts)
        case Implies(condition, consequence):
            return algebra.implication(read(condition), read(consequence))
        case Equivalent(left, right):
            return algebra.equivalence(read(left), read(right))
        case Truth(value):
            return algebra.constant(truth=value)
    raise AssertionError(connective)


def evaluate(proposition: Proposition[A], algebra: Algebra[T], atom: Callable[[Any], T]) -> T:
    """The proposition in an algebra, with ``atom`` giving what each atom is in it."""

    def read(part: Proposition[A]) -> T:
        return combined(part, algebra, read) if isinstance(part, Connective) else atom(part)

    return read(proposition)


class Kleene(Algebra[bool | None]):
    """Kleene's strong logic, None being unknown; without it the logic of two values.

    Kleene 1952, Introduction to Metamathematics, section 64.
    """

    def constant(self, *, truth: bool) -> bool | None:
        """The truth."""
        return truth

    def negation(self, part: bool | None) -> bool | None:  # noqa: FBT001  # a truth of three values
        """Unknown stays so."""
        return None if part is None else not part

    def conjunction(self, parts: Iterable[bool | None]) -> bool | None:
        """False as soon as a part is."""
        found: bool | None = True
        for part in parts:
            if part is False:
                return False
            found = found and part
        return found

    def disjunction(self, parts: Iterable[bool | None]) -> bool | None:
        """True as soon as a part is."""
        found: bool | None = False
        for part in parts:
            if part is True:
                return True
            found = None if part is None else found
        return found


KLEENE = Kleene()


class Simplifying(Algebra[Proposition[A]], Generic[A]):
    """Trees without the constant parts."""

    def constant(self, *, truth: bool) -> Proposition[A]:
        """``true`` or ``false``."""
        return Truth(truth)

    def negation(self, part: Proposition[A]) -> Proposition[A]:
        """The opposite of a constant, else the negation."""
        return Truth(not part.value) if isinstance(part, Truth) else Not(part)

    def conjunction(self, parts: Iterable[Proposition[A]]) -> Proposition[A]:
        """Without the parts that are true; ``false`` where one is."""
        return _joined(And, parts, neutral=True)

    def disjunction(self, parts: Iterable[Proposition[A]]) -> Proposition[A]:
        """Without the parts that are false; ``true`` where one is."""
        return _joined(Or, parts, neutral=False)

    def implication(self, condition: Proposition[A], consequence: Proposition[A]) -> Proposition[A]:
        """A disjunction where a side is constant."""
        if isinstance(condition, Truth) or isinstance(consequence, Truth):
            return self.disjunction((self.negation(condition), consequence))
        return Implies(condition, consequence)

    def equivalence(self, left: Proposition[A], right: Proposition[A]) -> Proposition[A]:
        """The other side, or its negation, where one is constant."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Truth):
                return other if one.value else self.negation(other)
        return Equivalent(left, right)


def _joined(join: type[And[A] | Or[A]], parts: Iterable[Proposition[A]], *, neutral: bool) -> Proposition[A]:
    kept = tuple(part for part in parts if part != Truth(neutral))
    if Truth(not neutral) in kept:
        return Truth(not neutral)
    if len(kept) < 2:
        return kept[0] if kept else Truth(neutral)
    return join(kept)


SIMPLIFYING: Simplifying[Any] = Simplifying()
