"""What a space says of many configurations at once, given as positions of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hati.space.evaluation import holds
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
from hati.space.space import Space

INACTIVE = -1
"""The position of an option without a setting."""

Positions = NDArray[np.integer[Any]]
"""Shape (configurations, options): the position of each option's setting, or ``INACTIVE``."""

Truths = NDArray[np.bool_]
"""Shape (configurations,)."""

P = TypeVar("P", bound=np.integer[Any])

_MOST_COMBINATIONS = 4096


class ArraySpace:
    """The conditions and constraints of a space, evaluated for arrays of positions."""

    def __init__(self, space: Space) -> None:
        self._defaults = np.array([option.position(option.default) for option in space.options], dtype=np.intp)
        place = {option.name: column for column, option in enumerate(space.options)}
        self._conditions = tuple(
            (place[option.name], ArrayFormula(option.active_if, space.options))
            for option in space.by_dependence
            if option.active_if is not None
        )
        self._constraints = tuple(ArrayFormula(constraint, space.options) for constraint in space.constraints)

    def canonical(self, positions: NDArray[P]) -> NDArray[P]:
        """As `Space.canonical`: inactive options lose their setting, active ones without any get their default."""
        found = np.where(positions == INACTIVE, self._defaults.astype(positions.dtype), positions)
        for column, condition in self._conditions:
            found[~condition.holds(found), column] = INACTIVE
        return found

    def valid(self, positions: Positions) -> Truths:
        """As `Space.valid`: whether exactly the active options have a setting, and every constraint holds."""
        expected = np.ones(positions.shape, dtype=np.bool_)
        for column, condition in self._conditions:
            expected[:, column] = condition.holds(positions)
        found = np.all(expected == (positions != INACTIVE), axis=1)
        for constraint in self._constraints:
            found &= constraint.holds(positions)
        return np.asarray(found)


class ArrayFormula:
    """A formula of options, whose atoms are looked up in tables over the settings of the options that they mention."""

    def __init__(self, formula: Constraint, options: Sequence[Option]) -> None:
        self._formula = formula
        self._columns = {option.name: column for column, option in enumerate(options)}
        self._settings = {option.name: option.settings for option in options}
        self._tables: Mapping[Constraint, Truths] = {
            atom: self._table(atom) for atom in _atoms(formula) if self._combinations(atom) <= _MOST_COMBINATIONS
        }

    def holds(self, positions: Positions) -> Truths:
        """As `holds`, of each configuration."""
        return self._holds(self._formula, positions)

    def _holds(self, formula: Constraint, positions: Positions) -> Truths:
        match formula:
            case Negation(part=part):
                return ~self._holds(part, positions)
            case Conjunction(formulas=parts):
                return np.asarray(np.logical_and.reduce([self._holds(part, positions) for part in parts]))
            case Disjunction(formulas=parts):
                return np.asarray(np.logical_or.reduce([self._holds(part, positions) for part in parts]))
            case Implication(condition=condition, consequence=consequence):
                return ~self._holds(condition, positions) | self._holds(consequence, positions)
            case Equivalent(left=left, right=right):
                return np.asarray(self._holds(left, positions) == self._holds(right, positions))
        return self._looked_up(formula, positions)

    def _looked_up(self, atom: Constraint, positions: Positions) -> Truths:
        involved = positions[:, [self._columns[name] for name in atom.options]]
        table = self._tables.get(atom)
        if table is not None:
            # The last entry along each axis is that of the inactive.
            return np.asarray(np.broadcast_to(table[tuple(involved.T)], len(positions)))
        rows, place = np.unique(involved, axis=0, return_inverse=True)
        return np.array([self._of_one(atom, row) for row in rows], dtype=np.bool_)[place.ravel()]

    def _table(self, atom: Constraint) -> Truths:
        sizes = [len(self._settings[name]) for name in atom.options]
        table = np.zeros([size + 1 for size in sizes], dtype=np.bool_)
        for places in product(*map(range, sizes)):
            table[places] = self._of_one(atom, places)
        return table

    def _of_one(self, atom: Constraint, places: Sequence[int] | Positions) -> bool:
        pairs = zip(atom.options, places, strict=True)
        return holds(atom, {name: self._settings[name][place] for name, place in pairs if place != INACTIVE})

    def _combinations(self, atom: Constraint) -> int:
        return prod(len(self._settings[name]) for name in atom.options)


def _atoms(formula: Constraint) -> set[Constraint]:
    kinds = TruthValue | Flag | TermComparison | Membership
    return {node for node in formula.nodes() if isinstance(node, kinds)}
