"""Box and Meyer's posterior probabilities from `moments` and `log_marginals`, to compare with published numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.linear_models import Index
from hati.stats.probable_models import SHIFT, log_marginals, moments
from hati.stats.terms import Term

ACTIVITY = 0.25


class FactorModels(Struct, frozen=True, eq=False):
    """Sets of active factors, the most probable first, and each factor's probability of being active."""

    models: tuple[Term, ...]
    probabilities: FloatArray
    variances: FloatArray
    factors: FloatArray
    gamma: float


def block_columns(blocks: Index) -> FloatArray:
    """A column of 0 and 1 for every block but the first, shape (runs, blocks - 1)."""
    return np.asarray(blocks[:, None] == np.unique(blocks)[None, 1:], dtype=np.float64)


def box_meyer(
    matrix: FloatArray,
    values: FloatArray,
    *,
    gamma: float,
    blocks: Index | None = None,
    order: int = 3,
    most_active: int = 5,
    shift: float = SHIFT,
) -> FactorModels:
    """The probabilities of all sets of active factors with their interactions (1993, equations 3 to 5)."""
    factors = matrix.shape[1]
    sizes = range(min(most_active, factors) + 1)
    terms = [term for size in sizes if 0 < size <= order for term in combinations(range(factors), size)]
    places = {term: place for place, term in enumerate(terms)}
    columns = np.column_stack([matrix[:, list(term)].prod(axis=1) for term in terms])
    found = moments(columns, values, None if blocks is None else block_columns(blocks), shift)
    models = [model for size in sizes for model in combinations(range(factors), size)]
    logs, left = np.empty(len(models)), np.empty(len(models))
    for place, model in enumerate(models):
        own = [places[t] for size in range(1, min(order, len(model)) + 1) for t in combinations(model, size)]
        logarithm, residual = log_marginals(found, np.array([own], dtype=np.intp).reshape(1, -1), gamma)
        logs[place] = logarithm[0] + len(model) * np.log(ACTIVITY / (1.0 - ACTIVITY))
        left[place] = residual[0] / (len(values) - 1)
    weights = np.exp(logs - logs.max())
    probabilities = weights / weights.sum()
    active = np.array([[factor in model for factor in range(factors)] for model in models])
    best = np.argsort(-probabilities, kind="stable")
    return FactorModels(
        models=tuple(models[i] for i in best),
        probabilities=probabilities[best],
        variances=left[best],
        factors=probabilities @ active,
        gamma=gamma,
    )
