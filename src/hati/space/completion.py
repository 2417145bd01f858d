"""Which partial configurations have a valid completion, for many of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.space.arrays import INACTIVE, Positions, Truths
from hati.space.configurations import diagrams
from hati.space.diagram import Diagram
from hati.space.space import Space

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
    """The valid configurations of a space, asked for what partial ones leave possible.

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
        """The same, where it is known to be possible without the setting of one option."""
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
