"""Square matrices of -1 and +1 with orthogonal columns."""

from __future__ import annotations

from functools import cache

import numpy as np

from hati.core import InputError
from hati.design.galois import field, prime_power
from hati.design.matrix import Matrix

_MOST = 256


@cache
def hadamard(order: int) -> Matrix:
    """A Hadamard matrix whose first row and first column are all +1, shape (order, order).

    Those of Paley (1933), On orthogonal matrices, J. Math. Phys. 12: of the first kind where ``order`` - 1 is a power
    of a prime, else of the second where ``order`` / 2 - 1 is one; else twice that of half the order (Sylvester 1867),
    with the columns first that differ between the halves.

    Raises:
        InputError: for an order that none of these reaches, such as 92, or above 256.
    """
    found = _raw(order) if 1 <= order <= _MOST else None
    if found is None:
        raise InputError(
            f"there is no Hadamard matrix of order {order} here", fix=f"use one of {_some(reachable_orders(_MOST))}"
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
