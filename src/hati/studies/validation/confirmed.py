"""What all runs together say of the effects that a screening by a model told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from hati.design.identified import Identified
from hati.stats import ModelTerms, Term, holm, step_down
from hati.stats.distributions import f_above
from hati.stats.projection import added_basis, spanned
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.conclusion import Result
from hati.studies.validation.prediction import ALPHA
from hati.studies.validation.screened import Runs, ToldSize
from hati.studies.validation.term_tests import detectable, model_columns, within

_EXACT = 1e-14
_LEAST_LEFT = 3
_ALIKE = 2.0


class Doubt(Enum):
    """Why an important effect of the screening is not confirmed: by all runs, by the new ones, for its size."""

    NOT_SHOWN = "not shown by all runs"
    NOT_ANEW = "not shown by the new runs"
    FEW_COLUMNS = "of few columns in the new runs"
    SIZE = "of another size"


@dataclass(frozen=True)
class ShownAnew:
    """What the new runs alone say of an effect: a corrected p-value, of ``df`` of its ``of`` degrees of freedom.

    An effect of several is a claim about all of them: where the new runs hold less than half, most of it was found by
    the screening's runs alone, and what they show may be of the lesser part.
    """

    p_value: float
    df: int
    of: int

    @property
    def mostly(self) -> bool:
        """Whether they hold half of it or more."""
        return 2 * self.df >= self.of


@dataclass(frozen=True)
class Claim:
    """What became of a screening's claim: its ``size`` then, what the new runs show, and why it is not confirmed."""

    result: Result
    size: ToldSize
    anew: ShownAnew
    doubts: tuple[Doubt, ...]


@dataclass(frozen=True)
class ConfirmedEffect:
    """An effect by all runs: study-wise p-value, whether it is important, and what became of the screening's claim.

    ``detectable`` is the size that is significant with 80 % power, where the runs tell; ``claim`` is None where the
    screening claimed nothing of it.
    """

    term: Term
    contrast: Contrast
    p_value: float
    detectable: float | None
    important: bool
    claim: Claim | None

    @property
    def result(self) -> Result | None:
        """What became of the screening's claim."""
        return None if self.claim is None else self.claim.result


def judging_terms(known: Identified, runs: Runs, important: Sequence[Term]) -> tuple[Term, ...]:
    """The model that noise is told by: all main effects and the important ones, or these alone where runs are few."""
    own = [term for term in important if term in known.terms]
    whole = tuple(dict.fromkeys([*(term for term in known.terms if len(term) == 1), *own]))
    rank = model_columns(known, runs).basis(whole).shape[1]
    return whole if len(runs) - rank >= _LEAST_LEFT else tuple(own)


def confirmed_effects(
    known: Identified,
    before: Runs,
    runs: Runs,
    claims: Mapping[Term, ToldSize | None],
    relevant: float,
    rng: np.random.Generator,
) -> tuple[ConfirmedEffect, ...]:
    """The effects of all runs, the largest first.

    Significant is what the step-down procedure finds among all effects that are thought of. An important effect of the
    screening is confirmed where it is so again, with the same sign and larger than what matters, where the new runs
    alone show it too (the others are those that it was found by) and hold half of its degrees of freedom, and where its
    size agrees with that which the screening told. It is refuted only where its interval (95 %) leaves nothing that
    matters.

    Args:
        known: the effects that are thought of.
        before: the screening's runs.
        runs: these and the follow-up's.
        claims: the effects that the screening called important, and their sizes if it told them.
        relevant: the difference that matters.
        rng: for permutations.
    """
    terms = model_columns(known, runs)
    tested = step_down(terms, runs.values, ALPHA, rng)
    claimed = [term for term in claims if term in known.terms]
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
            _claim(term, first, claims[term], anew[term]) if term in claimed else None,
            relevant,
        )
        for term in told
    ]
    return tuple(sorted(found, key=lambda effect: -abs(effect.contrast.estimate)))


def _claim(term: Term, first: ModelFit, size: ToldSize | None, anew: ShownAnew) -> tuple[ToldSize, ShownAnew]:
    own = first.effect(term)
    return size or ToldSize(own.estimate, own.margin), anew


def shown_anew(
    terms: ModelTerms, fit: ModelFit, claimed: Sequence[Term], new: NDArray[np.bool_]
) -> Mapping[Term, ShownAnew]:
    """Each claimed effect's p-value by the new runs alone, beside the model of all runs; corrected for all (Holm 1979).

    By F tests of the effect's columns in the new runs, with the noise of all; where there is one column one-sided,
    towards the effect of all runs.

    Args:
        terms: with the columns of the claimed ones.
        fit: the model of all runs.
        claimed: the effects to look for.
        new: which runs are, shape (runs,).
    """
    every = {term: int(terms.columns[term].any(axis=0).sum()) for term in claimed}
    if fit.variance is None or not claimed:
        return {term: ShownAnew(1.0, 0, every[term]) for term in claimed}
    total = float(np.sum((fit.values - fit.values.mean()) ** 2))
    variance = max(fit.variance, _EXACT * total)
    found, sizes = list[float](), list[int]()
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
        sizes.append(size)
    corrected = holm(np.array(found)).tolist()
    return {
        term: ShownAnew(p_value, size, every[term])
        for term, p_value, size in zip(claimed, corrected, sizes, strict=True)
    }


def _judged(
    term: Term,
    contrast: Contrast,
    p_value: float,
    seen: float | None,
    claimed: tuple[ToldSize, ShownAnew] | None,
    relevant: float,
) -> ConfirmedEffect:
    important = p_value <= ALPHA and abs(contrast.estimate) > relevant
    if claimed is None:
        return ConfirmedEffect(term, contrast, p_value, seen, important, None)
    size, anew = claimed
    doubts = _doubts(size, anew, contrast, relevant) if important else (Doubt.NOT_SHOWN,)
    doubtful = Result.REFUTED if within(contrast, relevant) else Result.UNDECIDED
    result = doubtful if doubts else Result.CONFIRMED
    return ConfirmedEffect(term, contrast, p_value, seen, important, Claim(result, size, anew, doubts))


def _doubts(size: ToldSize, anew: ShownAnew, contrast: Contrast, relevant: float) -> tuple[Doubt, ...]:
    """Why an effect that is important by all runs is not confirmed."""
    shown = anew.p_value <= ALPHA
    return (
        *(() if agree(size, contrast, relevant) else (Doubt.SIZE,)),
        *(() if anew.mostly else (Doubt.FEW_COLUMNS,)),
        *((Doubt.NOT_ANEW,) if anew.mostly and not shown else ()),
    )


def agree(told: ToldSize, now: Contrast, relevant: float) -> bool:
    """Whether an effect has the sign that the screening told, and its size, within its interval (95 %) or what matters.

    All runs contain the screening's, so that their difference varies less than what it told. Where it had no standard
    error: within the interval of all runs, or a factor of two.
    """
    if told.estimate * now.estimate <= 0.0:
        return False
    apart = abs(told.estimate - now.estimate)
    if told.margin is not None:
        return apart <= max(told.margin, relevant)
    low, high = sorted((abs(told.estimate), abs(now.estimate)))
    return apart <= max(now.margin or 0.0, relevant) or high <= _ALIKE * low
