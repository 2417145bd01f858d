"""Runs in blocks, such as days or machines, whose differences are confounded with interactions chosen for it."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.design.names import effect_name, separator_of
from hati.design.two_level.aliasing import Hull, Indices, clear_interactions, hull, named
from hati.design.two_level.matrix import Design

_MOST_COLUMNS = 2**14
_LISTED_ORDER = 3
_MOST_FACTORS = 200


class Blocks(Struct, frozen=True):
    """Which block each run belongs to, counted from 1, and what the differences between blocks are confounded with.

    ``generators`` are effects whose signs tell the block; ``confounded`` are all effects of two and three factors that
    cannot be told from a difference between blocks: no main effect is. ``lost`` are the two-factor interactions
    that were clear and are no longer.
    """

    of_runs: tuple[int, ...]
    generators: tuple[str, ...]
    confounded: tuple[tuple[str, ...], ...]
    lost: tuple[tuple[str, str], ...]

    @property
    def number(self) -> int:
        """How many blocks there are, of equally many runs."""
        return max(self.of_runs)


def blocked(design: Design, number: int) -> Blocks:
    """A regular design's runs in 2^b blocks, at least two runs each, main effects free from block differences.

    Among the ways that are searched, level by level with the best few hundred kept, one that loses the fewest clear
    two-factor interactions, then confounds the fewest of two, then of three factors.

    Raises:
        InputError: for a design that is not regular or too large, a number that is no power of two, or more blocks
            than leave the main effects free.
    """
    geometry = hull(design)
    if not geometry.regular:
        raise InputError(
            "only a regular design can be blocked here", fix="block a full factorial or a regular fraction"
        )
    if number < 2 or number & (number - 1):
        raise InputError(f"{number} is not a valid number of blocks", fix="use 2, 4, 8, ...")
    if 2**geometry.rank > _MOST_COLUMNS or len(design.factors) > _MOST_FACTORS:
        raise InputError(f"a design of {design.runs} runs and {len(design.factors)} factors is too large to block here")
    if 2 * number > 2**geometry.rank:
        raise InputError(
            f"{number} blocks leave no two different runs in each", fix=f"use at most {2**geometry.rank // 2}"
        )
    clear = [_pair(design, pair) for pair in clear_interactions(design)]
    chosen = _search(_costs(geometry, clear), number.bit_length() - 1)
    if chosen is None:
        raise InputError(f"{number} blocks would hide main effects", fix="use fewer blocks, or more runs")
    return _blocks(design, geometry, chosen, clear)


def _costs(geometry: Hull, clear: list[Indices]) -> FloatArray:
    """What it costs to confound each column with blocks: without end for a main effect's; shape (2^rank,)."""
    costs = np.zeros(2**geometry.rank)
    factors = range(len(geometry.columns))
    for weight, effects in ((1.0, combinations(factors, 3)), (1e5, combinations(factors, 2)), (1e10, iter(clear))):
        for column, count in Counter(geometry.column(effect) for effect in effects).items():
            costs[column] += weight * count
    costs[[0, *geometry.columns]] = np.inf
    return costs


def _search(costs: FloatArray, dimension: int) -> list[int] | None:
    """Generators of a subspace of that dimension whose elements cost least, by a beam search."""
    kept = max(4, min(256, 2**17 // len(costs)))
    beam: list[tuple[float, list[int], tuple[int, ...]]] = [(0.0, [], (0,))]
    places = np.arange(len(costs))
    for _ in range(dimension):
        found: dict[tuple[int, ...], tuple[float, list[int], tuple[int, ...]]] = {}
        for cost, generators, members in beam:
            added = cost + sum(costs[places ^ member] for member in members)
            for column in np.argsort(added, kind="stable")[: kept * len(members)]:
                if np.isfinite(added[column]):
                    larger = tuple(sorted((*members, *(int(column) ^ member for member in members))))
                    found.setdefault(larger, (float(added[column]), [*generators, int(column)], larger))
        beam = sorted(found.values(), key=lambda way: way[0])[:kept]
    return beam[0][1] if beam else None


def _blocks(design: Design, geometry: Hull, chosen: list[int], clear: list[Indices]) -> Blocks:
    spanned = {0}
    for column in chosen:
        spanned |= {column ^ member for member in spanned}
    every = [e for order in range(2, _LISTED_ORDER + 1) for e in combinations(range(len(design.factors)), order)]
    confounded = [effect for effect in every if geometry.column(effect) in spanned - {0}]
    shortest = {geometry.column(effect): effect for effect in reversed(confounded)}
    generators = [shortest.get(column, _base(geometry, column)) for column in chosen]
    between = separator_of(design.factors)
    lost = [effect for effect in clear if geometry.column(effect) in spanned]
    return Blocks(
        of_runs=tuple(_numbered(design, generators).tolist()),
        generators=tuple(effect_name(named(design, effect), between) for effect in generators),
        confounded=tuple(named(design, effect) for effect in confounded),
        lost=tuple((design.factors[i], design.factors[j]) for i, j in lost),
    )


def _numbered(design: Design, generators: list[Indices]) -> NDArray[np.int64]:
    blocks = np.zeros(design.runs, dtype=np.int64)
    for effect in generators:
        blocks = 2 * blocks + (design.matrix[:, list(effect)].prod(axis=1) > 0)
    return np.unique(blocks, return_inverse=True)[1] + 1


def _base(geometry: Hull, column: int) -> Indices:
    return tuple(j for i, j in enumerate(geometry.base) if column >> i & 1)


def _pair(design: Design, pair: tuple[str, str]) -> Indices:
    first, second = sorted(design.factors.index(name) for name in pair)
    return first, second
