"""Orthogonal arrays in a power of a prime runs: factors as subspaces that meet in zero alone.

Runs are the vectors of a space over the field of p elements. A factor of p^d settings is a subspace of d dimensions:
its settings are the values of d linear forms. Two factors have all combinations equally often when their subspaces
meet in zero (Bose 1947, Sankhya 8; Addelman 1962, Technometrics 4, for factors of different sizes). A space of a + b
dimensions, a >= b, is parted without overlap into one subspace of a and p^a of b dimensions: with W a part of
the field of p^a elements, into (x, 0) and, for each element c, (c w, w) (Bu 1980, Discrete Math. 31).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.design.coding import Levels
from hati.design.galois import digits_of, field

Basis = NDArray[np.int64]
"""Shape (dimensions, dimensions of the whole): linear forms over the field of p elements."""

Counts = tuple[int, ...]
"""How many there are of each dimension, that of one dimension first."""


class _Step(Struct, frozen=True):
    """Take ``count`` pieces of that dimension, or, where ``first`` is not 0, part one into ``first`` and the rest."""

    dimension: int
    count: int
    first: int = 0


def geometric_columns(prime: int, degree: int, wanted: Counts) -> dict[int, Levels] | None:
    """Columns of an array in prime^degree runs: for each dimension d those of p^d settings, as many as are wanted.

    None where the partitions that are searched have not as many.
    """
    steps = _plan(prime, (0,) * (degree - 1) + (1,), wanted + (0,) * (degree - len(wanted)))
    if steps is None:
        return None
    runs = digits_of(np.arange(prime**degree), prime, degree)
    free: dict[int, list[Basis]] = defaultdict(list)
    free[degree].append(np.eye(degree, dtype=np.int64))
    taken: dict[int, list[Basis]] = defaultdict(list)
    for step in steps:
        if step.first:
            for piece in _parts(free[step.dimension].pop(), step.first, prime):
                free[len(piece)].append(piece)
        elif step.dimension == 1:
            taken[1] += _points(free, step.count, prime)
        else:
            taken[step.dimension] += [free[step.dimension].pop() for _ in range(step.count)]
    return {d: np.column_stack([_settings(runs, piece, prime) for piece in pieces]) for d, pieces in taken.items()}


@cache
def _plan(prime: int, free: Counts, wanted: Counts) -> tuple[_Step, ...] | None:
    """The steps from the free pieces to the wanted ones, the largest first; whole pieces before parts of others."""
    largest = max((d for d, count in enumerate(wanted, 1) if count), default=0)
    if largest <= 1:
        points = sum(count * (prime**d - 1) // (prime - 1) for d, count in enumerate(free, 1))
        enough = not wanted or wanted[0] <= points
        return (_Step(1, wanted[0]),) * bool(largest) if enough else None
    there = min(free[largest - 1], wanted[largest - 1])
    if there:
        rest = _plan(prime, _less(free, largest, there), _less(wanted, largest, there))
        return None if rest is None else (_Step(largest, there), *rest)
    for dimension in range(largest + 1, len(free) + 1):
        if free[dimension - 1]:
            for first in range((dimension + 1) // 2, dimension):
                parted = _less(free, dimension, 1)
                parted = _less(_less(parted, first, -1), dimension - first, -(prime**first))
                rest = _plan(prime, parted, wanted)
                if rest is not None:
                    return (_Step(dimension, 1, first), *rest)
    return None


def _less(counts: Counts, dimension: int, number: int) -> Counts:
    return (*counts[: dimension - 1], counts[dimension - 1] - number, *counts[dimension:])


def _parts(piece: Basis, first: int, prime: int) -> Iterator[Basis]:
    """One subspace of ``first`` dimensions and prime^first of the remaining ones."""
    second = len(piece) - first
    yield piece[:first]
    multiply = field(prime**first).multiply
    units = prime ** np.arange(second)
    for element in range(prime**first):
        images = digits_of(multiply[element, units].astype(np.int64), prime, first)
        yield (images @ piece[:first] + piece[first:]) % prime


def _points(free: dict[int, list[Basis]], count: int, prime: int) -> list[Basis]:
    """That many subspaces of one dimension out of the free pieces, few of them three in a plane.

    Each is one that the fewest planes through two of those before it contain: main effects are so aliased with the
    fewest two-factor interactions that can be had one by one.
    """
    points = [
        _normal(tuple(int(entry) for entry in np.array(weights) @ piece % prime), prime)
        for dimension in sorted(free)
        for piece in free[dimension]
        for weights in product(range(prime), repeat=dimension)
        if _leading(weights) == 1
    ]
    points.sort(key=lambda point: (np.count_nonzero(point) > 1, -np.count_nonzero(point)))
    covered = dict.fromkeys(points, 0)
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        best = min(covered, key=lambda point: covered[point])
        del covered[best]
        for other, factor in product(found, range(1, prime)):
            third = _normal(tuple((a + factor * b) % prime for a, b in zip(best, other, strict=True)), prime)
            if third in covered:
                covered[third] += 1
        found.append(best)
    return [np.array([point]) for point in found]


def _leading(vector: tuple[int, ...]) -> int:
    return next((entry for entry in vector if entry), 0)


def _normal(vector: tuple[int, ...], prime: int) -> tuple[int, ...]:
    """The vector of the same line whose first entry that is not zero is one."""
    inverse = pow(_leading(vector), -1, prime)
    return tuple(entry * inverse % prime for entry in vector)


def _settings(runs: NDArray[np.int64], piece: Basis, prime: int) -> NDArray[np.int16]:
    values = runs @ piece.T % prime
    return np.asarray(values @ prime ** np.arange(len(piece)), dtype=np.int16)
