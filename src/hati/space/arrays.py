"""What a space says of many configurations at once, given as positions of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hati.formula import Algebra, evaluate
from hati.space.constraint import Condition, Constraint
from hati.space.evaluation import holds, truth_table
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
        self._options = {option.name: option for option in options}
        self._tables: Mapping[Condition, Truths] = {
            atom: self._table(atom)
            for atom in set(formula.find(Condition))
            if self._combinations(atom) <= _MOST_COMBINATIONS
        }

    def holds(self, positions: Positions) -> Truths:
        """As `holds`, of each configuration."""
        return evaluate(self._formula, _Truths(len(positions)), partial(self._looked_up, positions=positions))

    def _looked_up(self, atom: Condition, positions: Positions) -> Truths:
        involved = positions[:, [self._columns[name] for name in atom.options]]
        table = self._tables.get(atom)
        if table is not None:
            return np.asarray(np.broadcast_to(table[tuple(involved.T)], len(positions)))
        rows, place = np.unique(involved, axis=0, return_inverse=True)
        return np.array([self._of_one(atom, row) for row in rows], dtype=np.bool_)[place.ravel()]

    def _table(self, atom: Condition) -> Truths:
        """The last entry along each axis is that of the inactive."""
        axes = [self._options[name] for name in atom.options]
        active = truth_table(atom, axes, self._options)
        table = np.zeros([size + 1 for size in active.shape], dtype=np.bool_)
        table[tuple(map(slice, active.shape))] = active
        return table

    def _of_one(self, atom: Condition, places: Sequence[int] | Positions) -> bool:
        pairs = zip(atom.options, places, strict=True)
        return holds(atom, {name: self._options[name].settings[place] for name, place in pairs if place != INACTIVE})

    def _combinations(self, atom: Condition) -> int:
        return prod(len(self._options[name].settings) for name in atom.options)


class _Truths(Algebra[Truths]):
    """Truths of that many configurations each."""

    def __init__(self, size: int) -> None:
        self._size = size

    def constant(self, *, truth: bool) -> Truths:
        return np.full(self._size, truth)

    def negation(self, part: Truths) -> Truths:
        return ~part

    def conjunction(self, parts: Iterable[Truths]) -> Truths:
        return np.asarray(np.logical_and.reduce(list(parts)))

    def disjunction(self, parts: Iterable[Truths]) -> Truths:
        return np.asarray(np.logical_or.reduce(list(parts)))
