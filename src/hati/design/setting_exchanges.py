"""Exchanges of settings of several runs that change the inverse together, for the determinant alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.design.information import LEAST_GROWTH, Information, changed_squares, downdate
from hati.stats import Index


class PendingExchanges:
    """Exchanges of a few rows by shifts of single settings, applied to ``about`` together.

    The inverse is A - R' W R until then, with two rows of R for each exchange and W of blocks of two: products of
    matrices replace a change of the whole inverse at each exchange. Gains and results are those of
    ``Information.shift_gains`` and ``exchange`` but for rounding. Rows are exchanged in their order, each once at most.

    Args:
        about: the information of all rows, with no watched ones and no moments.
        rows: those that may be exchanged, shape (rows, parameters).
        products: of these with the inverse.
        changes: what moves add to the columns that they change, as for ``shift_gains``.
        columns: the columns, as for ``shift_gains``.
    """

    def __init__(
        self,
        about: Information,
        rows: FloatArray,
        products: FloatArray,
        changes: Sequence[FloatArray],
        columns: Sequence[Index],
    ) -> None:
        self._about, self._rows, self._products = about, rows, products
        self._groups = [
            (found, places, changed_squares(found, places, about.inverse))
            for found, places in zip(changes, columns, strict=True)
        ]
        self._solved = np.empty((2 * len(rows), rows.shape[1]))  # R
        self._weighted = np.empty_like(self._solved)  # W R
        self._made = 0

    def gains(self, number: int) -> FloatArray:
        """The gain of each move of that row, all options of a group together; shape (moves,)."""
        products = self._products[number]
        own = float(products @ self._rows[number])
        parts = [(found[:, number] @ products[places][:, :, None]).ravel() for found, places, _ in self._groups]
        squares = [known[:, number].ravel() for *_, known in self._groups]
        mixed = np.concatenate(parts)
        variances = own + 2.0 * mixed + np.concatenate(squares)
        return np.asarray((1.0 + variances) * (1.0 - own) + (own + mixed) ** 2 - 1.0)

    def exchange(self, number: int, other: FloatArray) -> None:
        """Replace that row by the other one."""
        row, products = self._rows[number], self._products[number]
        changed = np.flatnonzero(other != row)
        jump, known = other[changed] - row[changed], slice(2 * self._made)
        solved = self._about.inverse[:, changed] @ jump
        solved -= (self._solved[known, changed] @ jump) @ self._weighted[known]
        pair = np.array([products + solved, products])
        variance, covariance, own = float(pair[0] @ other), float(products @ other), float(products @ row)
        determinant = (variance + 1.0) * (own - 1.0) - covariance**2
        weights = np.array([[own - 1.0, -covariance], [-covariance, variance + 1.0]]) / determinant
        here = slice(2 * self._made, 2 * self._made + 2)
        self._solved[here], self._weighted[here] = pair, weights @ pair
        self._update(slice(number + 1, None), pair, weights)
        self._about.log_determinant += math.log(max(-determinant, LEAST_GROWTH))
        self._made += 1

    def _update(self, later: slice, pair: FloatArray, weights: FloatArray) -> None:
        """Subtract what an exchange takes from the products and the squares of the rows that come later."""
        self._products[later] -= (self._rows[later] @ pair.T) @ (weights @ pair)
        for changes, places, squares in self._groups:
            found = changes[:, later]
            along = found.reshape(len(places), -1, found.shape[3]) @ pair.T[places]
            squares[:, later] -= np.einsum("omi,omi->om", along @ weights, along).reshape(found.shape[:3])

    def apply(self) -> tuple[FloatArray, FloatArray]:
        """Change the inverse of ``about`` by all exchanges; R and W R, of which R' W R was subtracted."""
        known = slice(2 * self._made)
        solved, weighted = self._solved[known], self._weighted[known]
        downdate(self._about.inverse, solved, weighted)
        return solved, weighted
