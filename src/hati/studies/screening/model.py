"""Effects estimated from the runs of any design by a model, and their judgement."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.design import Levels, Model
from hati.stats import (
    Index,
    ModelTerms,
    StepDown,
    SumOfSquares,
    Term,
    anova,
    block_columns,
    confounded_with_order,
    detectable_by_pure_error,
    detectable_contrast,
    f_quantile,
    forward_selection,
    half_normal,
    step_down,
    t_quantile,
)
from hati.stats.terms import orthogonal_part
from hati.studies.screening.changes import EffectAnalysis, EffectContrast, Readable
from hati.studies.screening.conclusion import EffectScale, Noise
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.runs import Units, choose_scale_of_model, model_units

_TINY = 1e-9
_SAME = 1e-6
_CONFIDENCE = 0.95


class ModelEffect(Struct, frozen=True, eq=False):
    """An effect of a model: ``decided`` on the deciding scale, and ``own`` in the values' unit."""

    term: Term
    decided: EffectContrast
    own: EffectContrast
    share: float
    p_value: float | None
    important: bool
    half_normal: float


class ModelAnalysis(EffectAnalysis, frozen=True, eq=False, kw_only=True):
    """The analysis of any design; effects are sorted by their size, the largest first.

    ``model`` holds all effects that were sought, ``predicting`` are the terms of the predictive model, ``prediction``
    is its fit on the deciding scale, ``judged`` the fit that estimates the effects, and ``own`` the same fit in the
    values' unit; all are fits of the ``units``' values. ``readable`` holds the runs' values. ``unsought`` interactions
    were not sought because the model is large already.
    """

    effects: tuple[ModelEffect, ...]
    unsought: tuple[Term, ...]
    model: Model
    predicting: tuple[Term, ...]
    prediction: ModelFit
    judged: ModelFit
    own: ModelFit
    units: Units


def model_terms(model: Model, levels: Levels, blocks: Index, order: FloatArray | None = None) -> ModelTerms:
    """The model's columns for those runs; effects of blocks, and a linear trend over an order, are in every model."""
    return ModelTerms(always_there(blocks, order), model.columns(levels))


def always_there(blocks: Index, order: FloatArray | None) -> FloatArray:
    """The columns that are in every model: effects of blocks, then a linear trend over an order, which must vary."""
    effects = block_columns(blocks)
    if order is None:
        return effects
    return np.column_stack([effects, (order - order.mean()) / order.std()])


def analyse_model(
    model: Model,
    levels: Levels,
    values: FloatArray,
    blocks: Index,
    rng: np.random.Generator,
    *,
    alpha: float,
    relevant: float,
    machines: Index | None = None,
    order: FloatArray | None = None,
    population: ValidPopulation | None = None,
) -> ModelAnalysis:
    """Estimate and judge the effects on the mean, from the runs of any design.

    A step-down permutation test over all main effects and interactions, as one family, decides significance. Forward
    selection chooses the predictive model; the significant terms are added to it.

    Args:
        model: the effects to look for.
        levels: the settings of each run by position, shape (runs, options).
        values: one per run.
        blocks: of each run, as in ``additive_blocks``.
        rng: for the permutations.
        alpha: the study-wise error.
        relevant: the fraction that matters.
        machines: the machine of each run, or a flip on it, as in ``additive_blocks``.
        order: the place of each run in time, if known: a linear trend is then in every model.
        population: the valid configurations; by default all combinations of the settings.
    """
    units = model_units(model, levels, blocks, machines, order)
    scale, reason = choose_scale_of_model(values, model_terms(model, units.levels, units.blocks), units)
    decided = scale.decided(values)
    readable = Readable(decided, scale, float(np.mean(np.abs(values))))
    return _analysis(
        model,
        units,
        values,
        readable,
        reason,
        rng,
        alpha=alpha,
        relevant=relevant,
        population=population,
    )


def analyse_model_variance(
    model: Model,
    levels: Levels,
    log_variances: FloatArray,
    blocks: Index,
    rng: np.random.Generator,
    *,
    alpha: float,
    relevant: float,
    machines: Index | None = None,
    order: FloatArray | None = None,
    population: ValidPopulation | None = None,
) -> ModelAnalysis:
    """Estimate and judge the main effects on ln s^2, a logarithm already: fractions are of the variance s^2."""
    alone = Model(model.sizes, tuple(term for term in model.terms if len(term) == 1))
    units = model_units(alone, levels, blocks, machines, order)
    readable = Readable(log_variances, EffectScale.LOG, 0.0)
    return _analysis(
        alone,
        units,
        log_variances,
        readable,
        "ln s^2",
        rng,
        alpha=alpha,
        relevant=relevant,
        population=population,
    )


def _analysis(
    model: Model,
    units: Units,
    values: FloatArray,
    readable: Readable,
    reason: str,
    rng: np.random.Generator,
    *,
    alpha: float,
    relevant: float,
    population: ValidPopulation | None,
) -> ModelAnalysis:
    terms = model_terms(model, units.levels, units.blocks, units.order)
    decided = units.values(readable.values)
    tested = step_down(terms, decided, alpha, rng)
    terms = tested.terms
    predicting = tuple(dict.fromkeys([*forward_selection(terms, decided), *tested.significant]))
    estimated = tuple(dict.fromkeys([*tested.model, *tested.significant]))
    fitted = partial(ModelFit.of, terms, population=population or ValidPopulation.unconstrained(model.sizes))
    judged, own = (fitted(estimated, values=of) for of in (decided, units.values(values)))
    limit = partial(readable.limit, relevant)
    confounded = _confounded(terms, units)
    found = [
        replace(effect, important=effect.important and effect.term not in confounded)
        for effect in _effects(terms, estimated, tested, judged, own, alpha, limit)
    ]
    threshold, detectable = _power(tested, judged, readable.difference(relevant))
    return ModelAnalysis(
        readable=readable,
        scale_reason=reason,
        judged_by=Noise.RESIDUALS if judged.df > 0 and tested.p_values else Noise.NONE,
        effects=tuple(sorted(found, key=lambda e: (-abs(e.decided.estimate), len(e.term), e.term))),
        threshold=threshold,
        detectable=None if detectable is None else (readable.in_unit(detectable), readable.relative(detectable)),
        missing=tuple(t for t in terms.main_effects if t not in tested.p_values and terms.columns[t].shape[1]),
        unsought=tested.unsought,
        model=Model(model.sizes, tuple(terms)),
        predicting=predicting,
        prediction=fitted(predicting, values=decided),
        judged=judged,
        own=own,
        units=units,
        confounded=tuple(effect.term for effect in found if effect.term in confounded),
    )


def _confounded(terms: ModelTerms, units: Units) -> set[Term]:
    """The terms with a column that is correlated with the order of the runs."""
    if units.order is None:
        return set()
    owners = [term for term in terms for _ in range(terms.columns[term].shape[1])]
    columns = np.hstack([terms.columns[term] for term in terms])
    return {owners[place] for place in confounded_with_order(columns, units.order, units.blocks)}


def _effects(
    terms: ModelTerms,
    estimated: Sequence[Term],
    tested: StepDown,
    judged: ModelFit,
    own: ModelFit,
    alpha: float,
    limit: Callable[[EffectContrast], float],
) -> list[ModelEffect]:
    values = judged.values - judged.values[0]  # equal values become zero, without a rounding error
    tables = [anova(terms, estimated, values, kind).rows for kind in (SumOfSquares.TYPE_2, SumOfSquares.TYPE_3)]
    squares = {row.term: row.sum_of_squares for rows in tables for row in rows if row.df}
    shown = list(squares)
    contrasts = [judged.effect(term) for term in shown]
    places = half_normal(np.array([abs(contrast.estimate) for contrast in contrasts]))
    total = max(float(np.sum(orthogonal_part(values, terms.basis(())) ** 2)), sum(squares.values()))
    return [
        ModelEffect(
            term=term,
            decided=contrast,
            own=own.effect(term),
            share=squares[term] / total if total > 0.0 else 0.0,
            p_value=tested.p_values.get(term),
            important=tested.p_values.get(term, 1.0) <= alpha and abs(contrast.estimate) > limit(contrast),
            half_normal=float(place),
        )
        for term, contrast, place in zip(shown, contrasts, places, strict=True)
    ]


def _power(tested: StepDown, judged: ModelFit, limit: float) -> tuple[float | None, float | None]:
    """The size above which main effects are significant, and the size that is found with 80 % power.

    Options of each number of settings are taken at their median standard error; the sizes are the largest of these.
    """
    if judged.df < 1 or not 0.0 < tested.critical < 1.0:
        return None, None
    errors = defaultdict[int, list[float]](list)
    for term in tested.model:
        if len(term) == 1 and (error := judged.effect(term).standard_error) is not None:
            errors[judged.population.sizes[term[0]]].append(error)
    found = [
        _of_size(settings, float(np.median(own)), judged.df, tested.critical, limit)
        for settings, own in errors.items()
        if settings > 1
    ]
    if not found:
        return None, None
    return max(threshold for threshold, _ in found), max(detectable for _, detectable in found)


def _of_size(settings: int, error: float, df: int, p_value: float, limit: float) -> tuple[float, float]:
    if settings == 2:
        critical = t_quantile(1.0 - p_value / 2.0, df)
        return critical * error, detectable_by_pure_error(error, df, critical, limit)
    threshold = error * math.sqrt((settings - 1) * f_quantile(1.0 - p_value, settings - 1, df))
    return threshold, max(limit, detectable_contrast(error, settings - 1, df, p_value))
