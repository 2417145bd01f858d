"""Tests, by all runs together, of a screening's effects and of its model's assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, replace
from hati.design.information import Identified
from hati.stats import ModelTerms, Term, detectable_contrast, holm, step_down
from hati.stats.distributions import f_above
from hati.stats.terms import LEAST_LEFT, added_basis, spanned
from hati.studies.screening.changes import EffectContrast
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.validation.conclusion import CONFOUNDED, Result
from hati.studies.validation.screened import ALPHA, Runs, ScreenedSize

_EXACT = 1e-14


class TermTest(Struct, frozen=True):
    """The test of a term: its contrast, and the p-value corrected for all terms (Holm 1979).

    ``detectable`` is the size of a contrast that is significant with 80 % power, None without a standard error.
    ``sum_of_squares`` is that of type III: of the term given all others (RES paper, 4.5.1).
    """

    contrast: EffectContrast
    p_value: float
    detectable: float | None
    sum_of_squares: float


def model_columns(known: Identified, runs: Runs) -> ModelTerms:
    """The columns that the space can distinguish, for those runs; means of blocks and trends are always included."""
    return ModelTerms(runs.nuisance, known.columns(runs.levels))


def term_tests(known: Identified, population: ValidPopulation, runs: Runs) -> Mapping[Term, TermTest]:
    """F tests of all terms by least squares; empty if the runs cannot estimate all of them, or leave no residual."""
    terms = model_columns(known, runs)
    fit = ModelFit.of(terms, known.terms, replace(population, known=known), runs.values)
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


def detectable(contrast: EffectContrast, columns: FloatArray, df: int, p_value: float) -> float | None:
    """The size of a term's contrast that is significant with 80 % power, None without a standard error."""
    if contrast.standard_error is None or df < 1:
        return None
    return detectable_contrast(contrast.standard_error, int(columns.any(axis=0).sum()), df, p_value)


def within(contrast: EffectContrast, limit: float) -> bool:
    """Whether the whole interval of a contrast is within a limit."""
    return contrast.margin is not None and abs(contrast.estimate) + contrast.margin < limit


def wald_p_value(fit: ModelFit, columns: FloatArray, term: Term, variance: float | None = None) -> float:
    """The p-value of Wald's test of all a term's coefficients: with normal noise, the F test of its sum of squares.

    The fit's own variance is used if none is given.
    """
    variance = fit.variance or 0.0 if variance is None else variance
    explained, df = _explained(fit, columns, term)
    f = explained / df / variance if variance > 0.0 else 0.0
    return float(f_above(np.array(f), df, fit.df))


def _explained(fit: ModelFit, columns: FloatArray, term: Term) -> tuple[float, int]:
    """The sum of squares of a term given all others, and its number of coefficients."""
    place = np.arange(fit.columns.shape[1])[fit.places[term]][columns.any(axis=0)]
    own = fit.coefficients[place]
    return float(own @ np.linalg.solve(fit.inverse[np.ix_(place, place)], own)), len(place)


_ALIKE = 2.0


class Doubt(Enum):
    """A reason why an important effect of the screening is not confirmed: by all runs, by the new ones, or by size."""

    NOT_SHOWN = "not shown by all runs"
    NOT_BY_NEW_RUNS = "not shown by the new runs"
    FEW_COLUMNS = "of few columns in the new runs"
    SIZE = "of another size"
    ORDER = CONFOUNDED


class NewRunsTest(Struct, frozen=True):
    """The test of an effect by the new runs alone: a corrected p-value, for ``df`` of its ``of`` degrees of freedom.

    An effect of several degrees of freedom is a claim about all of them. If the new runs hold less than half, most of
    it was found by the screening's runs alone, and the new runs may show only the smaller part.
    """

    p_value: float
    df: int
    of: int

    @property
    def mostly(self) -> bool:
        """Whether the new runs hold half of the degrees of freedom or more."""
        return 2 * self.df >= self.of


class TestedClaim(Struct, frozen=True):
    """The result for a screening's claim: its ``size`` there, the test by the new runs, and doubts that remain."""

    result: Result
    size: ScreenedSize
    new_runs: NewRunsTest
    doubts: tuple[Doubt, ...]


class ConfirmedEffect(Struct, frozen=True):
    """An effect by all runs: study-wise p-value, whether it is important, and the result for the screening's claim.

    ``critical`` is the p-value of a single test below which it would be significant, ``detectable`` the size that is
    significant with 80 % power, if the runs determine it; ``claim`` is None if the screening did not claim the
    effect. A ``confounded`` effect may be drift over the order of runs: it is not important. ``ends`` are the places of
    the settings between which a single option's effect is; None for interactions.
    """

    term: Term
    contrast: EffectContrast
    p_value: float
    critical: float
    detectable: float | None
    important: bool
    claim: TestedClaim | None
    confounded: bool = False
    ends: tuple[int, int] | None = None

    def by_drift(self) -> ConfirmedEffect:
        """The same effect, confounded: drift may have caused or hidden it, and a claim about it is undecided."""
        claim = self.claim and replace(self.claim, result=Result.UNDECIDED, doubts=(Doubt.ORDER,))
        return replace(self, important=False, claim=claim, confounded=True)

    @property
    def result(self) -> Result | None:
        """The result for the screening's claim; None without one."""
        return None if self.claim is None else self.claim.result


def judging_terms(known: Identified, runs: Runs, important: Sequence[Term]) -> tuple[Term, ...]:
    """The model that estimates the noise: all main effects and the important ones, or only the latter with few runs."""
    own = [term for term in important if term in known.terms]
    whole = tuple(dict.fromkeys([*(term for term in known.terms if len(term) == 1), *own]))
    rank = model_columns(known, runs).basis(whole).shape[1]
    return whole if len(runs) - rank >= LEAST_LEFT else tuple(own)


def confirmed_effects(
    known: Identified,
    population: ValidPopulation,
    before: Runs,
    runs: Runs,
    claims: Mapping[Term, ScreenedSize | None],
    limit: Callable[[EffectContrast], float],
    rng: np.random.Generator,
) -> tuple[ConfirmedEffect, ...]:
    """The effects of all runs, the largest first.

    The step-down procedure over all considered effects decides significance. An important effect of the screening is
    confirmed if it is significant again, with the same sign and larger than the relevant size; if the new runs alone,
    by which it was not found, show it too and hold half of its degrees of freedom; and if its size agrees with the one
    that the screening reported. It is refuted only if its interval (95 %) excludes all relevant sizes. An effect that
    is confounded with the order of all runs, or of the new ones, is undecided.

    Args:
        known: the considered effects.
        population: the valid configurations, over which means are taken.
        before: the screening's runs.
        runs: these and the follow-up's.
        claims: the effects that the screening called important, and their sizes if it reported them.
        limit: the difference that matters between the means that a contrast compares.
        rng: for permutations.
    """
    tested = step_down(model_columns(known, runs), runs.values, ALPHA, rng)
    terms, population = tested.terms, replace(population, known=known)
    claimed = [term for term in claims if term in known.terms]
    reported = tuple(dict.fromkeys([*tested.model, *tested.significant, *claimed]))
    fit = ModelFit.of(terms, reported, population, runs.values)
    first = ModelFit.of(model_columns(known, before), judging_terms(known, before, claimed), population, before.values)
    new_runs = new_runs_tests(terms, fit, claimed, np.arange(len(runs)) >= len(before))
    found = [
        _judged(
            term,
            fit.effect(term),
            tested.p_values.get(term, 1.0),
            tested.critical / tested.weights.get(term, 1.0),
            detectable(fit.effect(term), terms.columns[term], fit.df, tested.critical),
            _claim(term, first, claims[term], new_runs[term]) if term in claimed else None,
            limit(fit.effect(term)),
        )
        for term in reported
    ]
    new = runs.since(len(before))
    confounded = {
        *runs.confounded({term: terms.columns[term] for term in reported}),
        *new.confounded({term: terms.columns[term][len(before) :] for term in claimed}),
    }
    found = [replace(effect, ends=_ends(fit, effect.term)) for effect in found]
    found = [effect.by_drift() if effect.term in confounded else effect for effect in found]
    return tuple(sorted(found, key=lambda effect: -abs(effect.contrast.estimate)))


def _ends(fit: ModelFit, term: Term) -> tuple[int, int] | None:
    """The settings between which an option's effect is, by position; None if the runs distinguish no two."""
    change = fit.change(term[0]) if len(term) == 1 else None
    return None if change is None else (change.before, change.after)


def _claim(
    term: Term, first: ModelFit, size: ScreenedSize | None, new_runs: NewRunsTest
) -> tuple[ScreenedSize, NewRunsTest]:
    own = first.effect(term)
    return size or ScreenedSize(own.estimate, own.margin), new_runs


def new_runs_tests(
    terms: ModelTerms, fit: ModelFit, claimed: Sequence[Term], new: NDArray[np.bool_]
) -> Mapping[Term, NewRunsTest]:
    """Each claimed effect's p-value by the new runs alone, given the model of all runs; corrected for all (Holm 1979).

    These are F tests of the effect's columns in the new runs, with the noise of all runs; for a single column, the test
    is one-sided in the direction of the effect of all runs.

    Args:
        terms: with the columns of the claimed ones.
        fit: the model of all runs.
        claimed: the effects to test.
        new: whether each run is new, shape (runs,).
    """
    every = {term: int(terms.columns[term].any(axis=0).sum()) for term in claimed}
    if fit.variance is None or not claimed:
        return {term: NewRunsTest(1.0, 0, every[term]) for term in claimed}
    total = float(np.sum((fit.values - fit.values.mean()) ** 2))
    variance = max(fit.variance, _EXACT * total)
    found, sizes = list[float](), list[int]()
    for term in claimed:
        columns = terms.columns[term]
        others = np.delete(fit.columns, np.arange(fit.columns.shape[1])[fit.places[term]], axis=1)
        new_columns = np.where(new[:, None], columns, 0.0)
        added = added_basis(new_columns, spanned(np.hstack([others, columns - new_columns])))
        products = added.T @ fit.values
        size = added.shape[1]
        f = float(products @ products) / size / variance if size and variance > 0.0 else 0.0
        p_value = float(f_above(np.array(f), max(size, 1), fit.df))
        if columns.shape[1] == size == 1:
            along = float(products[0]) * float(added[:, 0] @ new_columns[:, 0]) * fit.effect(term).estimate
            p_value = p_value / 2.0 if along > 0.0 else 1.0 - p_value / 2.0
        found.append(p_value)
        sizes.append(size)
    corrected = holm(np.array(found)).tolist()
    return {
        term: NewRunsTest(p_value, size, every[term])
        for term, p_value, size in zip(claimed, corrected, sizes, strict=True)
    }


def _judged(
    term: Term,
    contrast: EffectContrast,
    p_value: float,
    critical: float,
    seen: float | None,
    claimed: tuple[ScreenedSize, NewRunsTest] | None,
    relevant: float,
) -> ConfirmedEffect:
    important = p_value <= ALPHA and abs(contrast.estimate) > relevant
    if claimed is None:
        return ConfirmedEffect(term, contrast, p_value, critical, seen, important, None)
    size, new_runs = claimed
    doubts = _doubts(size, new_runs, contrast, relevant) if important else (Doubt.NOT_SHOWN,)
    doubtful = Result.REFUTED if within(contrast, relevant) else Result.UNDECIDED
    result = doubtful if doubts else Result.CONFIRMED
    return ConfirmedEffect(
        term, contrast, p_value, critical, seen, important, TestedClaim(result, size, new_runs, doubts)
    )


def _doubts(size: ScreenedSize, new_runs: NewRunsTest, contrast: EffectContrast, relevant: float) -> tuple[Doubt, ...]:
    """The reasons why an effect that is important by all runs is not confirmed."""
    shown = new_runs.p_value <= ALPHA
    return (
        *(() if agree(size, contrast, relevant) else (Doubt.SIZE,)),
        *(() if new_runs.mostly else (Doubt.FEW_COLUMNS,)),
        *((Doubt.NOT_BY_NEW_RUNS,) if new_runs.mostly and not shown else ()),
    )


def agree(reported: ScreenedSize, now: EffectContrast, relevant: float) -> bool:
    """Whether an effect has the screening's sign and size, within its interval (95 %) or the relevant size.

    All runs contain the screening's, so that the difference varies less than the reported size. If the screening gave
    no standard error, sizes agree within the interval of all runs, or within a factor of two.
    """
    if reported.estimate * now.estimate <= 0.0:
        return False
    apart = abs(reported.estimate - now.estimate)
    if reported.margin is not None:
        return apart <= max(reported.margin, relevant)
    low, high = sorted((abs(reported.estimate), abs(now.estimate)))
    return apart <= max(now.margin or 0.0, relevant) or high <= _ALIKE * low
