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
    size = float(np.sqrt(np.sum(columns**2, axis=0, initial=0.0).max(initial=0.0)))
    left = columns - basis @ (basis.T @ columns)
    left = left - basis @ (basis.T @ left)  # once more: rounding of the first time would pass for something new
    if size == 0.0 or not left.size:
        return np.empty((len(columns), 0))
    vectors, sizes, _ = np.linalg.svd(left, full_matrices=False)
    return np.asarray(vectors[:, sizes > NOTHING * size])


def spanned(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns' span, shape (runs, rank)."""
    return added_basis(columns, np.empty((len(columns), 0)))
