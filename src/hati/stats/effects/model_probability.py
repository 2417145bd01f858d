"""How likely sets of effects are: beforehand, by their parents, and from the values that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.effects.contrasts import Term
from hati.stats.effects.least_squares import Index

Mask = NDArray[np.bool_]


class HeredityPrior:
    """Prior probabilities of effects given the main effects (Chipman 1996).

    A main effect is active with probability ``activity``; an interaction as likely where the main effects of all its
    options are active, and ``heredity`` times as likely for each that is not; every order above the second costs the
    same factor once more.

    Raises:
        InputError: for a probability outside (0, 1/2], or a factor outside (0, 1].
    """

    def __init__(self, terms: Sequence[Term], activity: float, heredity: float) -> None:
        if not (0.0 < activity <= 0.5 and 0.0 < heredity <= 1.0):
            raise InputError("an effect's prior probability is above 0 and at most 1/2, heredity above 0 and at most 1")
        options = 1 + max((max(term) for term in terms), default=0)
        self._parents = np.zeros((len(terms), options))
        for place, term in enumerate(terms):
            if len(term) > 1:
                self._parents[place, list(term)] = 1.0
        orders = np.array([len(term) for term in terms])
        self._sizes = self._parents.sum(axis=1)
        self._higher = np.maximum(orders - 2, 0)
        self._main = np.array([term[0] if len(term) == 1 else -1 for term in terms])
        steps = 1 + 2 * int(orders.max(initial=1))
        rates = activity * heredity ** np.arange(steps, dtype=np.float64)
        self._inert = np.log1p(-rates)
        self._odds = np.log(rates) - self._inert

    def logarithm(self, active: Mask) -> float:
        """The logarithm of the probability of a set of effects; ``active`` has shape (terms,)."""
        steps = self._steps(active)
        return float(self._inert[steps].sum() + self._odds[steps][active].sum())

    def additions(self, active: Mask) -> FloatArray:
        """The logarithms for the set with each effect added, shape (terms,); those in it already are as they are."""
        steps = self._steps(active)
        own = float(self._inert[steps].sum() + self._odds[steps][active].sum())
        found = own + np.where(active, 0.0, self._odds[steps])
        mains = np.flatnonzero((self._main >= 0) & ~active)
        fewer = steps[None, :] - self._parents[:, self._main[mains]].T.astype(np.intp)
        with_main = self._inert[fewer].sum(axis=1) + (self._odds[fewer] * active).sum(axis=1)
        found[mains] = with_main + self._odds[0]
        return np.asarray(found)

    def _steps(self, active: Mask) -> NDArray[np.intp]:
        present = np.zeros(self._parents.shape[1])
        present[self._main[active & (self._main >= 0)]] = 1.0
        return np.asarray(self._sizes - self._parents @ present + self._higher, dtype=np.intp)


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
