"""Analysis of variance of any design: each term's sum of squares and its F test."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.contrasts import Term
from hati.stats.distributions import f_above
from hati.stats.model_terms import ModelTerms


class SumOfSquares(Enum):
    """Of which others a term's sum of squares is cleared.

    ``TYPE_2``: of all that do not contain it. ``TYPE_3``: of all others, as sum coding has it.
    """

    TYPE_2 = 2
    TYPE_3 = 3


class AnovaRow(Struct, frozen=True):
    """A term's sum of squares, its degrees of freedom, F and the p-value; F is None without residuals."""

    term: Term
    sum_of_squares: float
    df: int
    f: float | None
    p_value: float | None


class Anova(Struct, frozen=True):
    """The table: a row for each term, and what is left, ``residual`` with ``df`` degrees of freedom."""

    rows: tuple[AnovaRow, ...]
    residual: float
    df: int


def anova(terms: ModelTerms, chosen: Sequence[Term], values: FloatArray, kind: SumOfSquares) -> Anova:
    """The analysis of variance of the model with the chosen terms.

    A term's columns that others span are not counted: where combinations are missing, its degrees of freedom are those
    that the runs can tell.

    Args:
        terms: the columns.
        chosen: the terms in the model.
        values: shape (runs,).
        kind: of which others each is cleared.
    """
    whole = terms.basis(chosen)
    rest = values - whole @ (whole.T @ values)
    residual, df = float(rest @ rest), terms.runs - whole.shape[1]
    rows = []
    beside_all = terms.added_to_others(chosen)
    for term in chosen:
        free = [other for other in chosen if other != term and not set(term) < set(other)]
        whole_model = kind is SumOfSquares.TYPE_3 or len(free) == len(chosen) - 1
        added = beside_all[term] if whole_model else terms.added(term, free)
        explained, own = float(np.sum((added.T @ values) ** 2)), added.shape[1]
        f = explained / own / (residual / df) if own and df and residual > 0.0 else None
        rows.append(AnovaRow(term, explained, own, f, None if f is None else float(f_above(np.array(f), own, df))))
    return Anova(tuple(rows), residual, df)
