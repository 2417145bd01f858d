"""Forward selection of terms, and of runs with means of their own, up to the last significant step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.contrasts import Term
from hati.stats.distributions import f_above
from hati.stats.forward import alike, explained_by_each
from hati.stats.model_terms import ModelTerms
from hati.stats.projection import NOTHING, added_basis, spanned

LEVEL = 0.01
"""The level of a step, corrected for all its candidates."""
_MOST_TERMS = 40
_LEAST_LEFT = 3
EXACT = 1e-12
"""A part of the sum of squares below which what is left is rounding."""


class Steps(Struct, frozen=True, eq=False):
    """A model of ``terms`` and ``runs`` of their own, in the order of choice.

    ``candidates`` holds the terms that it was chosen among, ``parameters`` is how many it has, ``left`` the residual
    sum of squares.
    """

    candidates: ModelTerms
    terms: tuple[Term, ...]
    runs: tuple[int, ...]
    parameters: int
    left: float

    def extended_bayes(self, smallest: float, others: int = 0) -> float:
        """The extended Bayesian criterion (Chen and Chen 2008, Biometrika 95, 759-771), up to a constant.

        Models are as likely as their size, whatever is in them.

        Args:
            smallest: a residual sum of squares below this is rounding.
            others: the number of runs that were candidates too.
        """
        count, size = self.candidates.runs, len(self.terms) + len(self.runs)
        among = len(self.candidates.columns) + others
        models = math.lgamma(among + 1) - math.lgamma(size + 1) - math.lgamma(among - size + 1)
        return count * math.log(max(self.left, smallest) / count) + self.parameters * math.log(count) + 2.0 * models


def significant_steps(
    terms: ModelTerms, values: FloatArray, given: Sequence[int] = (), among: Sequence[int] = ()
) -> Steps:
    """Select terms, and runs with means of their own, by what they explain of the values, under weak heredity.

    Selection is not stopped by a step that does not pay, but taken back to its last significant one, by F times the
    number of candidates: effects of one size hide each other.

    Args:
        terms: the candidates.
        values: shape (runs,).
        given: the runs that have means of their own.
        among: those that may get one.
    """
    count, every = terms.runs, tuple(terms)
    basis = spanned(np.hstack([terms.always, np.eye(count)[:, list(given)]]))
    residual = values - basis @ (basis.T @ values)
    leverage = np.sum(basis**2, axis=1)
    may = np.isin(np.arange(count), among)
    candidates = alike(terms, basis)
    chosen: list[int] = []  # places among the terms, and after them among the runs
    parameters, left = basis.shape[1], float(residual @ residual)
    reached = Steps(terms, (), tuple(given), parameters, left)
    smallest = EXACT * float(np.sum((values - values.mean()) ** 2))
    while left > smallest and len(chosen) < _MOST_TERMS and 2 * (parameters + 1) <= count:
        explained, added = explained_by_each(candidates, residual, len(every))
        open_ = terms.eligible([place for place in chosen if place < len(every)]) & (added > 0)
        squares = np.where(open_, explained / np.maximum(added, 1), 0.0)
        free = may & (1.0 - leverage > NOTHING)
        squares = np.concatenate([squares, np.where(free, residual**2 / np.where(free, 1.0 - leverage, 1.0), 0.0)])
        place = int(np.argmax(squares))
        if squares[place] <= 0.0:
            break
        run = place - len(every)
        new = added_basis(terms.columns[every[place]] if run < 0 else np.eye(count)[:, [run]], basis)
        chosen.append(place)
        basis = np.hstack([basis, new])
        residual = residual - new @ (new.T @ residual)
        leverage = leverage + np.sum(new**2, axis=1)
        for group in candidates:
            group.remove(new)
        parameters, before, left = basis.shape[1], left, float(residual @ residual)
        df, spare = new.shape[1], count - parameters
        if spare < _LEAST_LEFT:
            break
        ratio = (before - left) / df / (max(left, smallest) / spare)
        if float(f_above(np.array([ratio]), df, spare)[0]) * (len(every) + may.sum() - len(chosen) + 1) <= LEVEL:
            kept = tuple(every[place] for place in chosen if place < len(every))
            runs = (*given, *(place - len(every) for place in chosen if place >= len(every)))
            reached = Steps(terms, kept, runs, parameters, left)
    return reached


def significant_model(terms: ModelTerms, values: FloatArray) -> Steps:
    """Select terms by significant steps, with interactions of three options.

    An interaction of three is a candidate once that of two of them is chosen.

    Args:
        terms: the candidates.
        values: shape (runs,).
    """
    while True:
        found = significant_steps(terms, values)
        wider = terms.with_third_order(found.terms)
        if wider is terms:
            return found
        terms = wider
