"""Difference schemes: what turns an array of r runs into one of r s, with more columns of s settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from hati.design.coding import Levels
from hati.design.galois import Table, digits_of, field, prime_power
from hati.design.hadamard import hadamard, reachable_orders

_MOST_FIELD = 49
_MOST_HADAMARD = 128

# Rows 1, 4, 7 and 10 of schemes of 12 x 12 that are made of circulant blocks of three: found by search.
_BLOCKS = {
    3: ("010002010112", "020220112202", "010121101010", "022001121101"),
    4: ("022221011231", "023103132222", "011002211320", "030322202032"),
}


@cache
def difference_scheme(rows: int, settings: int) -> Levels:
    """The widest difference scheme here, shape (rows, columns): any two columns differ by each element equally often.

    Elements are added by ``group_table``. One column is always had, of zeros; two where ``settings`` divides ``rows``;
    as many as there are rows for two settings by Hadamard's matrices, for a prime power q and its powers by products
    in the field, for 2 q with q odd by Jungnickel (1979), Math. Z. 167, and for 12 rows with three or four settings.
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
    """How the elements of a difference scheme are added: as in the field of that size, else as remainders."""
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
    """Rows and columns are vectors over the field, the entries their inner products."""
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
    """The Kronecker sum: of two schemes again a scheme."""
    table = group_table(settings)
    summed = table[first[:, None, :, None], second[None, :, None, :]]
    return summed.reshape(len(first) * len(second), -1)
