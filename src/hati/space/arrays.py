"""Arrays of configurations, as positions of settings: all valid ones, drawn ones, and which ones can be completed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.formula import Algebra, evaluate
from hati.space.configurations import count, diagrams, sampled_numbers
from hati.space.constraint import Condition, Constraint
from hati.space.diagram import Diagram
from hati.space.evaluation import Option, holds, truth_table
from hati.space.space import Space

INACTIVE = -1
"""The position of an option without a setting."""

Positions = NDArray[np.integer[Any]]
"""Shape (configurations, options): the position of each option's setting, or ``INACTIVE``."""

Truths = NDArray[np.bool_]
"""Shape (configurations,)."""

P = TypeVar("P", bound=np.integer[Any])

_MOST_COMBINATIONS = 4096


def every_position(space: Space) -> NDArray[np.int16]:
    """All valid configurations, in the order of `enumerate_configurations`.

    Raises:
        InputError: where the constraints are too entangled.
    """
    return _numbered(space, np.arange(count(space)))


def drawn_positions(space: Space, number: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Those that `sample` draws.

    Raises:
        InputError: where no configuration is valid, or the constraints are too entangled.
    """
    return _numbered(space, np.array(sampled_numbers(space, number, rng), dtype=_dtype(count(space))))


def _numbered(space: Space, numbers: NDArray[Any]) -> NDArray[np.int16]:
    """The valid configurations with those numbers, whose digits are numbers in the diagrams; the last changes fastest.

    Shape (numbers, options).
    """
    place = {option.name: column for column, option in enumerate(space.options)}
    found = np.full((len(numbers), len(space.options)), INACTIVE, dtype=np.int16)
    for diagram in reversed(diagrams(space)) if len(numbers) else ():
        numbers, digits = numbers // diagram.count, numbers % diagram.count
        codes = _codes(diagram, digits)
        sizes = [len(option.settings) for option in diagram.options]
        found[:, [place[option.name] for option in diagram.options]] = np.where(codes == sizes, INACTIVE, codes)
    return found


def _codes(diagram: Diagram, numbers: NDArray[Any]) -> NDArray[np.intp]:
    """As `Diagram.configuration`: the codes of the configurations with those numbers, shape (numbers, options)."""
    codes = np.empty((len(numbers), len(diagram.options)), dtype=np.intp)
    keys, nodes = [diagram.root], np.zeros(len(numbers), dtype=np.intp)
    for column, level in enumerate(diagram.levels):
        ends = np.cumsum(np.array([[0, *level[key].counts] for key in keys], dtype=numbers.dtype), axis=1)[nodes]
        code = np.count_nonzero(ends[:, 1:] <= numbers[:, None], axis=1)
        numbers = numbers - ends[np.arange(len(numbers)), code]
        cases = np.array([level[key].cases for key in keys], dtype=np.int64)[nodes, code]
        reached, nodes = np.unique(cases, return_inverse=True)
        codes[:, column], keys = code, reached.tolist()
    return codes


def _dtype(total: int) -> type:
    """The type of numbers below a total: Python's own where machine words are too short."""
    return np.int64 if total <= np.iinfo(np.int64).max else object


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
        """As `holds`, for each configuration."""
        return evaluate(self._formula, _Truths(len(positions)), partial(self._looked_up, positions=positions))

    def _looked_up(self, atom: Condition, positions: Positions) -> Truths:
        involved = positions[:, [self._columns[name] for name in atom.options]]
        table = self._tables.get(atom)
        if table is not None:
            return np.asarray(np.broadcast_to(table[tuple(involved.T)], len(positions)))
        rows, place = np.unique(involved, axis=0, return_inverse=True)
        return np.array([self._of_one(atom, row) for row in rows], dtype=np.bool_)[place.ravel()]

    def _table(self, atom: Condition) -> Truths:
        """The truth table of an atom; the last entry along each axis is for an inactive option."""
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
    """Arrays of truths, one for each configuration."""

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


OPEN = -2
"""The position of an option whose setting is left open."""

_CHUNK = 1 << 14

_Index = NDArray[np.intp]
_Packed = NDArray[np.uint8]


class _Level(Struct, frozen=True):
    """The edges of a diagram from one option's nodes to the next one's, in order of the node that they reach.

    ``sources`` are the nodes that they leave, ``codes`` the option's codes, ``starts`` the first edge into each node.
    """

    column: int
    size: int
    sources: _Index
    codes: _Index
    starts: _Index

    def reached(self, before: _Packed, positions: Positions) -> _Packed:
        """The nodes that partial configurations reach, shape (nodes, packed configurations)."""
        own = positions[:, self.column]
        code = np.where(own == INACTIVE, self.size, own)
        fits = (own == OPEN) | (np.arange(self.size + 1)[:, None] == code)
        edges = before[self.sources] & np.packbits(fits, axis=1)[self.codes]
        return np.bitwise_or.reduceat(edges, self.starts, axis=0)


class Completion:
    """Decides which partial configurations can be completed to valid ones of a space.

    Raises:
        TooEntangledError: where the constraints are too entangled for decision diagrams.
    """

    def __init__(self, space: Space) -> None:
        place = {option.name: column for column, option in enumerate(space.options)}
        self._diagrams = tuple(
            tuple(_levels(diagram, [place[option.name] for option in diagram.options])) for diagram in diagrams(space)
        )
        self._owner = {level.column: levels for levels in self._diagrams for level in levels}

    def possible(self, positions: Positions) -> Truths:
        """Whether a valid configuration has the given settings.

        Args:
            positions: shape (partial configurations, options): the position of a setting, ``INACTIVE`` where the
                option must have none, ``OPEN`` where it may have any.
        """
        return self._each(positions, self._diagrams)

    def remains_possible(self, positions: Positions, column: int) -> Truths:
        """The same for configurations that are known to be possible without the setting of one option."""
        return self._each(positions, (self._owner[column],))

    def _each(self, positions: Positions, parts: Sequence[tuple[_Level, ...]]) -> Truths:
        chunks = [self._possible(positions[at : at + _CHUNK], parts) for at in range(0, len(positions), _CHUNK)]
        return np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.bool_)

    def _possible(self, positions: Positions, parts: Sequence[tuple[_Level, ...]]) -> Truths:
        found = np.ones(len(positions), dtype=np.bool_)
        for levels in parts:
            given = np.any(positions[:, [level.column for level in levels]] != OPEN, axis=1)
            asked = np.flatnonzero(found & given)
            if not len(asked):
                continue
            reached = np.packbits(np.ones((1, len(asked)), dtype=np.bool_), axis=1)
            for level in levels:
                reached = level.reached(reached, positions[asked])
            found[asked] = np.unpackbits(reached[0], count=len(asked)).astype(np.bool_)
        return found


def _levels(diagram: Diagram, columns: Sequence[int]) -> list[_Level]:
    found = []
    number = {diagram.root: 0}
    for option, column, level in zip(diagram.options, columns, diagram.levels, strict=True):
        edges = [
            (number[key], code, case)
            for key, node in level.items()
            if key in number
            for code, (case, count) in enumerate(zip(node.cases, node.counts, strict=True))
            if count
        ]
        number = {case: place for place, case in enumerate(dict.fromkeys(case for _, _, case in edges))}
        edges.sort(key=lambda edge: number[edge[2]])
        sources, codes, targets = np.array(
            [(source, code, number[case]) for source, code, case in edges], dtype=np.intp
        ).T
        found.append(_Level(column, len(option.settings), sources, codes, np.unique(targets, return_index=True)[1]))
    return found
