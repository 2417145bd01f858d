"""Word-length pattern, resolution and defining words, from the matrix; a design's properties at a glance."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.design.two_level.aliasing import MOST_EFFECTS, Hull, Indices, hull
from hati.design.two_level.matrix import Design

_MOST_PAIRED = 2**14
_CHUNK = 2**24
_QUICK = 200_000


class Word(Struct, frozen=True):
    """A product of factors that is constant over the runs: ``sign`` is its value."""

    factors: tuple[str, ...]
    sign: int


def word_length_pattern(design: Design) -> dict[int, int | float]:
    """How many words there are of each length that has any: ``{4: 77, 6: 168}``.

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

    Of a design that is not regular: the first length that the generalised pattern has (1: not balanced).
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

    Of a design that is not regular, which seldom has short ones, they are looked for only while that is quick.
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
    """All words of that length: two halves with equal columns, the first half's factors before the second's."""
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
    """How many pairs of runs differ in 0, 1, ... factors, and the pattern's divisor.

    A regular design looks the same from each of its runs, so that the first run's distances are enough.
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
    """What the matrix says.

    ``balanced``: every factor is at -1 as often as at +1. ``orthogonal``: so are the products of any two.
    ``regular``: any two effects are equal up to the sign, or orthogonal. ``distinct``: number of different runs.
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
