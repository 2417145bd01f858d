"""Effects that a two-level design cannot distinguish, from the binary geometry of its matrix, and its resolution."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
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
    """Whether the runs have every combination of the base factors' settings equally often."""
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


_MOST_PRODUCTS = 2**28


class AliasedEffect(Struct, frozen=True):
    """An effect that equals another in every run, up to the sign: ``sign`` -1 means that it is the negative."""

    factors: tuple[str, ...]
    sign: int


class PartialAlias(Struct, frozen=True):
    """An effect that is neither equal nor orthogonal to another: ``coefficient`` is the mean of their product."""

    factors: tuple[str, ...]
    coefficient: float


def aliases(design: Design, effect: Sequence[str], order: int) -> tuple[AliasedEffect, ...]:
    """All other effects of one to ``order`` factors that equal this one up to the sign, by order, then by factors.

    Raises:
        InputError: for a factor that is not in the design, or more than two million effects.
    """
    chosen = indices(design, effect)
    geometry = hull(design)
    column, sign = geometry.column(chosen), geometry.sign(chosen)
    return tuple(
        AliasedEffect(named(design, other), sign * geometry.sign(other))
        for other, its_column in effects(geometry.columns, order)
        if its_column == column and other != chosen
    )


def groups(geometry: Hull, order: int) -> dict[int, list[Indices]]:
    """The alias sets by their column, the mean's left out."""
    sets = defaultdict(list)
    for effect, column in effects(geometry.columns, order):
        sets[column].append(effect)
    sets.pop(0, None)
    return sets


def clear_interactions(design: Design) -> tuple[tuple[str, str], ...]:
    """The two-factor interactions that are orthogonal to all main effects, all others of their kind and the mean.

    Raises:
        InputError: for a design that is not regular and too large to multiply out.
    """
    geometry = hull(design)
    pairs = list(combinations(range(len(design.factors)), 2))
    if geometry.regular:
        columns = [geometry.column(pair) for pair in pairs]
        count = Counter((*geometry.columns, *columns, 0))
        clear = [count[column] == 1 for column in columns]
    else:
        clear = _orthogonal(design, pairs)
    return tuple((design.factors[i], design.factors[j]) for (i, j), alone in zip(pairs, clear, strict=True) if alone)


def partial_aliases(design: Design, effect: Sequence[str], order: int) -> tuple[PartialAlias, ...]:
    """All effects of one to ``order`` factors that are partly aliased with this one, by order, then by factors.

    A regular design has none; missing runs cause many.

    Raises:
        InputError: for a factor that is not in the design, or more products than can be computed.
    """
    geometry = hull(design)
    if geometry.regular:
        return ()
    chosen = indices(design, effect)
    others = [other for other, _ in effects(geometry.columns, order) if other != chosen]
    _check_products(len(others) * design.runs)
    means = _product(design, chosen) @ _products(design, others) / design.runs
    return tuple(
        PartialAlias(named(design, other), float(mean))
        for other, mean in zip(others, means, strict=True)
        if 0 < abs(mean) < 1
    )


def indices(design: Design, effect: Sequence[str]) -> Indices:
    """The columns of an effect's factors, ascending.

    Raises:
        InputError: for no factor, an unknown one, or one twice.
    """
    places = {name: j for j, name in enumerate(design.factors)}
    for name in effect:
        if name not in places:
            raise InputError(f"{name!r} is not a factor of the design", fix=f"its factors are {', '.join(places)}")
    if not effect or len(set(effect)) < len(effect):
        raise InputError(f"{':'.join(effect)!r} is not a valid effect", fix="name one or more factors, each once")
    return tuple(sorted(places[name] for name in effect))


def named(design: Design, effect: Indices) -> tuple[str, ...]:
    """The names of an effect's factors."""
    return tuple(design.factors[j] for j in effect)


def _product(design: Design, effect: Indices) -> NDArray[np.float64]:
    product: NDArray[np.float64] = design.matrix[:, list(effect)].prod(axis=1, dtype=np.float64)
    return product


def _products(design: Design, chosen: list[Indices]) -> NDArray[np.float64]:
    """The effects' products, shape (runs, effects)."""
    products = np.ones((design.runs, len(chosen)))
    for place in range(max(map(len, chosen), default=0)):
        having = [at for at, effect in enumerate(chosen) if len(effect) > place]
        products[:, having] *= design.matrix[:, [chosen[at][place] for at in having]]
    return products


def _orthogonal(design: Design, pairs: list[tuple[int, int]]) -> list[bool]:
    """For each pair, whether its product sums to zero alone, with every factor and with every other pair."""
    size = 1 + len(design.factors) + len(pairs)
    _check_products(size * max(size, design.runs))
    values = design.matrix.astype(np.float32)
    products = values[:, [i for i, _ in pairs]] * values[:, [j for _, j in pairs]]
    model = np.hstack([np.ones((design.runs, 1), dtype=np.float32), values, products])
    touched = np.abs(products.T @ model) > 0
    return [bool(row) for row in touched.sum(axis=1) == 1]


def _check_products(count: int) -> None:
    if count > _MOST_PRODUCTS:
        raise InputError("the design is not regular and too large to multiply out", fix="ask for a lower order")


_MOST_PAIRED = 2**14
_CHUNK = 2**24
_QUICK = 200_000


class Word(Struct, frozen=True):
    """A product of factors that is constant over the runs: ``sign`` is its value."""

    factors: tuple[str, ...]
    sign: int


def word_length_pattern(design: Design) -> dict[int, int | float]:
    """The number of words of each length that occurs: ``{4: 77, 6: 168}``.

    Exact, from the distances between runs by the MacWilliams identity. For a design that is not regular it
    is the generalised pattern of Xu and Wu (2001), whose entries need not be whole.

    Raises:
        InputError: for a design that is not regular and has more than 2^14 runs.
    """
    distances, total = _distances(design, hull(design))
    factors = len(design.factors)
    # Sum of A_j z^j = (1/total) * sum of B_x (1-z)^x (1+z)^(k-x), with B the counts of distances
    # (MacWilliams 1963; for any design Xu and Wu 2001).
    pattern = [0] * (factors + 1)
    enumerator = [comb(factors, j) for j in range(factors + 1)]
    for count in distances:
        if count:
            pattern = [sum_ + count * term for sum_, term in zip(pattern, enumerator, strict=True)]
        enumerator = _next_enumerator(enumerator)
    exact = {j: Fraction(amount, total) for j, amount in enumerate(pattern) if j and amount}
    return {j: int(value) if value.denominator == 1 else float(value) for j, value in exact.items()}


def resolution(design: Design) -> int | None:
    """The length of the shortest word; None for a full factorial, which has none.

    For a design that is not regular: the first length in the generalised pattern (1: not balanced).
    """
    return min(word_length_pattern(design), default=None)


def words(design: Design, length: int | None = None) -> tuple[Word, ...]:
    """The defining words of that length, or of the shortest there is, in order of the factors.

    A design that is not regular may have none, or only longer ones than its resolution.

    Raises:
        InputError: where the search would take more than two million steps.
    """
    geometry = hull(design)
    if length is None:
        found: list[Indices] = []
        size = 0
        while not found and size <= geometry.rank and geometry.rank < len(design.factors):
            size += 1
            found = _constant(geometry, size)
    else:
        found = _constant(geometry, length)
    return tuple(Word(tuple(design.factors[j] for j in word), geometry.sign(word)) for word in sorted(found))


def shortest_words(design: Design) -> tuple[Word, ...]:
    """The shortest words as ``words`` finds them; none where these are too long to be found.

    A design that is not regular seldom has short ones: they are searched for only while that is quick.
    """
    geometry = hull(design)
    factors = len(design.factors)
    quick = max((n for n in range(1, factors + 1) if comb(factors, n - n // 2) <= _QUICK), default=0)
    if not geometry.regular and not any(_constant(geometry, n) for n in range(1, min(quick, geometry.rank + 1) + 1)):
        return ()
    try:
        return words(design)
    except InputError:
        return ()


def _constant(geometry: Hull, length: int) -> list[Indices]:
    """All words of that length, as pairs of halves with equal columns; the first half's factors come first."""
    count = len(geometry.columns)
    first, second = length // 2, length - length // 2
    if not 1 <= length <= count:
        return []
    if comb(count, second) > MOST_EFFECTS:
        raise InputError(f"words of length {length} over {count} factors are too many to search")
    halves = defaultdict(list)
    for half in combinations(range(count), first):
        halves[geometry.column(half)].append(half)
    found: list[Indices] = []
    for half in combinations(range(count), second):
        found += [(*other, *half) for other in halves[geometry.column(half)] if not other or other[-1] < half[0]]
        if len(found) > MOST_EFFECTS:
            raise InputError(f"there are more than {MOST_EFFECTS} words of length {length}")
    return found


def _distances(design: Design, geometry: Hull) -> tuple[list[int], int]:
    """The numbers of pairs of runs that differ in 0, 1, ... factors, and the pattern's divisor.

    For a regular design the distances are the same from every run, so those of the first run are enough.
    """
    matrix, factors = design.matrix, len(design.factors)
    if geometry.regular:
        far = np.count_nonzero(matrix != matrix[0], axis=1)
        return [int(n) for n in np.bincount(far, minlength=factors + 1)], design.runs
    if design.runs > _MOST_PAIRED:
        raise InputError(f"a design of {design.runs} runs that is not regular is too large to analyse")
    counts = np.zeros(factors + 1, dtype=np.int64)
    values = matrix.astype(np.float32)
    step = max(1, _CHUNK // design.runs)
    for start in range(0, design.runs, step):
        far = (factors - (values[start : start + step] @ values.T).astype(np.int32)) // 2
        counts += np.bincount(far.ravel(), minlength=factors + 1)
    return [int(n) for n in counts], design.runs**2


def _next_enumerator(terms: list[int]) -> list[int]:
    """The terms of (1-z)^x (1+z)^(k-x) with x one larger: divided by 1+z, times 1-z."""
    divided: list[int] = []
    for term in terms[:-1]:
        divided.append(term - (divided[-1] if divided else 0))
    padded = [0, *divided, 0]
    return [padded[j + 1] - padded[j] for j in range(len(terms))]


class DesignProperties(Struct, frozen=True):
    """Properties of a design's matrix.

    ``balanced``: every factor is at -1 as often as at +1. ``orthogonal``: so is the product of any two. ``regular``:
    any two effects are equal up to the sign, or orthogonal. ``distinct``: number of different runs.
    """

    runs: int
    distinct: int
    factors: int
    balanced: bool
    orthogonal: bool
    regular: bool
    resolution: int | None


def properties(design: Design) -> DesignProperties:
    """Recompute the design's properties from its matrix.

    Raises:
        InputError: for a design that is not regular and has more than 2^14 runs.
    """
    values = design.matrix.astype(np.float64)
    products = values.T @ values
    return DesignProperties(
        runs=design.runs,
        distinct=len(np.unique(np.packbits(design.matrix > 0, axis=1), axis=0)),
        factors=len(design.factors),
        balanced=not np.any(values.sum(axis=0)),
        orthogonal=not np.any(products - np.diag(np.diag(products))),
        regular=hull(design).regular,
        resolution=resolution(design),
    )
