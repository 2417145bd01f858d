"""What an analysed model says of the whole space, and how often its terms would be selected again."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.stats import rank_by_explained, stability
from hati.studies.screening.model_analysis import ModelAnalysis, model_terms


def ranking(analysis: ModelAnalysis, model: Model, population: Levels) -> tuple[int, ...]:
    """All options, each next one that which explains most of what the model predicts, with those before it.

    Args:
        analysis: that of the runs.
        model: the effects that were looked for.
        population: valid configurations, all or a uniform sample.
    """
    chosen = Model(model.sizes, analysis.predicting)
    return rank_by_explained(population, predicted(analysis, chosen, population))


def often_selected(analysis: ModelAnalysis, model: Model, rng: np.random.Generator) -> tuple[float, ...]:
    """How often a Lasso selects each term of the model that predicts from half of the runs, from 0 to 1.

    So few columns are let in that at a share of .75 at most one column in all is expected to be selected in vain
    (Meinshausen and Buhlmann 2010, Theorem 1).
    """
    units = analysis.units
    terms = model_terms(model, units.levels, units.blocks)
    most = math.isqrt(sum(columns.shape[1] for columns in terms.columns.values()) // 2)
    found = stability(terms, units.values(analysis.readable.values), max(1, most), rng)
    return tuple(found[term] for term in analysis.predicting)


def predicted(analysis: ModelAnalysis, chosen: Model, population: Levels) -> FloatArray:
    """What the model predicts for configurations on the deciding scale, in the mean of the blocks."""
    fit = analysis.prediction
    blocks = fit.columns.shape[1] - (chosen.parameters - 1)
    return np.asarray(chosen.matrix(population)[:, 1:] @ fit.coefficients[blocks:] + fit.coefficients[:blocks].mean())
