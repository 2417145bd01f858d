"""Every term of a model tested beside all others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design.identified import Identified
from hati.stats import ModelTerms, Term, detectable_contrast, holm
from hati.stats.distributions import f_above
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.screened import Runs

ALPHA = 0.05
_EXACT = 1e-14


class TermTest(Struct, frozen=True):
    """What a fit says of a term: its contrast, and the p-value corrected for all terms (Holm 1979).

    ``detectable`` is the size of a contrast that is significant with 80 % power, None without a standard error.
    ``sum_of_squares`` is that of type III: what the term explains beside all others (RES paper, 4.5.1).
    """

    contrast: Contrast
    p_value: float
    detectable: float | None
    sum_of_squares: float


def model_columns(known: Identified, runs: Runs) -> ModelTerms:
    """The columns that the space can tell apart for those runs; means of blocks and trends are always there."""
    return ModelTerms(runs.nuisance, known.columns(runs.levels))


def term_tests(known: Identified, runs: Runs) -> Mapping[Term, TermTest]:
    """F tests of all terms by least squares; none where the runs cannot estimate all of them, or leave no residual."""
    terms = model_columns(known, runs)
    fit = ModelFit.of(terms, known.terms, known.model.sizes, runs.values)
    parameters = terms.always.shape[1] + len(known.kept) - 1
    if fit.df < 1 or len(runs) - fit.df < parameters:
        return {}
    total = float(np.sum((runs.values - runs.values.mean()) ** 2))
    variance = max(fit.variance or 0.0, _EXACT * total / fit.df)
    p_values = holm(np.array([wald_p_value(fit, terms.columns[term], term, variance) for term in known.terms]))
    contrasts = [fit.effect(term) for term in known.terms]
    return {
        term: TermTest(
            contrast,
            float(p_value),
            detectable(contrast, terms.columns[term], fit.df, ALPHA / len(p_values)),
            _explained(fit, terms.columns[term], term)[0],
        )
        for term, contrast, p_value in zip(known.terms, contrasts, p_values, strict=True)
    }


def detectable(contrast: Contrast, columns: FloatArray, df: int, p_value: float) -> float | None:
    """The size of a term's contrast that is significant with 80 % power, None without a standard error."""
    if contrast.standard_error is None or df < 1:
        return None
    return detectable_contrast(contrast.standard_error, int(columns.any(axis=0).sum()), df, p_value)


def within(contrast: Contrast, limit: float) -> bool:
    """Whether all that an interval leaves of a contrast is smaller than a limit."""
    return contrast.margin is not None and abs(contrast.estimate) + contrast.margin < limit


def wald_p_value(fit: ModelFit, columns: FloatArray, term: Term, variance: float | None = None) -> float:
    """Wald's test of all the term's coefficients together: with normal noise the F test of its sum of squares.

    With the fit's own variance where none is given.
    """
    variance = fit.variance or 0.0 if variance is None else variance
    explained, df = _explained(fit, columns, term)
    f = explained / df / variance if variance > 0.0 else 0.0
    return float(f_above(np.array(f), df, fit.df))


def _explained(fit: ModelFit, columns: FloatArray, term: Term) -> tuple[float, int]:
    """What a term explains beside all others, and by how many coefficients."""
    place = np.arange(fit.columns.shape[1])[fit.places[term]][columns.any(axis=0)]
    own = fit.coefficients[place]
    return float(own @ np.linalg.solve(fit.inverse[np.ix_(place, place)], own)), len(place)
