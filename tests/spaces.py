"""Hypothesis strategies for spaces and their formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec import Struct

from hati.core import Setting
from hati.formula import And, Comparator, Equivalent, Implies, Not, Or, Truth
from hati.space import Constraint, Option, OptionKind, Space
from hati.space.constraint import Flag, Literal, Membership, Name, NegatedTerm, Product, Sum, Term, TermComparison

T = TypeVar("T")

NAMES = ("a", "b", "cache_size", "page-size", "not", "innodb.flush", "größe", "x y", "in", "_1")
"""Names of options; some need backquotes in formulas and quotes in TOML."""

_TEXTS = ("WAL", "", "it's", 'a "b"', "back\\slash", "line\nbreak", "\x00", "1", "true", "ü")
_REALS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 1e16, -1e-7)


_SETTINGS: tuple[st.SearchStrategy[Any], ...] = (
    st.booleans(),
    st.sampled_from(_TEXTS),
    st.integers(-3, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(_REALS),
)
_NUMBERS: tuple[Setting, ...] = (-9, -1, 0, 1, 2, 7, *_REALS)


@st.composite
def options(draw: st.DrawFn, name: str, condition: Constraint | None = None, *, most: int = 4) -> Option:
    """An option of any kind with up to ``most`` settings."""
    values = _SETTINGS[draw(st.integers(0, len(_SETTINGS) - 1))]
    settings = tuple(draw(st.lists(values, min_size=1, max_size=most, unique=True)))
    default = settings[draw(st.integers(0, len(settings) - 1))]
    unit, doc = draw(st.sampled_from(_TEXTS)), draw(st.sampled_from(_TEXTS))
    return Option(name, settings, default, unit=unit, doc=doc, active_if=condition)


@st.composite
def spaces(draw: st.DrawFn, *, most_options: int = 4, most_constraints: int = 3) -> Space:
    """A space, some of whose options are active under conditions on earlier ones."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=most_options, unique=True))
    made: list[Option] = []
    for name in names:
        conditional = bool(made) and draw(st.booleans())
        made.append(draw(options(name, _formula(_Chooser(draw, made), 1) if conditional else None, most=3)))
    chooser = _Chooser(draw, made)
    constraints = tuple(_formula(chooser, 2) for _ in range(draw(st.integers(0, most_constraints))))
    return Space(tuple(made), constraints)


@st.composite
def formulas(draw: st.DrawFn, known: Sequence[Option], *, levels: int = 3) -> Constraint:
    """A formula that fits the options, with up to ``levels`` levels of connectives."""
    return _formula(_Chooser(draw, known), levels)


class _Chooser(Struct, frozen=True):
    """Draws among alternatives. Nested strategies would take most of a test's time."""

    draw: st.DrawFn
    known: Sequence[Option]

    def one(self, things: Sequence[T]) -> T:
        return things[self.draw(st.integers(0, len(things) - 1))]

    def several(self, make: Callable[[], T]) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.one((2, 3))))


def _formula(choose: _Chooser, levels: int) -> Constraint:
    kind = choose.one(("atom", "not", "and", "or", "=>", "<=>")) if levels else "atom"

    def part() -> Constraint:
        return _formula(choose, levels - 1)

    match kind:
        case "not":
            return Not(part())
        case "and":
            return And(choose.several(part))
        case "or":
            return Or(choose.several(part))
        case "=>":
            return Implies(part(), part())
        case "<=>":
            return Equivalent(part(), part())
        case _:
            return _atom(choose)


def _atom(choose: _Chooser) -> Constraint:
    kind = choose.one(("setting", "numbers", "truth")) if choose.known else "numbers"
    if kind == "truth":
        return Truth(choose.one((False, True)))
    if kind == "numbers":
        return TermComparison(_sum(choose, 1), choose.one(tuple(Comparator)), _sum(choose, 1))
    option = choose.one(choose.known)
    name, literal = Name(option.name), Literal(choose.one(option.settings))
    forms: list[Constraint] = [
        TermComparison(name, choose.one((Comparator.EQUAL, Comparator.UNEQUAL)), literal),
        TermComparison(literal, Comparator.EQUAL, name),
        Membership(name, (literal, Literal(choose.one(option.settings)))),
    ]
    return choose.one([*forms, Flag(option.name)] if option.kind is OptionKind.BOOLEAN else forms)


def _term(choose: _Chooser, levels: int) -> Term:
    """A numeric term; sums and products are never compared with a setting, so any number is valid."""
    kind = choose.one(("name", "literal", "product", "sum", "negative")) if levels else choose.one(("name", "literal"))
    numeric = [option for option in choose.known if option.kind.numeric]
    if kind == "name" and numeric:
        return Name(choose.one(numeric).name)
    if kind == "product":
        return Product(choose.several(lambda: _term(choose, levels - 1)))
    if kind == "sum":
        return _sum(choose, levels - 1)
    if kind == "negative":
        term = _term(choose, levels - 1)
        return term if isinstance(term, Literal) else NegatedTerm(term)
    return Literal(choose.one(_NUMBERS))


def _sum(choose: _Chooser, levels: int) -> Term:
    terms = choose.several(lambda: _term(choose, levels))
    return Sum(terms, tuple(choose.one(("+", "-")) for _ in terms[1:]))
