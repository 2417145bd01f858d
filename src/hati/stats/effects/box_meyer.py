"""Which factors are active: posterior probabilities over sets of factors (Box and Meyer 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.effects.contrasts import Term
from hati.stats.effects.least_squares import Index
from hati.stats.effects.model_probability import SHIFT, Moments, block_columns, log_marginals, moments

ACTIVITY = 0.25
GAMMAS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0, 50.0)
_MOST_MODELS = 500_000
_BATCH = 4_000_000


class FactorModels(Struct, frozen=True, eq=False):
    """Sets of active factors, the most probable first, and each factor's probability of being active.

    ``probabilities`` and ``variances`` (the residual's, per degree of freedom of the total) have shape (models,),
    ``factors`` shape (factors,). ``log_likelihood`` is that of ``gamma``, but for a constant.
    """

    models: tuple[Term, ...]
    probabilities: FloatArray
    variances: FloatArray
    factors: FloatArray
    gamma: float
    log_likelihood: float


def box_meyer(
    matrix: FloatArray,
    values: FloatArray,
    *,
    blocks: Index | None = None,
    activity: float = ACTIVITY,
    gamma: float | None = None,
    order: int = 3,
    most_active: int = 5,
    shift: float | None = None,
) -> FactorModels:
    """Posterior probabilities of all models: a set of active factors with all their interactions up to an order.

    Any two-level design, runs repeated or missing; the mean has a flat prior (Box and Meyer 1993, equations 3 to 5).

    Args:
        matrix: entries -1 and +1, shape (runs, factors).
        values: one per run, shape (runs,).
        blocks: the block of each run, where there are several.
        activity: the prior probability that a factor is active.
        gamma: the size of an active effect's coefficient in standard deviations of a run; None for the
            most likely of ``GAMMAS``.
        order: interactions of so many factors at most.
        most_active: so many factors are active at most.
        shift: the size of shifts between blocks in standard deviations of a run; None for ``SHIFT``.

    Raises:
        InputError: for a probability or sizes that are none, or more than 500,000 models.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    factors = matrix.shape[1]
    _check(factors, activity, order, most_active)
    most_active = min(most_active, factors)
    terms = [term for size in range(1, min(order, most_active) + 1) for term in combinations(range(factors), size)]
    columns = np.column_stack([matrix[:, list(term)].prod(axis=1) for term in terms])
    shifts = block_columns(blocks) if blocks is not None else None
    places = {term: place for place, term in enumerate(terms)}
    known = moments(columns, values, shifts, SHIFT if shift is None else shift)
    found = [
        _posterior(known, places, factors, activity, size, order, most_active)
        for size in (GAMMAS if gamma is None else (gamma,))
    ]
    return max(found, key=lambda models: models.log_likelihood)


def _posterior(
    found: Moments, places: dict[Term, int], factors: int, activity: float, gamma: float, order: int, most_active: int
) -> FactorModels:
    models, logarithms, variances = list[Term](), list[FloatArray](), list[FloatArray]()
    odds = np.log(activity / (1.0 - activity))
    for size in range(most_active + 1):
        sets = list(combinations(range(factors), size))
        models += sets
        for batch in _batches(sets, size):
            likely, left = log_marginals(found, _columns(batch, places, order), gamma)
            logarithms.append(likely + size * odds)
            variances.append(left / (found.runs - 1))
    logs = np.concatenate(logarithms)
    top = float(logs.max())
    weights = np.exp(logs - top)
    probabilities = weights / weights.sum()
    active = np.zeros((len(models), factors), dtype=bool)
    for place, model in enumerate(models):
        active[place, list(model)] = True
    best = np.argsort(-probabilities, kind="stable")
    return FactorModels(
        models=tuple(models[i] for i in best),
        probabilities=probabilities[best],
        variances=np.concatenate(variances)[best],
        factors=probabilities @ active,
        gamma=gamma,
        log_likelihood=top + float(np.log(weights.sum())),
    )


def _columns(sets: Sequence[Term], places: dict[Term, int], order: int) -> Index:
    """The columns of each set's main effects and interactions, shape (sets, terms)."""
    chosen = [
        [places[term] for size in range(1, min(order, len(model)) + 1) for term in combinations(model, size)]
        for model in sets
    ]
    return np.array(chosen, dtype=np.intp).reshape(len(sets), -1)


def _batches(sets: Sequence[Term], size: int) -> list[Sequence[Term]]:
    step = max(1, _BATCH // max(1, 4**size))
    return [sets[i : i + step] for i in range(0, len(sets), step)]


def _check(factors: int, activity: float, order: int, most_active: int) -> None:
    if not 0.0 < activity < 1.0:
        raise InputError(f"the probability that a factor is active is between 0 and 1, not {activity}")
    if order < 1 or most_active < 1:
        raise InputError("models have at least main effects, and at least one active factor")
    models = sum(comb(factors, size) for size in range(min(most_active, factors) + 1))
    if models > _MOST_MODELS:
        raise InputError(
            f"{models:,} sets of active factors are too many", fix="allow fewer active factors, or screen more first"
        )
