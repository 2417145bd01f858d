"""The models that runs cannot distinguish, and the next runs, which discriminate them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import isinf, log, prod

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, Setting, generator
from hati.design.coding import Levels, Model, levels
from hati.design.rival_models import Predictions, Rival, discriminating_runs, one_by_one, predictions, separations
from hati.space import Space, sample
from hati.stats import Term
from hati.stats.probable_models import BOUND, SHIFT, EffectModels, Effects, likely_models, moments
from hati.studies.screening.population import Cell, ValidPopulation
from hati.studies.validation.screened import Runs

_FLOOR = 4.0
"""Noise below the relevant size divided by this does not count: smaller differences are not distinguished."""
_MOST_EFFECTS = 3000


class ModelQuestion(Struct, frozen=True):
    """The question about runs: options with ``sizes`` settings each, effects up to ``order``, odds of ``bound``.

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
        """All effects that are considered."""
        return _model(self.sizes, self.order)


class Estimate(Struct, frozen=True, eq=False):
    """An effect in a model, on the deciding scale: a two-setting option's second mean minus its first.

    For an option with more settings, it is the largest difference between the means of settings, without an error. The
    difference is from a mean of ``base``; that of an interaction of such options is from the mean of all.
    """

    term: Term
    difference: float
    standard_error: float | None
    base: float


@lru_cache(maxsize=32)
def rival_models(runs: Runs, question: ModelQuestion, known: tuple[Effects, ...] = ()) -> EffectModels:
    """The models that runs cannot distinguish from the most probable one; ``known`` remained before the last runs."""
    model = question.model
    found = moments(_columns(runs.levels, question), runs.values, runs.shifts)
    floor = len(runs) * (question.relevant / _FLOOR) ** 2
    if found.total + floor == 0.0:
        floor = 1.0  # all values are equal: any floor selects the model without effects
    return likely_models(found, model.terms, model.owners[1:], bound=question.bound, floor=floor, starts=known)


def terms_of(model: Effects, question: ModelQuestion) -> tuple[Term, ...]:
    """The effects of a model."""
    return tuple(question.model.terms[place] for place in model)


def involved(models: EffectModels, question: ModelQuestion) -> tuple[int, ...]:
    """The options that are in any of the models."""
    return tuple(sorted({option for model in models.models for term in terms_of(model, question) for option in term}))


def as_rivals(models: EffectModels, shifts: int, question: ModelQuestion, most: int) -> list[Rival]:
    """The ``most`` most probable models, by their columns in ``full_columns`` with that many shifts."""
    owners = question.model.owners[1:]
    always = np.arange(1 + shifts)
    return [
        Rival(float(p), float(v), np.concatenate([always, 1 + shifts + np.flatnonzero(np.isin(owners, model))]))
        for model, p, v in zip(models.models[:most], models.probabilities, models.variances, strict=False)
    ]


def full_columns(levels: Levels, shifts: FloatArray, question: ModelQuestion) -> FloatArray:
    """Columns for the mean, the shifts (those of ``Runs.shifts``), and all effects."""
    return np.hstack([np.ones((len(levels), 1)), shifts, _columns(levels, question)])


def precisions(question: ModelQuestion, shifts: int, gamma: float) -> FloatArray:
    """The precisions of the priors of ``full_columns`` with that many shifts, for runs of variance one."""
    parameters = len(question.model.owners) - 1
    return np.concatenate([[0.0], np.full(shifts, SHIFT**-2.0), np.full(parameters, gamma**-2.0)])


def estimates(
    models: EffectModels, runs: Runs, question: ModelQuestion, population: ValidPopulation
) -> tuple[Estimate, ...]:
    """The effects of the most probable model, the largest first, shrunk towards zero by its prior.

    Means are taken over the configurations of a ``population``.
    """
    model = question.model
    shifts = runs.shifts.shape[1]
    full = full_columns(runs.levels, runs.shifts, question)
    chosen, terms = np.isin(model.owners[1:], models.models[0]), terms_of(models.models[0], question)
    always = 1 + shifts
    places = np.concatenate([np.arange(always), always + np.flatnonzero(chosen)])
    own = full[:, places]
    covariance = np.linalg.inv(own.T @ own + np.diag(precisions(question, shifts, models.gamma)[places]))
    coefficients = covariance @ (own.T @ runs.values)
    deviations = np.sqrt(models.variances[0] * np.diag(covariance))
    owners = model.owners[1:][chosen]
    of_terms = {
        term: always + np.flatnonzero(owners == place) for place, term in zip(models.models[0], terms, strict=True)
    }

    def mean(cells: Sequence[Cell]) -> float:
        """The mean at those settings, each cell being as frequent as the others."""
        found = (population.means(terms, cell) for cell in cells)
        parts = [float(weights @ coefficients[of_terms[term]]) for each in found for term, weights in each.items()]
        return float(coefficients[0]) + sum(parts) / len(cells)

    found = [_estimate(model, term, coefficients[at], deviations[at], mean) for term, at in of_terms.items()]
    return tuple(sorted(found, key=lambda estimate: -abs(estimate.difference)))


def _estimate(
    model: Model, term: Term, coefficients: FloatArray, deviations: FloatArray, mean: Callable[[Sequence[Cell]], float]
) -> Estimate:
    sizes = tuple(model.sizes[option] for option in term)
    rows = np.array(list(np.ndindex(*sizes)), dtype=np.int16)
    cells: list[Cell] = [dict(zip(term, map(int, row), strict=True)) for row in rows]
    columns = Model(sizes, (tuple(range(len(term))),)).matrix(rows)[:, 1:]
    if len(coefficients) == 1:
        base = mean([cell for cell, column in zip(cells, columns[:, 0], strict=True) if column < 0.0])
        return Estimate(term, 2.0 * float(coefficients[0]), 2.0 * float(deviations[0]), base)
    means = columns @ coefficients
    base = mean([cells[int(np.argmin(means))]] if len(term) == 1 else cells)
    return Estimate(term, float(np.ptp(means)), None, base)


@lru_cache(maxsize=16)
def _model(sizes: tuple[int, ...], order: int) -> Model:
    return Model.of_order(sizes, min(order, len(sizes)))


def _columns(levels: Levels, question: ModelQuestion) -> FloatArray:
    return question.model.matrix(levels)[:, 1:]


FEWEST = 4
SIZES = (4, 6, 8, 12, 16)
_CANDIDATES = 128
_RIVALS = 20
_SURE = 2.0
"""A follow-up is large enough if the expected logarithm of the odds is this multiple of that of the bound."""


@lru_cache(maxsize=32)
def follow_up(
    models: EffectModels,
    runs: Runs,
    question: ModelQuestion,
    space: Space,
    most: int,
    seed: int,
    stage: str,
    repeats: float,
) -> tuple[Configuration, ...]:
    """The configurations of the smallest follow-up that is expected to be enough, the best ones first.

    Runs vary the options that are in any of the models; all others keep their default, so that nothing else changes
    within a follow-up. If eight runs or more are left, four are kept for surprises.

    Args:
        models: the remaining ones, at least two.
        runs: the runs so far.
        question: about the runs.
        space: the options.
        most: the largest number of runs.
        seed: for candidates and starts.
        stage: the follow-up's name.
        repeats: the largest useful number of runs of a configuration.

    Raises:
        InputError: if too few configurations are left to measure.
    """
    from scipy.linalg import block_diag  # slow to load

    random = generator(seed, stage)
    every = candidate_configurations(space, involved(models, question), random)
    candidates = _left(every, runs, space, repeats)
    each = None if isinf(repeats) else 1
    ahead = levels(candidates, space)
    shifts = block_diag(runs.shifts, np.ones((len(ahead), 1)))
    before, after = shifts[: len(runs)], shifts[len(runs) :]
    found = predictions(
        full_columns(runs.levels, before, question),
        runs.values,
        full_columns(ahead, after, question),
        precisions(question, shifts.shape[1], models.gamma),
        as_rivals(models, shifts.shape[1], question, _RIVALS),
    )
    most = most - FEWEST if most >= 2 * FEWEST else most
    most = most if each is None else min(most, len(candidates))
    size = _enough(found, one_by_one(found, most, each), models, question)
    best = discriminating_runs(found, size, random, starts=2, most_each=each)
    return tuple(candidates[row] for row in best.rows)


def _enough(found: Predictions, rows: list[int], models: EffectModels, question: ModelQuestion) -> int:
    """The fewest of those runs, taken in order, that are expected to exclude as many models as all of them."""
    sizes = sorted({*(size for size in SIZES if size < len(rows)), len(rows)})
    wanted = _SURE * log(question.bound)
    expected_odds = [
        int(np.sum(apart[0, 1:] - models.log_odds[1 : len(apart)] >= wanted))
        for apart in (separations(found, rows[:size]) for size in sizes)
    ]
    return sizes[expected_odds.index(max(expected_odds))]


def _left(candidates: tuple[Configuration, ...], runs: Runs, space: Space, repeats: float) -> tuple[Configuration, ...]:
    """The candidates with fewer runs than ``repeats``.

    Raises:
        InputError: if there is none.
    """
    made = Counter(row.tobytes() for row in runs.levels)
    rows = levels(candidates, space)
    left = tuple(c for c, row in zip(candidates, rows, strict=True) if made[row.tobytes()] < repeats)
    if not left:
        raise InputError("every configuration that could distinguish the models was measured already")
    return left


def candidate_configurations(
    space: Space, options: tuple[int, ...], random: np.random.Generator
) -> tuple[Configuration, ...]:
    """Every combination of those options' settings with the others at their default, or a sample of them.

    If the space has constraints or nested options, they are valid configurations, drawn uniformly.
    """
    if space.constraints or any(option.active_if is not None for option in space.options):
        return tuple(dict.fromkeys(sample(space, _CANDIDATES, random)))
    chosen = [space.options[place] for place in options]
    settings = [option.settings for option in chosen]
    if prod(len(own) for own in settings) <= _CANDIDATES:
        rows = list(product(*settings))
    else:
        drawn = [tuple(own[int(i)] for own, i in zip(settings, row, strict=True)) for row in _draw(settings, random)]
        rows = list(dict.fromkeys(drawn))
    return tuple(space.canonical(dict(zip((option.name for option in chosen), row, strict=True))) for row in rows)


def _draw(settings: Sequence[tuple[Setting, ...]], random: np.random.Generator) -> np.ndarray[tuple[int, int]]:
    return random.integers(0, [len(own) for own in settings], (_CANDIDATES, len(settings)))
