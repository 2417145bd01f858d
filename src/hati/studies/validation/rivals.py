"""The models that runs cannot tell apart."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.design.coding import Levels, Model
from hati.design.discrimination import Rival
from hati.stats import Term
from hati.stats.effect_models import BOUND, EffectModels, Effects, likely_models
from hati.stats.marginal import SHIFT, moments
from hati.studies.validation.screened import Runs

_FLOOR = 4.0
"""Noise below this part of what matters does not count: nothing smaller needs to be told apart."""
_MOST_EFFECTS = 3000


class Question(Struct, frozen=True):
    """What is asked of runs: options with ``sizes`` settings each, effects up to ``order``, odds of ``bound``.

    ``relevant`` is the difference on the deciding scale that matters.

    Raises:
        InputError: for an order below 1, a bound that is not above 1, or more effects than can be weighed.
    """

    sizes: tuple[int, ...]
    order: int
    relevant: float
    bound: float = BOUND

    def __post_init__(self) -> None:
        if self.order < 1:
            raise InputError(f"effects have an order of 1 or more, not {self.order}")
        if not self.bound > 1.0:
            raise InputError(f"a model is given up at odds above 1, not {self.bound}")
        if len(self.model.terms) > _MOST_EFFECTS:
            raise InputError(
                f"{len(self.model.terms):,} effects up to order {self.order} are too many to weigh",
                fix="lower --order, or validate fewer options",
            )

    @property
    def model(self) -> Model:
        """All effects that are thought of."""
        return _model(self.sizes, self.order)


class Estimate(Struct, frozen=True, eq=False):
    """An effect in a model, on the deciding scale: a two-setting option's second mean minus its first.

    Where an option has more settings, the largest difference between the means of settings, without an error.
    """

    term: Term
    difference: float
    standard_error: float | None


@lru_cache(maxsize=32)
def rival_models(runs: Runs, question: Question, known: tuple[Effects, ...] = ()) -> EffectModels:
    """The models that these runs cannot tell from the most probable one; ``known`` are those left before the last."""
    model = question.model
    found = moments(_columns(runs.levels, question), runs.values, runs.shifts)
    floor = len(runs) * (question.relevant / _FLOOR) ** 2
    if found.total + floor == 0.0:
        floor = 1.0  # all values are equal: any model without effects
    return likely_models(found, model.terms, model.owners[1:], bound=question.bound, floor=floor, starts=known)


def terms_of(model: Effects, question: Question) -> tuple[Term, ...]:
    """The effects of a model."""
    return tuple(question.model.terms[place] for place in model)


def involved(models: EffectModels, question: Question) -> tuple[int, ...]:
    """The options that are in any of the models."""
    return tuple(sorted({option for model in models.models for term in terms_of(model, question) for option in term}))


def as_rivals(models: EffectModels, shifts: int, question: Question, most: int) -> list[Rival]:
    """The most probable models by their columns in ``full_columns`` with that many shifts."""
    owners = question.model.owners[1:]
    always = np.arange(1 + shifts)
    return [
        Rival(float(p), float(v), np.concatenate([always, 1 + shifts + np.flatnonzero(np.isin(owners, model))]))
        for model, p, v in zip(models.models[:most], models.probabilities, models.variances, strict=False)
    ]


def full_columns(levels: Levels, shifts: FloatArray, question: Question) -> FloatArray:
    """Columns for the mean, the shifts (those of ``Runs.shifts``), and all effects."""
    return np.hstack([np.ones((len(levels), 1)), shifts, _columns(levels, question)])


def precisions(question: Question, shifts: int, gamma: float) -> FloatArray:
    """Those of the priors of ``full_columns`` with that many shifts, for runs of variance one."""
    parameters = len(question.model.owners) - 1
    return np.concatenate([[0.0], np.full(shifts, SHIFT**-2.0), np.full(parameters, gamma**-2.0)])


def estimates(models: EffectModels, runs: Runs, question: Question) -> tuple[Estimate, ...]:
    """The effects of the most probable model, the largest first; shrunk towards zero as much as its prior says."""
    model = question.model
    shifts = runs.shifts.shape[1]
    full = full_columns(runs.levels, runs.shifts, question)
    chosen = np.isin(model.owners[1:], models.models[0])
    always = 1 + shifts
    places = np.concatenate([np.arange(always), always + np.flatnonzero(chosen)])
    own = full[:, places]
    covariance = np.linalg.inv(own.T @ own + np.diag(precisions(question, shifts, models.gamma)[places]))
    coefficients = covariance @ (own.T @ runs.values)
    deviations = np.sqrt(models.variances[0] * np.diag(covariance))
    owners = model.owners[1:][chosen]
    found = [
        _estimate(model, term, coefficients[always:][owners == place], deviations[always:][owners == place])
        for place, term in zip(models.models[0], terms_of(models.models[0], question), strict=True)
    ]
    return tuple(sorted(found, key=lambda estimate: -abs(estimate.difference)))


def _estimate(model: Model, term: Term, coefficients: FloatArray, deviations: FloatArray) -> Estimate:
    if len(coefficients) == 1:
        return Estimate(term, 2.0 * float(coefficients[0]), 2.0 * float(deviations[0]))
    sizes = tuple(model.sizes[option] for option in term)
    cells = np.array(list(np.ndindex(*sizes)), dtype=np.int16)
    means = Model(sizes, (tuple(range(len(term))),)).matrix(cells)[:, 1:] @ coefficients
    return Estimate(term, float(np.ptp(means)), None)


@lru_cache(maxsize=16)
def _model(sizes: tuple[int, ...], order: int) -> Model:
    return Model.of_order(sizes, min(order, len(sizes)))


def _columns(levels: Levels, question: Question) -> FloatArray:
    return question.model.matrix(levels)[:, 1:]
