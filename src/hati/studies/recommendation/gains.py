"""What a screening says of the gains of single settings at the default configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, FloatArray, Setting
from hati.design import Model, levels
from hati.space import Space
from hati.stats import ModelTerms, Term, t_quantile
from hati.studies.recommendation.findings import ChangeScale, Findings
from hati.studies.screening.model_analysis import always_there
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.model_units import model_units

Flip = tuple[str, Setting]
"""An option and another setting than the start's."""

_SAME = 1e-6


class Gains(Struct, frozen=True, eq=False):
    """Estimated gains, shape (flips,), above 0 where they are good, with their standard errors.

    Differences of logarithms, or fractions of the mean size. The error of a gain that the runs do not determine is
    infinite, and so are all where ``df``, the residual degrees of freedom, are zero.
    """

    estimates: FloatArray
    errors: FloatArray
    df: int

    def bounds(self, confidence: float) -> FloatArray:
        """Each gain's upper one-sided limit."""
        return self.estimates + (t_quantile(confidence, self.df) if self.df else 1.0) * self.errors

    @property
    def order(self) -> list[int]:
        """The places of the flips, the most promising first: by the gain and its error, where that is finite."""
        promising = self.estimates + np.where(np.isfinite(self.errors), self.errors, 0.0)
        return [int(place) for place in np.argsort(-promising, kind="stable")]


def gains(space: Space, findings: Findings, start: Configuration, flips: Sequence[Flip]) -> Gains:
    """The gain of each flip at the start, by the model of the main effects and the important interactions.

    Where an option dominates all interactions with it are in the model: next to it they are small, and so not shown,
    but the gains at its default may be twice their averages.
    Machines and repetitions are blocks, and a linear trend over the order of runs is in the model, as in the screening.
    Of the gains that the runs do not determine the smallest are taken: that of a setting that was never run is zero
    where its option has two settings.
    """
    model = _model(space, findings)
    usual = model.columns(levels([start], space))
    fit = _fit(model, usual, findings, space)
    flipped = model.columns(levels([space.canonical({**start, name: setting}) for name, setting in flips], space))
    weights = np.zeros((len(flips), fit.columns.shape[1]))
    for term, place in fit.places.items():
        weights[:, place] = flipped[term] - usual[term]
    sign = -1.0 if findings.metric.better is Better.LOWER else 1.0
    size = 1.0 if findings.scale is ChangeScale.LOG else findings.typical or 1.0
    return Gains(sign / size * (weights @ fit.coefficients), _errors(fit, weights) / size, fit.df)


def _model(space: Space, findings: Findings) -> Model:
    places = {name: place for place, name in enumerate(space.names)}
    important = [named for named in findings.important if len(named) > 1]
    if findings.dominating:
        important += [(findings.dominating, name) for name in places if name != findings.dominating]
    interactions = (tuple(sorted(places[name] for name in named)) for named in important)
    terms = dict.fromkeys([*((place,) for place in range(len(places))), *interactions])
    return Model(tuple(len(option.settings) for option in space.options), tuple(terms))


def _fit(model: Model, usual: Mapping[Term, FloatArray], findings: Findings, space: Space) -> ModelFit:
    """Columns are differences from those of the start, so that the smallest coefficients are the smallest gains.

    Means of configurations are cleared of the blocks of their runs, and so are then their places in time.
    """
    of_runs = levels(findings.configurations, space)
    units = model_units(model, of_runs, findings.repetitions, findings.machines, findings.order)
    columns = {term: own - usual[term] for term, own in model.columns(units.levels).items()}
    terms = ModelTerms(always_there(units.blocks, units.order), columns)
    return ModelFit.of(terms, model.terms, model.sizes, units.values(findings.decided))


def _errors(fit: ModelFit, weights: FloatArray) -> FloatArray:
    """The standard error of each combination of coefficients; infinite where the values do not determine it."""
    if fit.variance is None:
        return np.full(len(weights), math.inf)
    squares = np.clip(np.einsum("ij,jk,ik->i", weights, fit.inverse, weights), 0.0, None)
    determined = np.isclose(weights @ fit.estimable, weights, atol=_SAME).all(axis=1)
    return np.where(determined, np.sqrt(fit.variance * squares), math.inf)
