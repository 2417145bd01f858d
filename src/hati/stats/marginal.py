"""How likely values are under a linear model whose coefficients are normal around zero."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.least_squares import Index

SHIFT = 10.0
"""Shifts between blocks are thought to be of this many standard deviations of a run: hardly anything is excluded."""


class Moments(Struct, frozen=True, eq=False):
    """All that runs say of linear models: sums of products once the mean and the blocks are taken out.

    ``gram`` has shape (columns, columns), ``products`` (columns,) are the columns' with the values, ``total`` is the
    values' sum of squares, ``runs`` their number.
    """

    gram: FloatArray
    products: FloatArray
    total: float
    runs: int


def block_columns(blocks: Index) -> FloatArray:
    """A column of 0 and 1 for every block but the first, shape (runs, blocks - 1)."""
    return np.asarray(blocks[:, None] == np.unique(blocks)[None, 1:], dtype=np.float64)


def moments(columns: FloatArray, values: FloatArray, shifts: FloatArray | None = None, shift: float = SHIFT) -> Moments:
    """Take the mean out of runs, and what shifts between blocks explain.

    The mean has a flat prior; the coefficients of ``shifts`` are normal with ``shift`` times the standard deviation
    of a run.

    Args:
        columns: those of all terms of all models, shape (runs, columns).
        values: one per run.
        shifts: columns that every model has, shape (runs, any).
        shift: their prior standard deviation, in standard deviations of a run.

    Raises:
        InputError: for fewer than two runs, or values that are not one per run.
    """
    runs = len(values)
    if runs < 2 or columns.shape[0] != runs:
        raise InputError(f"{runs} values of {columns.shape[0]} runs tell nothing of models")
    free = columns - columns.mean(axis=0)
    own = values - values.mean()
    if shifts is not None and shifts.shape[1]:
        centred = shifts - shifts.mean(axis=0)
        system = centred.T @ centred + np.eye(centred.shape[1]) / shift**2
        fitted = np.linalg.solve(system, centred.T @ np.column_stack([free, own]))
        gram = free.T @ free - (free.T @ centred) @ fitted[:, :-1]
        products = free.T @ own - (free.T @ centred) @ fitted[:, -1]
        total = float(own @ own - (own @ centred) @ fitted[:, -1])
        return Moments(gram, products, total, runs)
    return Moments(free.T @ free, free.T @ own, float(own @ own), runs)


def log_marginals(found: Moments, chosen: Index, gamma: float, floor: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """The logarithm of p(values | model) but for a constant that all models share, and each model's residual.

    Coefficients are normal around 0 with ``gamma`` times the standard deviation of a run (Box and Meyer 1993,
    equation 3; the same as gamma^-t |G + X'X|^-1/2 (S + b'Gb)^-(n-1)/2 there).

    Args:
        found: what the runs say.
        chosen: the columns of each model, shape (models, columns of a model).
        gamma: the size of effects.
        floor: a sum of squares below which residuals are not told apart.

    Returns:
        Two arrays of shape (models,): the logarithms, and S + b'Gb.
    """
    models, size = chosen.shape
    left = np.full(models, found.total)
    logarithm = np.zeros(models)
    if size:
        system = found.gram[chosen[:, :, None], chosen[:, None, :]] + np.eye(size) / gamma**2
        factor = np.linalg.cholesky(system)
        solved = np.linalg.solve(factor, found.products[chosen][:, :, None])[:, :, 0]
        left = left - np.einsum("mc,mc->m", solved, solved)
        diagonal = np.diagonal(factor, axis1=1, axis2=2)
        logarithm = -size * np.log(gamma) - np.log(diagonal).sum(axis=1)
    left = np.maximum(left, 0.0) + floor
    return logarithm - (found.runs - 1) / 2.0 * np.log(left), left
