"""Formulas over what is left of a space: partial evaluation once settings are fixed or can no longer occur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from msgspec import Struct

from hati.core import Setting, replace
from hati.space.evaluation import holds
from hati.space.formula import (
    And,
    Comparison,
    Equivalent,
    Flag,
    Formula,
    Implies,
    Literal,
    Membership,
    Name,
    Negative,
    Not,
    Or,
    Product,
    Sum,
    Term,
    Truth,
)

MOST_CASES = 4096
"""Up to this number of combinations of settings it is looked at whether a formula is always true, or never."""

_TRUE, _FALSE = Truth(value=True), Truth(value=False)


class Remaining(Struct, frozen=True):
    """What is left of a space's options.

    ``settings`` maps each option with a choice to the settings that can occur; ``conditional`` names those that are
    inactive in some configurations; ``fixed`` holds the other options' settings. Options in none of these are inactive
    everywhere.
    """

    settings: Mapping[str, tuple[Setting, ...]]
    conditional: frozenset[str]
    fixed: Mapping[str, Setting]

    def simplified(self, formula: Formula) -> Formula:
        """A formula that is true in the same configurations and mentions only the options with a choice.

        It is ``true`` or ``false`` where that shows within ``MOST_CASES`` combinations of settings.
        """
        match formula:
            case Truth():
                return formula
            case Flag() | Comparison() | Membership():
                return self._atom(formula)
            case Not(part=part):
                found: Formula = _negated(self.simplified(part))
            case And(formulas=parts):
                found = _all(tuple(map(self.simplified, parts)))
            case Or(formulas=parts):
                found = _any(tuple(map(self.simplified, parts)))
            case Implies(condition=condition, consequence=consequence):
                found = _implication(self.simplified(condition), self.simplified(consequence))
            case Equivalent(left=left, right=right):
                found = _equivalence(self.simplified(left), self.simplified(right))
            case _:
                raise AssertionError(formula)
        return self._constant(found) or found

    def _atom(self, atom: Flag | Comparison | Membership) -> Formula:
        free = [name for name in atom.options if name in self.settings]
        if any(name not in self.settings and name not in self.fixed for name in atom.options):
            return _FALSE  # a comparison with an option that is never active
        if not free:
            return Truth(value=holds(atom, self.fixed))
        constant = self._constant(atom)
        if constant is not None:
            return constant
        if len(free) > 1 or isinstance(atom, Flag):
            return self._substituted(atom)
        (name,) = free
        literals = tuple(Literal(value) for value in self.settings[name] if holds(atom, {**self.fixed, name: value}))
        kept = isinstance(atom, Comparison) and atom.options == (name,) and self._fits(atom)
        return atom if kept else Membership(Name(name), literals) if literals else _FALSE

    def _fits(self, atom: Comparison) -> bool:
        """Whether the literals of a comparison of one option are among the settings that are left, or need not be."""
        sides = (atom.left, atom.right)
        if not any(isinstance(side, Name) for side in sides):
            return True
        return all(
            not isinstance(side, Literal) or any(side.value in self.settings[name] for name in atom.options)
            for side in sides
        )

    def _constant(self, formula: Formula) -> Truth | None:
        """What the formula always is, or None where it depends, or there are too many cases to see."""
        names = [name for name in formula.options if name in self.settings]
        cases = prod(len(self.settings[name]) + (name in self.conditional) for name in names)
        if cases > MOST_CASES:
            return None
        found = {holds(formula, {**self.fixed, **case}) for case in self._cases(names)}
        return Truth(value=found.pop()) if len(found) == 1 else None

    def _cases(self, names: list[str]) -> Iterator[dict[str, Setting]]:
        choices = [
            [*((name, setting) for setting in self.settings[name]), *([None] if name in self.conditional else [])]
            for name in names
        ]
        for chosen in product(*choices):
            yield dict(each for each in chosen if each is not None)

    def _substituted(self, atom: Flag | Comparison | Membership) -> Formula:
        if isinstance(atom, Comparison):
            return replace(atom, left=self._term(atom.left), right=self._term(atom.right))
        return replace(atom, term=self._term(atom.term)) if isinstance(atom, Membership) else atom

    def _term(self, term: Term) -> Term:
        match term:
            case Name(name=name) if name in self.fixed:
                return Literal(self.fixed[name])
            case Negative(term=part):
                return Negative(self._term(part))
            case Product(factors=factors):
                return Product(tuple(map(self._term, factors)))
            case Sum(terms=terms):
                return replace(term, terms=tuple(map(self._term, terms)))
        return term


def _negated(part: Formula) -> Formula:
    return Truth(value=not part.value) if isinstance(part, Truth) else Not(part)


def _all(parts: tuple[Formula, ...]) -> Formula:
    kept = tuple(part for part in parts if part != _TRUE)
    if _FALSE in kept:
        return _FALSE
    return _TRUE if not kept else kept[0] if len(kept) == 1 else And(kept)


def _any(parts: tuple[Formula, ...]) -> Formula:
    kept = tuple(part for part in parts if part != _FALSE)
    if _TRUE in kept:
        return _TRUE
    return _FALSE if not kept else kept[0] if len(kept) == 1 else Or(kept)


def _implication(condition: Formula, consequence: Formula) -> Formula:
    if condition == _FALSE or consequence == _TRUE:
        return _TRUE
    if condition == _TRUE:
        return consequence
    return _negated(condition) if consequence == _FALSE else Implies(condition, consequence)


def _equivalence(left: Formula, right: Formula) -> Formula:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Truth):
            return other if one.value else _negated(other)
    return Equivalent(left, right)
