"""What an analysed model says of the whole space, and how often its terms would be selected again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hati.core import FloatArray
from hati.design import Levels
from hati.stats import averaged_model, ordered_settings, rank_by_explained, stability, unordered_settings
from hati.studies.screening.model_analysis import ModelAnalysis, model_terms

if TYPE_CHECKING:
    from hati.space import Option


def ranking(analysis: ModelAnalysis, population: Levels, options: Sequence[Option]) -> tuple[int, ...]:
    """All options, ranked by what they explain of the predictions of an average over models.

    A single chosen model is certain of what it has and blind for what it lacks: where options have several settings, an
    interaction that is chosen early takes the place of a main effect, which is then ranked last.

    Args:
        analysis: that of the runs.
        population: valid configurations, all or a uniform sample.
        options: the space's.
    """
    fit = analysis.prediction
    model = averaged_model(analysis.units.levels, [_alike(option) for option in options], fit.always, fit.values)
    return rank_by_explained(population, model.predicted(population))


def _alike(option: Option) -> FloatArray:
    """How alike the settings of an option are: numbers have an order."""
    if not option.kind.numeric:
        return unordered_settings(len(option.settings))
    numbers = np.array(option.settings, dtype=np.float64)
    return ordered_settings(np.argsort(np.argsort(numbers)).tolist())


def often_selected(analysis: ModelAnalysis, rng: np.random.Generator) -> tuple[float, ...]:
    """How often a Lasso selects each term of the model that predicts from half of the runs, from 0 to 1.

    So few columns are let in that at a share of .75 at most one column in all is expected to be selected in vain
    (Meinshausen and Buhlmann 2010, Theorem 1).
    """
    units = analysis.units
    terms = model_terms(analysis.model, units.levels, units.blocks, units.order)
    most = math.isqrt(sum(columns.shape[1] for columns in terms.columns.values()) // 2)
    found = stability(terms, units.values(analysis.readable.values), max(1, most), rng)
    return tuple(found[term] for term in analysis.predicting)
