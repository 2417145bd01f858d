"""The binary geometry of a design: which products of factors are constant or equal over all runs.

With -1 and +1 read as bits a product of factors is a linear form, so it is constant over the runs when
it is constant over their affine hull. The hull is found by elimination over GF(2), for any matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.matrix import Design

Indices = tuple[int, ...]
"""An effect: the columns of its factors, ascending; empty for the mean."""

MOST_EFFECTS = 2_000_000


class Hull(Struct, frozen=True):
    """The affine hull of a design's runs over GF(2).

    ``base`` are the leftmost independent factors. Bit i of ``columns[j]`` says that factor j is the product
    of the i-th base factor and others; ``signs`` is the first run. Products with equal columns are equal up
    to their sign. ``regular`` says that the runs are the whole hull, each equally often.
    """

    base: Indices
    columns: tuple[int, ...]
    signs: tuple[int, ...]
    regular: bool

    @property
    def rank(self) -> int:
        """The dimension: a regular design of that rank has 2^rank distinct runs."""
        return len(self.base)

    def column(self, effect: Indices) -> int:
        """The column of a product of factors; 0 where it is constant."""
        total = 0
        for j in effect:
            total ^= self.columns[j]
        return total

    def sign(self, effect: Indices) -> int:
        """The product's value in the first run."""
        total = 1
        for j in effect:
            total *= self.signs[j]
        return total


def hull(design: Design) -> Hull:
    """The affine hull of the design's runs, and whether they fill it."""
    bits = (design.matrix != design.matrix[0]).astype(np.uint8)
    rest = np.packbits(bits, axis=1)
    base: list[int] = []
    rows: list[NDArray[np.uint8]] = []
    for j in range(len(design.factors)):
        byte, mask = j >> 3, 0x80 >> (j & 7)
        having = np.flatnonzero(rest[:, byte] & mask)
        if having.size:
            row = rest[having[0]].copy()
            rest[having] ^= row
            rows = [other ^ row if other[byte] & mask else other for other in rows] + [row]
            base.append(j)
    basis = np.unpackbits(np.array(rows, dtype=np.uint8), axis=1, count=len(design.factors)) if rows else None
    columns = tuple(
        0 if basis is None else sum(int(bit) << i for i, bit in enumerate(basis[:, j]))
        for j in range(len(design.factors))
    )
    signs = tuple(int(sign) for sign in design.matrix[0])
    return Hull(tuple(base), columns, signs, _fills(bits, base))


def _fills(bits: NDArray[np.uint8], base: list[int]) -> bool:
    """Whether the runs, told apart by their base factors, are all there and equally often."""
    if 2 ** len(base) > len(bits):
        return False
    places = np.zeros(len(bits), dtype=np.int64)
    for i, j in enumerate(base):
        places |= bits[:, j].astype(np.int64) << i
    counts = np.bincount(places, minlength=2 ** len(base))
    return bool(counts.min() == counts.max())


def effects(columns: tuple[int, ...], order: int) -> Iterator[tuple[Indices, int]]:
    """All effects of one to ``order`` factors with their columns, by order and then by factors.

    Raises:
        InputError: where they are more than two million.
    """
    count = sum(comb(len(columns), size) for size in range(1, order + 1))
    if count > MOST_EFFECTS:
        raise InputError(
            f"{len(columns)} factors have {count} effects up to order {order}", fix="ask for a lower order"
        )
    layer: list[tuple[Indices, int]] = [((), 0)]
    for _ in range(order):
        layer = [
            ((*effect, j), column ^ columns[j])
            for effect, column in layer
            for j in range(effect[-1] + 1 if effect else 0, len(columns))
        ]
        yield from layer
