"""Matrices with orthogonal columns from finite fields, and the Plackett-Burman designs that they make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.two_level.matrix import Design, Matrix, check_factors

Table = NDArray[np.int16]
"""Shape (size, size): the result for each pair of elements."""

_MOST_ELEMENTS = 256


class Field(Struct, frozen=True, eq=False):
    """The field of ``size`` = ``prime`` ** ``degree`` elements, numbered from 0.

    Number n stands for the polynomial whose coefficients are n's digits in base ``prime``, the constant last;
    so 0 and 1 are what they say, and for a prime the arithmetic is that of remainders.
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
    """All elements but zero, as the powers of one of them: of x modulo a primitive polynomial, or of a primitive root.

    Polynomials are tried in order until x has as many powers as there are elements but zero.
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

    Those of Paley (1933), On orthogonal matrices, J. Math. Phys. 12: of the first kind where ``order`` - 1 is a power
    of a prime, else of the second where ``order`` / 2 - 1 is one; else twice that of half the order (Sylvester 1867),
    with the columns first that differ between the halves.

    Raises:
        InputError: for an order that none of these reaches, such as 92, or above 256.
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
    """The orders up to ``most`` that ``hadamard`` has a matrix of."""
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
        # Neighbouring columns agree in all but a few pairs of rows, so they are kept apart.
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
    """The columns of a Hadamard matrix without its constant one, the first run all -1; by default the smallest.

    Main effects are orthogonal to each other. Where the runs are not a power of two every two-factor interaction is
    aliased with many main effects in part: in 12 runs by a third with each that is not in it (Plackett and
    Burman 1946, Biometrika 33).

    Raises:
        InputError: for a number of runs that is not had, or too few of them for the factors.
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
    """The numbers of runs that can be had: multiples of four from 8 to 100, but 92."""
    return tuple(order for order in reachable_orders(_MOST) if order >= _FEWEST)
