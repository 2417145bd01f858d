"""What all runs together say of the effects that a screening by a model told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hati.design.identified import Identified
from hati.stats import ModelTerms, Term, holm, step_down
from hati.stats.distributions import f_above
from hati.stats.projection import added_basis, spanned
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.conclusion import Result
from hati.studies.validation.prediction import ALPHA
from hati.studies.validation.screened import Runs
from hati.studies.validation.term_tests import detectable, model_columns, within

_EXACT = 1e-14
_LEAST_LEFT = 3


@dataclass(frozen=True)
class ConfirmedEffect:
    """An effect by all runs: study-wise p-value, whether it is important, and what became of the screening's claim.

    ``detectable`` is the size that is significant with 80 % power, where the runs tell; ``result`` is None where the
    screening claimed nothing of it.
    """

    term: Term
    contrast: Contrast
    p_value: float
    detectable: float | None
    important: bool
    result: Result | None


def judging_terms(known: Identified, runs: Runs, important: Sequence[Term]) -> tuple[Term, ...]:
    """The model that noise is told by: all main effects and the important ones, or these alone where runs are few."""
    own = [term for term in important if term in known.terms]
    whole = tuple(dict.fromkeys([*(term for term in known.terms if len(term) == 1), *own]))
    rank = model_columns(known, runs).basis(whole).shape[1]
    return whole if len(runs) - rank >= _LEAST_LEFT else tuple(own)


def confirmed_effects(
    known: Identified, before: Runs, runs: Runs, important: Sequence[Term], relevant: float, rng: np.random.Generator
) -> tuple[ConfirmedEffect, ...]:
    """The effects of all runs, the largest first.

    Significant is what the step-down procedure finds among all effects that are thought of. An important effect of the
    screening is confirmed where it is so again, with the same sign and larger than what matters, and where the new runs
    alone show it too: the others are those that it was found by. It is refuted only where its interval (95 %) leaves
    nothing that matters.

    Args:
        known: the effects that are thought of.
        before: the screening's runs.
        runs: these and the follow-up's.
        important: the effects that the screening called so.
        relevant: the difference that matters.
        rng: for permutations.
    """
    terms = model_columns(known, runs)
    tested = step_down(terms, runs.values, ALPHA, rng)
    claimed = [term for term in important if term in known.terms]
    told = tuple(dict.fromkeys([*tested.model, *tested.significant, *claimed]))
    fit = ModelFit.of(terms, told, known.model.sizes, runs.values)
    first = ModelFit.of(
        model_columns(known, before), judging_terms(known, before, claimed), known.model.sizes, before.values
    )
    anew = shown_anew(terms, fit, claimed, np.asarray(runs.blocks > before.blocks.max()))
    found = [
        _judged(
            term,
            fit.effect(term),
            tested.p_values.get(term, 1.0),
            detectable(fit.effect(term), terms.columns[term], fit.df, tested.critical),
            first.effect(term) if term in claimed else None,
            anew.get(term, 1.0),
            relevant,
        )
        for term in told
    ]
    return tuple(sorted(found, key=lambda effect: -abs(effect.contrast.estimate)))


def shown_anew(
    terms: ModelTerms, fit: ModelFit, claimed: Sequence[Term], new: NDArray[np.bool_]
) -> Mapping[Term, float]:
    """Each claimed effect's p-value by the new runs alone, beside the model of all runs; corrected for all (Holm 1979).

    By F tests of the effect's columns in the new runs, with the noise of all; where there is one column one-sided,
    towards the effect of all runs.

    Args:
        terms: with the columns of the claimed ones.
        fit: the model of all runs.
        claimed: the effects to look for.
        new: which runs are, shape (runs,).
    """
    if fit.variance is None or not claimed:
        return {}
    total = float(np.sum((fit.values - fit.values.mean()) ** 2))
    variance = max(fit.variance, _EXACT * total)
    found = []
    for term in claimed:
        columns = terms.columns[term]
        others = np.delete(fit.columns, np.arange(fit.columns.shape[1])[fit.places[term]], axis=1)
        anew = np.where(new[:, None], columns, 0.0)
        added = added_basis(anew, spanned(np.hstack([others, columns - anew])))
        products = added.T @ fit.values
        size = added.shape[1]
        f = float(products @ products) / size / variance if size and variance > 0.0 else 0.0
        p_value = float(f_above(np.array(f), max(size, 1), fit.df))
        if columns.shape[1] == size == 1:
            along = float(products[0]) * float(added[:, 0] @ anew[:, 0]) * fit.effect(term).estimate
            p_value = p_value / 2.0 if along > 0.0 else 1.0 - p_value / 2.0
        found.append(p_value)
    return dict(zip(claimed, holm(np.array(found)).tolist(), strict=True))


def _judged(
    term: Term,
    contrast: Contrast,
    p_value: float,
    seen: float | None,
    claimed: Contrast | None,
    anew: float,
    relevant: float,
) -> ConfirmedEffect:
    important = p_value <= ALPHA and abs(contrast.estimate) > relevant
    if claimed is None:
        result = None
    elif important and anew <= ALPHA and contrast.estimate * claimed.estimate > 0.0:
        result = Result.CONFIRMED
    else:
        result = Result.REFUTED if within(contrast, relevant) else Result.UNDECIDED
    return ConfirmedEffect(term, contrast, p_value, seen, important, result)
