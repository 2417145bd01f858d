"""Finite fields by their tables of addition and multiplication."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError

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
        """+1 for the squares, -1 for what is no square, 0 for zero, shape (size,)."""
        signs = np.full(self.size, -1, dtype=np.int8)
        signs[np.diag(self.multiply)] = 1
        signs[0] = 0
        return signs


@cache
def field(size: int) -> Field:
    """The field of that many elements.

    Raises:
        InputError: for a size that is no power of a prime, or above 256.
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
