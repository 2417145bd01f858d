"""What all runs together say of the effects that a screening by a model told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.design.identified import Identified
from hati.stats import Term, step_down
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.conclusion import Result
from hati.studies.validation.prediction import ALPHA
from hati.studies.validation.screened import Runs
from hati.studies.validation.term_tests import model_columns, within

_LEAST_LEFT = 3


@dataclass(frozen=True)
class ConfirmedEffect:
    """An effect by all runs: study-wise p-value, whether it is important, and what became of the screening's claim.

    ``result`` is None where the screening claimed nothing of it.
    """

    term: Term
    contrast: Contrast
    p_value: float
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
    screening is confirmed where it is so again, with the same sign and larger than what matters; it is refuted only
    where its interval (95 %) leaves nothing that matters.

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
    found = [
        _judged(
            term,
            fit.effect(term),
            tested.p_values.get(term, 1.0),
            first.effect(term) if term in claimed else None,
            relevant,
        )
        for term in told
    ]
    return tuple(sorted(found, key=lambda effect: -abs(effect.contrast.estimate)))


def _judged(
    term: Term, contrast: Contrast, p_value: float, claimed: Contrast | None, relevant: float
) -> ConfirmedEffect:
    important = p_value <= ALPHA and abs(contrast.estimate) > relevant
    if claimed is None:
        result = None
    elif important and contrast.estimate * claimed.estimate > 0.0:
        result = Result.CONFIRMED
    else:
        result = Result.REFUTED if within(contrast, relevant) else Result.UNDECIDED
    return ConfirmedEffect(term, contrast, p_value, important, result)
