"""From a screening's runs to predictions for configurations that were not run."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import Better, FloatArray
from hati.design import Levels, Model, levels
from hati.space import Space
from hati.stats import Term, forward_selection
from hati.studies.recommendation.findings import ChangeScale, Findings
from hati.studies.screening.model_analysis import model_terms

_TINY = 1e-9


class Prediction(Struct, frozen=True, eq=False):
    """A fitted model of a metric, of the options that matter: ``movable`` are their positions.

    Of the model's terms only those of movable options predict: what the others do was not shown.
    """

    findings: Findings
    model: Model
    coefficients: FloatArray

    @property
    def movable(self) -> frozenset[int]:
        """The options in an important effect."""
        return frozenset(option for term in self.model.terms for option in term)

    def values(self, rows: Levels) -> FloatArray:
        """What is predicted on the deciding scale for those configurations."""
        return np.asarray(self.model.matrix(rows) @ self.coefficients)

    def in_unit(self, row: Levels) -> float:
        """What is predicted for a configuration, in the metric's unit; from logarithms the geometric mean."""
        value = float(self.values(row[None, :])[0])
        return math.exp(value) if self.findings.scale is ChangeScale.LOG else value

    def gains(self, rows: Levels, baseline: Levels) -> FloatArray:
        """How much better than the baseline: a difference of logarithms, or a part of the mean size; good above 0."""
        found = np.asarray(self.values(rows) - self.values(baseline[None, :])[0])
        if self.findings.scale is ChangeScale.RAW:
            found = found / (self.findings.typical or 1.0)
        return -found if self.findings.metric.better is Better.LOWER else found


def predict(findings: Findings, space: Space) -> Prediction:
    """Fit the important effects, their options' main effects, and what forward selection adds of those offered.

    Least squares on the deciding scale; each repetition on each machine has a mean of its own, and where the order of
    runs is known there is a linear trend over it.
    """
    sizes = tuple(len(option.settings) for option in space.options)
    places = {name: place for place, name in enumerate(space.names)}

    def term(options: tuple[str, ...]) -> Term:
        return tuple(sorted(places[name] for name in options))

    movable = {name for options in findings.important for name in options}
    needed: dict[Term, None] = dict.fromkeys((places[name],) for name in space.names if name in movable)
    needed |= dict.fromkeys(term(options) for options in findings.important)
    known = dict.fromkeys(sorted({*needed, *map(term, findings.offered)}, key=lambda t: (len(t), t)))
    offered = Model(sizes, tuple(known))
    blocks = findings.repetitions
    terms = model_terms(offered, levels(findings.configurations, space), blocks, findings.order)
    chosen = tuple(dict.fromkeys([*needed, *forward_selection(terms, findings.decided)]))
    fitted = _least_squares(np.hstack([terms.always, *(terms.columns[t] for t in chosen)]), findings.decided)
    predicting = tuple(t for t in chosen if all(space.names[option] in movable for option in t))
    starts = np.cumsum([terms.always.shape[1], *(terms.columns[t].shape[1] for t in chosen)])
    parts = [
        fitted[start:stop] for t, start, stop in zip(chosen, starts[:-1], starts[1:], strict=True) if t in predicting
    ]
    centre = float(fitted[: len(np.unique(blocks))].mean())
    return Prediction(findings, Model(sizes, predicting), np.concatenate([[centre], *parts]))


def _least_squares(columns: FloatArray, values: FloatArray) -> FloatArray:
    """The smallest solution where columns depend on each other."""
    return np.asarray(np.linalg.pinv(columns, rcond=_TINY) @ values)
