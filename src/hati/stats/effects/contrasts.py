"""The orthogonal contrasts of a two-level design, each named by the lowest-order effect of its alias set, and
half-normal plots of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.inference.distributions import normal_quantile

Signs = NDArray[np.int8]
"""Entries -1 and +1."""

Term = tuple[int, ...]
"""An effect by the positions of its factors, ascending: ``(2,)`` a main effect, ``(0, 2)`` an interaction."""

ALIAS_ORDER = 3
"""Aliases are listed up to this order."""

_MANY_EFFECTS = 20_000
_MANY_RUNS = 1024


class Contrasts(Struct, frozen=True, eq=False):
    """Orthogonal contrasts of a design: main effects first, then by rising order.

    ``terms`` names each by the first effect of lowest order in its alias set, ``aliases`` holds the set's other
    members up to third order (second, where third would be more than 20,000 effects), and ``columns``, shape
    (rows, contrasts), the named effect's signs. A design of N rows has N - 1; above 1,024 rows those of order four and
    more are left out.
    """

    terms: tuple[Term, ...]
    aliases: tuple[tuple[Term, ...], ...]
    columns: Signs

    @property
    def rows(self) -> int:
        """Number of distinct configurations."""
        return int(self.columns.shape[0])

    @property
    def main_effects(self) -> Signs:
        """The columns of the main effects, which are the design: shape (rows, factors)."""
        return self.columns[:, [len(term) == 1 for term in self.terms]]


def contrasts(matrix: Signs) -> Contrasts:
    """All contrasts of a design with orthogonal main effects and complete or no aliasing.

    Args:
        matrix: shape (rows, factors), entries -1 and +1, no row twice.

    Raises:
        InputError: where two effects are partially aliased, or a factor has one setting only.

    >>> contrasts(np.array([[-1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, 1, 1]], dtype=np.int8)).aliases[0]
    ((1, 2),)
    """
    matrix = np.asarray(matrix, dtype=np.int8)
    rows, factors = matrix.shape
    order = ALIAS_ORDER if sum(comb(factors, k) for k in (1, 2, 3)) <= _MANY_EFFECTS else 2
    found = dict[bytes, list[Term]]()
    for term, key in _effects(matrix, min(order, factors)):
        found.setdefault(key, []).append(term)
    for term in found.pop(_key(np.ones((rows, 1), dtype=np.int8))[0], ()):
        if len(term) == 1:
            raise InputError(f"factor {term[0] + 1} of the design has the same setting in every run")
    sets = list(found.values())
    if rows <= _MANY_RUNS and len(sets) < rows - 1:
        sets += _higher(matrix, found, order)
    columns = np.column_stack([matrix[:, list(members[0])].prod(axis=1, dtype=np.int8) for members in sets])
    _check(columns)
    return Contrasts(
        terms=tuple(members[0] for members in sets),
        aliases=tuple(tuple(members[1:]) for members in sets),
        columns=columns,
    )


def _effects(matrix: Signs, order: int) -> Iterator[tuple[Term, bytes]]:
    """Every effect up to an order, with what identifies its column but for its sign."""
    for size in range(1, order + 1):
        terms = list(combinations(range(matrix.shape[1]), size))
        chosen = np.array(terms)
        columns = matrix[:, chosen[:, 0]]
        for position in range(1, size):
            columns = columns * matrix[:, chosen[:, position]]
        yield from zip(terms, _key(columns), strict=True)


def _key(columns: Signs) -> list[bytes]:
    packed = np.packbits(columns != columns[0], axis=0)
    return [column.tobytes() for column in packed.T]


def _higher(matrix: Signs, found: dict[bytes, list[Term]], order: int) -> list[list[Term]]:
    """The contrasts above an order, level by level: each level is one more main effect times the level below."""
    known = set(found) | {_key(np.ones((len(matrix), 1), dtype=np.int8))[0]}
    level = [members[0] for members in found.values() if len(members[0]) == order]
    higher = list[list[Term]]()
    while level:
        above = list[Term]()
        for term in level:
            product = matrix[:, list(term)].prod(axis=1, dtype=np.int8)
            for factor, key in enumerate(_key(matrix * product[:, None])):
                if factor not in term and key not in known:
                    known.add(key)
                    above.append(tuple(sorted((*term, factor))))
        higher += [[term] for term in above]
        level = above
    return higher


def _check(columns: Signs) -> None:
    """Distinct columns must be orthogonal to each other and to the mean."""
    signs = columns.astype(np.float64)
    gram = signs.T @ signs
    np.fill_diagonal(gram, 0.0)
    if np.any(gram) or np.any(signs.sum(axis=0)):
        raise InputError(
            "the design's effects are partially aliased", fix="use a full factorial or a regular fraction for screening"
        )


def half_normal(sizes: FloatArray) -> FloatArray:
    """The half-normal coordinate of every effect, by the rank of its size.

    The i-th smallest of I effects gets the standard normal quantile of 0.5 + 0.5 (i - 0.5) / I
    (RES paper, equation 4). Effects of equal size share the mean of their coordinates.

    >>> [round(x, 2) for x in half_normal(np.array([3.0, -1.0])).tolist()]
    [1.15, 0.32]
    """
    sizes = np.abs(sizes)
    count = len(sizes)
    coordinates = np.array([normal_quantile(0.5 + 0.5 * (i - 0.5) / count) for i in range(1, count + 1)])
    _, group, members = np.unique(sizes, return_inverse=True, return_counts=True)
    ranked = np.empty(count)
    ranked[np.argsort(sizes, kind="stable")] = coordinates
    return (np.bincount(group, weights=ranked) / members)[group]
