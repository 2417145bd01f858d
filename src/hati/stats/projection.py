"""Orthonormal bases of what columns add to others: the only linear algebra that tests of terms need."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

NOTHING = 1e-7
"""What is left of a column below this part of the whole is rounding."""


def added_basis(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """An orthonormal basis, shape (runs, rank), of what the columns span beyond an orthonormal basis.

    Args:
        columns: shape (runs, any).
        basis: shape (runs, any), orthonormal columns.
    """
    size = largest_norm(columns)
    left = beside(columns, basis)
    if size == 0.0 or not left.size:
        return np.empty((len(columns), 0))
    vectors, sizes, _ = np.linalg.svd(left, full_matrices=False)
    return np.asarray(vectors[:, sizes > NOTHING * size])


def spanned(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns' span, shape (runs, rank)."""
    return added_basis(columns, np.empty((len(columns), 0)))


def beside(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """What is left of columns beside an orthonormal basis, shape (runs, any)."""
    left = columns - basis @ (basis.T @ columns)
    return np.asarray(left - basis @ (basis.T @ left))  # once more: rounding of the first time would pass for something


def largest_norm(columns: FloatArray) -> float:
    """The Euclidean norm of the largest column; 0 where there is none."""
    return float(np.sqrt(np.sum(columns**2, axis=0, initial=0.0).max(initial=0.0)))
