"""Constructions of designs: orthogonal columns from finite fields, difference schemes and geometries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.coding import Levels
from hati.design.matrix import Design, Matrix, check_factors

Table = NDArray[np.int16]
"""Shape (size, size): the result for each pair of elements."""

_MOST_ELEMENTS = 256


class Field(Struct, frozen=True, eq=False):
    """The field of ``size`` = ``prime`` ** ``degree`` elements, numbered from 0.

    Number n stands for the polynomial whose coefficients are n's digits in base ``prime``, the constant last;
    so 0 and 1 are zero and one, and for a prime the arithmetic is modulo ``prime``.
    """

    prime: int
    degree: int
    add: Table
    multiply: Table

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.add)

    @property
    def negative(self) -> NDArray[np.int16]:
        """Each element's negative, shape (size,)."""
        return np.asarray(np.argmin(self.add, axis=1), dtype=np.int16)

    @property
    def character(self) -> NDArray[np.int8]:
        """+1 for the squares, -1 for non-squares, 0 for zero, shape (size,)."""
        signs = np.full(self.size, -1, dtype=np.int8)
        signs[np.diag(self.multiply)] = 1
        signs[0] = 0
        return signs


@cache
def field(size: int) -> Field:
    """The field of that many elements.

    Raises:
        InputError: for a size that is not a power of a prime, or above 256.
    """
    power = prime_power(size)
    if power is None or size > _MOST_ELEMENTS:
        raise InputError(f"there is no field of {size} elements here", fix="use a power of a prime up to 256")
    prime, degree = power
    digits = digits_of(np.arange(size), prime, degree)
    add = _numbers((digits[:, None, :] + digits[None, :, :]) % prime, prime)
    powers = np.array(_powers(prime, degree))
    logarithm = np.zeros(size, dtype=np.int64)
    logarithm[powers] = np.arange(size - 1)
    multiply = powers[(logarithm[:, None] + logarithm[None, :]) % (size - 1)].astype(np.int16)
    multiply[0, :] = multiply[:, 0] = 0
    return Field(prime, degree, add, multiply)


def prime_power(number: int) -> tuple[int, int] | None:
    """The prime and the exponent of a prime power; None for any other number.

    >>> prime_power(27), prime_power(12)
    ((3, 3), None)
    """
    if number < 2:
        return None
    prime = next((d for d in range(2, int(number**0.5) + 1) if number % d == 0), number)
    degree = 0
    while number % prime == 0:
        number, degree = number // prime, degree + 1
    return (prime, degree) if number == 1 else None


def digits_of(numbers: NDArray[np.int64], base: int, count: int) -> NDArray[np.int64]:
    """The numbers' digits, the most significant first, shape (numbers, count)."""
    places = base ** np.arange(count - 1, -1, -1, dtype=np.int64)
    return np.asarray(numbers[:, None] // places % base)


def _numbers(digits: NDArray[np.int64], base: int) -> Table:
    places = base ** np.arange(digits.shape[-1] - 1, -1, -1, dtype=np.int64)
    return np.asarray(digits @ places, dtype=np.int16)


def _powers(prime: int, degree: int) -> list[int]:
    """All elements except zero, as the powers of x modulo a primitive polynomial, or of a primitive root.

    Polynomials are tried in order until the powers of x are all elements except zero.
    """
    size = prime**degree
    for tail in product(range(prime), repeat=degree):
        found = [1]
        while len(found) < size and (following := _times_x(found[-1], tail, prime)) not in (0, 1):
            found.append(following)
        if len(found) == size - 1:
            return found
    raise AssertionError(f"no primitive polynomial of degree {degree} over {prime}")


def _times_x(number: int, tail: tuple[int, ...], prime: int) -> int:
    """The polynomial times x, where x ** degree is ``tail``; for degree one, times the constant ``tail``."""
    top, rest = divmod(number * prime, prime ** len(tail))
    total = 0
    for i, coefficient in enumerate(tail):
        place = prime ** (len(tail) - 1 - i)
        total += (rest // place % prime + top * coefficient) % prime * place
    return total


_LARGEST_ORDER = 256


@cache
def hadamard(order: int) -> Matrix:
    """A Hadamard matrix whose first row and first column are all +1, shape (order, order).

    Paley's (1933, On orthogonal matrices, J. Math. Phys. 12): of the first kind where ``order`` - 1 is a prime power,
    else of the second where ``order`` / 2 - 1 is one; else the doubled matrix of half the order (Sylvester 1867), with
    the columns that differ between the halves first.

    Raises:
        InputError: for an order that none of these constructs, such as 92, or above 256.
    """
    found = _raw(order) if 1 <= order <= _LARGEST_ORDER else None
    if found is None:
        raise InputError(
            f"there is no Hadamard matrix of order {order} here",
            fix=f"use one of {_some(reachable_orders(_LARGEST_ORDER))}",
        )
    found = found * found[:, :1]
    found = found * found[:1]
    found.flags.writeable = False
    return found


@cache
def reachable_orders(most: int) -> tuple[int, ...]:
    """The orders up to ``most`` for which ``hadamard`` has a matrix."""
    return tuple(order for order in range(1, most + 1) if _reachable(order))


def _reachable(order: int) -> bool:
    if order <= 2:
        return order > 0
    return order % 4 == 0 and (_first_kind(order) or _second_kind(order) or _reachable(order // 2))


def _first_kind(order: int) -> bool:
    return order % 4 == 0 and prime_power(order - 1) is not None


def _second_kind(order: int) -> bool:
    return order % 4 == 0 and (order // 2 - 1) % 4 == 1 and prime_power(order // 2 - 1) is not None


def _raw(order: int) -> Matrix | None:
    if not _reachable(order):
        return None
    if order == 1:
        return np.ones((1, 1), dtype=np.int8)
    if _first_kind(order):
        return np.asarray(np.eye(order, dtype=np.int8) + _conference(order - 1, -1))
    if _second_kind(order):
        core = _conference(order // 2 - 1, 1)
        pair = np.kron(core, [[1, 1], [1, -1]]) + np.kron(np.eye(len(core)), [[1, -1], [-1, -1]])
        # Neighbouring columns agree in all but a few pairs of rows, so they are separated.
        return np.asarray(np.hstack([pair[:, ::2], pair[:, 1::2]]), dtype=np.int8)
    half = hadamard(order // 2)
    return np.block([[half[:, :1], half, half[:, 1:]], [half[:, :1], -half, half[:, 1:]]])


def _conference(size: int, corner: int) -> Matrix:
    """The matrix of the quadratic character of differences in a field, with a border, shape (size + 1, size + 1)."""
    elements = field(size)
    differences = elements.add[:, elements.negative]
    matrix = np.zeros((size + 1, size + 1), dtype=np.int8)
    matrix[0, 1:], matrix[1:, 0] = 1, corner
    matrix[1:, 1:] = elements.character[differences]
    return matrix


def _some(orders: tuple[int, ...]) -> str:
    return f"{', '.join(str(order) for order in orders[:12])}, ..."


_FEWEST, _MOST = 8, 100


def plackett_burman(factors: Sequence[str], runs: int | None = None) -> Design:
    """The columns of a Hadamard matrix except the constant one, the first run all -1; by default the smallest.

    Main effects are orthogonal to each other. Unless the number of runs is a power of two, every two-factor interaction
    is partly aliased with many main effects: in 12 runs by a third with each that is not in it (Plackett and Burman
    1946, Biometrika 33).

    Raises:
        InputError: for a number of runs that is not available, or too small for the factors.
    """
    factors = tuple(factors)
    check_factors(factors)
    sizes = plackett_burman_sizes()
    if runs is None:
        runs = next((size for size in sizes if size > len(factors)), None)
        if runs is None:
            raise InputError(f"{len(factors)} factors are too many for {_MOST} runs", fix=f"use at most {_MOST - 1}")
    if runs not in sizes:
        near = [size for size in sizes if size < runs][-1:] + [size for size in sizes if size > runs][:1]
        raise InputError(
            f"there is no Plackett-Burman design in {runs} runs here",
            fix=f"the nearest: {' and '.join(str(size) for size in near)} runs",
        )
    if len(factors) >= runs:
        raise InputError(
            f"{runs} runs have room for {runs - 1} factors, not {len(factors)}",
            fix=f"use {next((str(size) for size in sizes if size > len(factors)), 'fewer factors')}"
            + (" runs" if len(factors) < _MOST else ""),
        )
    return Design("Plackett-Burman", factors, -hadamard(runs)[:, 1 : 1 + len(factors)])


def plackett_burman_sizes() -> tuple[int, ...]:
    """The available numbers of runs: multiples of four from 8 to 100, except 92."""
    return tuple(order for order in reachable_orders(_MOST) if order >= _FEWEST)


_MOST_FIELD = 49
_MOST_HADAMARD = 128

# Rows 1, 4, 7 and 10 of 12 x 12 schemes made of 3 x 3 circulant blocks: found by search.
_BLOCKS = {
    3: ("010002010112", "020220112202", "010121101010", "022001121101"),
    4: ("022221011231", "023103132222", "011002211320", "030322202032"),
}


@cache
def difference_scheme(rows: int, settings: int) -> Levels:
    """The widest difference scheme here, shape (rows, columns): any two columns differ by each element equally often.

    Elements are added by ``group_table``. There is always one column, of zeros, and a second where ``settings`` divides
    ``rows``. There are as many columns as rows for two settings (Hadamard's matrices), for a prime power q and its
    powers (products in the field), for 2 q with q odd (Jungnickel 1979, Math. Z. 167), and for 12 rows with three or
    four settings.
    """
    power = prime_power(settings)
    if rows % settings or power is None or settings > _MOST_FIELD:
        second = [np.arange(rows) % settings] if rows % settings == 0 else []
        return np.column_stack([np.zeros(rows), *second]).astype(np.int16)
    if settings == 2 and rows in reachable_orders(_MOST_HADAMARD):
        return (hadamard(rows) < 0).astype(np.int16)
    core, exponent = rows, 0
    while core % settings == 0:
        core, exponent = core // settings, exponent + 1
    for start in _starts(settings):
        rest, left_over = divmod(rows, len(start))
        if not left_over and _is_power(rest, settings):
            return _product(start, _bilinear(rest, settings), settings)
    whole = _bilinear(settings**exponent, settings)
    return np.tile(whole, (core, 1))


def group_table(settings: int) -> Table:
    """The addition table of a difference scheme's elements: that of the field of that size, else modulo its size."""
    if prime_power(settings) is not None and settings <= _MOST_FIELD:
        return field(settings).add
    numbers = np.arange(settings)
    return ((numbers[:, None] + numbers[None, :]) % settings).astype(np.int16)


def _starts(settings: int) -> Iterator[Levels]:
    if settings % 2:
        yield _jungnickel(settings)
    if settings in _BLOCKS:
        yield _circulants(settings)


def _is_power(number: int, base: int) -> bool:
    while number % base == 0:
        number //= base
    return number == 1


def _bilinear(rows: int, settings: int) -> Levels:
    """The scheme of inner products of the vectors over the field."""
    elements = field(settings)
    degree = 0
    while settings**degree < rows:
        degree += 1
    vectors = digits_of(np.arange(rows), settings, degree)
    total = np.zeros((rows, rows), dtype=np.int16)
    for i in range(degree):
        total = elements.add[total, elements.multiply[vectors[:, i][:, None], vectors[:, i][None, :]]]
    return total


def _jungnickel(settings: int) -> Levels:
    """The scheme of 2 q rows and columns, q an odd prime power: four blocks of quadratic forms in row and column."""
    elements = field(settings)
    add, times, minus = elements.add, elements.multiply, elements.negative
    other = int(np.flatnonzero(elements.character < 0)[0])
    quarter = int(np.flatnonzero(times[add[add[1, 1], add[1, 1]]] == 1)[0])
    inverse = int(np.flatnonzero(times[other] == 1)[0])
    x, y = np.arange(settings)[:, None], np.arange(settings)[None, :]
    form, square = times[x, y], times[quarter, times[x, x]]
    first, second = add[form, square], add[form, times[other, square]]
    third = add[form, minus[add[times[y, y], square]]]
    return np.block([[first, second], [third, times[inverse, third]]]).astype(np.int16)


def _circulants(settings: int) -> Levels:
    rows = [[int(entry) for entry in text] for text in _BLOCKS[settings]]
    shifted = [np.roll(np.array(row).reshape(4, 3), k, axis=1).ravel() for row in rows for k in range(3)]
    return np.array(shifted, dtype=np.int16)


def _product(first: Levels, second: Levels, settings: int) -> Levels:
    """The Kronecker sum of two schemes, which is a scheme."""
    table = group_table(settings)
    summed = table[first[:, None, :, None], second[None, :, None, :]]
    return summed.reshape(len(first) * len(second), -1)


Basis = NDArray[np.int64]
"""Shape (dimensions, dimensions of the whole): linear forms over the field of p elements."""

Counts = tuple[int, ...]
"""The number of pieces of each dimension, from one dimension on."""


class _Step(Struct, frozen=True):
    """Take ``count`` pieces of a dimension or, if ``first`` is not 0, split one into that dimension and the rest."""

    dimension: int
    count: int
    first: int = 0


def geometric_columns(prime: int, degree: int, wanted: Counts) -> dict[int, Levels] | None:
    """Columns of an array in prime^degree runs: for each dimension d the wanted number of columns with p^d settings.

    None where the partitions that are searched do not have them.
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
    """The steps from free pieces to wanted ones, the largest first; whole pieces are taken before others are split."""
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
    """That many one-dimensional subspaces of the free pieces, with few triples in a plane.

    Each is contained in the fewest planes through two earlier ones: so main effects are aliased with few two-factor
    interactions, as far as a choice one by one allows.
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
    """The vector of the same line whose first nonzero entry is one."""
    inverse = pow(_leading(vector), -1, prime)
    return tuple(entry * inverse % prime for entry in vector)


def _settings(runs: NDArray[np.int64], piece: Basis, prime: int) -> NDArray[np.int16]:
    values = runs @ piece.T % prime
    return np.asarray(values @ prime ** np.arange(len(piece)), dtype=np.int16)
