"""Formulas in any Boolean algebra: one reading of them, for decision diagrams and for solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hati.space.evaluation import compared, exact, value
from hati.space.formula import (
    Conjunction,
    Constraint,
    Disjunction,
    Equivalent,
    Flag,
    Implication,
    Membership,
    Negation,
    TermComparison,
    TruthValue,
)
from hati.space.option import Option

T = TypeVar("T")

_Atom = TruthValue | Flag | TermComparison | Membership


class Algebra(Protocol[T]):
    """What a formula is built from; ``T`` is a truth that depends on the configuration."""

    def constant(self, *, truth: bool) -> T:
        """What is always true, or never."""
        ...

    def negation(self, part: T) -> T:
        """What is true where the part is not."""
        ...

    def conjunction(self, parts: Sequence[T]) -> T:
        """What is true where all parts are."""
        ...

    def choice(self, option: str, cases: Sequence[T]) -> T:
        """The case of the option's setting, in order of its settings; false where the option is inactive."""
        ...


def interpret(formula: Constraint, options: Mapping[str, Option], algebra: Algebra[T]) -> T:
    """A formula in an algebra. It must fit the options (:func:`hati.space.check_formula`)."""

    def either(parts: Sequence[T]) -> T:
        return algebra.negation(algebra.conjunction([algebra.negation(part) for part in parts]))

    def read(part: Constraint) -> T:
        return interpret(part, options, algebra)

    match formula:
        case TruthValue() | Flag() | TermComparison() | Membership():
            return _atom(formula, options, algebra)
        case Negation(part=part):
            return algebra.negation(read(part))
        case Conjunction(formulas=parts):
            return algebra.conjunction([read(part) for part in parts])
        case Disjunction(formulas=parts):
            return either([read(part) for part in parts])
        case Implication(condition=condition, consequence=consequence):
            return either([algebra.negation(read(condition)), read(consequence)])
        case Equivalent(left=left, right=right):
            return equivalence(read(left), read(right), algebra)
    raise AssertionError(formula)


def equivalence(left: T, right: T, algebra: Algebra[T]) -> T:
    """What is true where both are or neither is."""
    one = algebra.negation(algebra.conjunction([left, algebra.negation(right)]))
    other = algebra.negation(algebra.conjunction([right, algebra.negation(left)]))
    return algebra.conjunction([one, other])


def activity(option: Option, algebra: Algebra[T]) -> T:
    """What is true where the option is active."""
    return algebra.choice(option.name, [algebra.constant(truth=True)] * len(option.settings))


def _atom(atom: _Atom, options: Mapping[str, Option], algebra: Algebra[T]) -> T:
    """A comparison: its table over the settings, folded from the last option to the first.

    Equal rows of the table become one node, so a sum over many settings stays small.
    """
    axes = [options[name] for name in atom.options if len(options[name].settings) > 1]
    nodes = [algebra.constant(truth=False), algebra.constant(truth=True)]
    codes: NDArray[np.int64] = _table(atom, axes, options).ravel().astype(np.int64)
    for option in reversed(axes):
        rows, inverse = np.unique(codes.reshape(-1, len(option.settings)), axis=0, return_inverse=True)
        nodes = [algebra.choice(option.name, [nodes[code] for code in row]) for row in rows]
        codes = inverse.reshape(-1).astype(np.int64)
    conditional = [options[name] for name in atom.options if options[name].active_if is not None]
    return algebra.conjunction([nodes[codes[0]], *(activity(option, algebra) for option in conditional)])


def _table(atom: _Atom, axes: Sequence[Option], options: Mapping[str, Option]) -> NDArray[np.bool_]:
    """Where a comparison holds: one axis for each of ``axes``, all mentioned options active."""
    shape = tuple(len(option.settings) for option in axes)
    position = {option.name: axis for axis, option in enumerate(axes)}

    def lookup(name: str) -> Any:
        settings = [exact(setting) for setting in options[name].settings]
        if name not in position:
            return settings[0]
        values = np.empty(len(settings), dtype=object)  # of Python's own numbers, which are exact
        values[:] = settings
        return values.reshape([-1 if axis == position[name] else 1 for axis in range(len(axes))])

    return np.broadcast_to(np.asarray(_truth(atom, lookup), dtype=np.bool_), shape)


def _truth(atom: _Atom, lookup: Any) -> Any:
    match atom:
        case TruthValue(value=truth):
            return truth
        case Flag(name=name):
            return lookup(name)
        case TermComparison(left=left, comparator=comparator, right=right):
            return compared[comparator](_boxed(value(left, lookup)), _boxed(value(right, lookup)))
        case Membership(term=term, literals=literals):
            found = _boxed(value(term, lookup))
            matches = [np.asarray(found == _boxed(exact(literal.value)), dtype=np.bool_) for literal in literals]
            return np.logical_or.reduce(matches)


def _boxed(found: Any) -> Any:
    """A single value as an array of Python objects: NumPy's own texts lose the null characters at their end."""
    if isinstance(found, np.ndarray):
        return found
    box = np.empty((), dtype=object)
    box[()] = found
    return box
