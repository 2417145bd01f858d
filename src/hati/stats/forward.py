"""Forward selection of a model's terms under weak heredity."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.contrasts import Term
from hati.stats.model_terms import ModelTerms, parents
from hati.stats.projection import added_basis

_MOST = 0.5
"""The model has at most so many parameters for each run: AICc's correction assumes that the candidates were few."""


def forward_selection(terms: ModelTerms, values: FloatArray) -> tuple[Term, ...]:
    """The terms that predict best, in the order in which they were chosen.

    Each step adds the term that lowers the corrected Akaike criterion (Hurvich and Tsai 1989, Biometrika 76, 297-307)
    most, until none does. An interaction can be added once one of its options' terms is there: weak heredity
    (Hamada and Wu 1992, Journal of Quality Technology 24, 130-137). For prediction and for ranking, not for deciding:
    chosen terms need not be significant.

    Args:
        terms: the candidates.
        values: shape (runs,).
    """
    basis = terms.basis(())
    residual = values - basis @ (basis.T @ values)
    left = float(residual @ residual)
    smallest = 1e-12 * float(np.sum((values - values.mean()) ** 2))
    if left <= smallest:
        return ()
    chosen = list[Term]()
    best = _criterion(left, terms.runs, basis.shape[1])
    while left > smallest:
        found: tuple[float, Term, FloatArray] | None = None
        for term in terms:
            if term in chosen or not _eligible(term, chosen):
                continue
            added = added_basis(terms.columns[term], basis)
            size = basis.shape[1] + added.shape[1]
            if not added.shape[1] or size > _MOST * terms.runs:
                continue
            explained = float(np.sum((added.T @ residual) ** 2))
            criterion = _criterion(max(left - explained, smallest), terms.runs, size)
            if found is None or criterion < found[0]:
                found = criterion, term, added
        if found is None or found[0] >= best:
            break
        best, term, new = found
        chosen.append(term)
        basis = np.hstack([basis, new])
        residual = residual - new @ (new.T @ residual)
        left = float(residual @ residual)
    return tuple(chosen)


def _eligible(term: Term, chosen: list[Term]) -> bool:
    return len(term) == 1 or any(parent in chosen for parent in parents(term))


def _criterion(residual: float, runs: int, parameters: int) -> float:
    """AICc up to a constant; the variance counts as a parameter."""
    count = parameters + 1
    if runs - count - 1 <= 0:
        return math.inf
    return runs * math.log(residual / runs) + 2.0 * count * runs / (runs - count - 1)
