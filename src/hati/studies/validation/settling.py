"""Important effects of a screening that the one model left neither has nor replaces: runs that settle them.

They are judged by new runs alone, as the screening's are those that they were found by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.augmentation import augment
from hati.design.coding import Levels, Model
from hati.design.exchanging import Replication
from hati.space import Space
from hati.stats import ModelTerms, Term, holm, normal_quantile
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.conclusion import Result
from hati.studies.validation.screened import Runs, Screened
from hati.studies.validation.term_tests import ALPHA, wald_p_value, within

_STARTS = 4
_POWER = 0.8
_MOST = 100_000
_SEARCHED = 64
"""Of more runs the first so many are chosen, and repeated in turn."""


@dataclass(frozen=True)
class Settled:
    """What new runs say of an effect in doubt, in words, and how many of them would decide; None where none would."""

    result: Result
    detail: str
    needed: int | None


def settling_runs(
    space: Space,
    runs: Runs,
    model: Sequence[Term],
    doubtful: Sequence[Term],
    aliases: Sequence[Term],
    most: int,
    rng: np.random.Generator,
    replication: Replication,
) -> Levels:
    """The D-optimal ``most`` runs to estimate the effects in doubt beside the model, and apart from their aliases.

    Without the aliases where so many runs cannot tell them apart; none where no runs can be added.
    """
    own = tuple(dict.fromkeys((*model, *doubtful)))
    for terms in (tuple(dict.fromkeys((*own, *aliases))), own):
        try:
            added = augment(space, runs.levels, terms, min(most, _SEARCHED), rng, replication, _STARTS)
        except InputError:
            continue
        rows = np.asarray(added.levels[len(runs) :])
        return rows if replication is Replication.NONE else np.resize(rows, (most, rows.shape[1]))
    return runs.levels[:0]


def settled(
    sizes: Sequence[int],
    runs: Runs,
    new: NDArray[np.bool_],
    model: Sequence[Term],
    doubtful: Sequence[Term],
    screened: Screened,
) -> Mapping[Term, Settled]:
    """What the ``new`` runs, shape (runs,), say of each effect in doubt beside the model; before any, what they would.

    Confirmed is what is significant (5 %, for all of them together) and larger than what matters; refuted is what has
    an interval (95 %) that leaves nothing that matters.
    """
    if not doubtful:
        return {}
    fit = _fit(sizes, runs, new, model, doubtful)
    made = int(np.count_nonzero(new))
    contrasts = {term: fit.effect(term) for term in doubtful}
    p_values = np.ones(len(doubtful))
    if made and fit.variance:
        p_values = holm(np.array([wald_p_value(fit, fit.columns[:, fit.places[term]], term) for term in doubtful]))
    return {
        term: _judged(contrasts[term], float(p_value), fit, made, screened, len(doubtful))
        for term, p_value in zip(doubtful, p_values, strict=True)
    }


def _fit(
    sizes: Sequence[int], runs: Runs, new: NDArray[np.bool_], model: Sequence[Term], doubtful: Sequence[Term]
) -> ModelFit:
    """The model by all runs; where there are new ones, what the others say of the effects in doubt is a nuisance."""
    terms = tuple(dict.fromkeys((*model, *doubtful)))
    found = Model(tuple(sizes), terms)
    matrix = found.matrix(runs.levels)
    columns = {term: matrix[:, found.owners == found.terms.index(term)] for term in terms}
    always = [np.asarray(runs.blocks[:, None] == np.unique(runs.blocks)[None, :], dtype=np.float64)]
    if new.any():
        for term in doubtful:
            always.append(np.where(new[:, None], 0.0, columns[term]))
            columns[term] = np.where(new[:, None], columns[term], 0.0)
    return ModelFit.of(ModelTerms(np.hstack(always), columns), terms, sizes, runs.values)


def _judged(contrast: Contrast, p_value: float, fit: ModelFit, made: int, screened: Screened, family: int) -> Settled:
    relevant = screened.relevant
    needed = runs_to_settle(contrast.estimate, fit.variance, relevant, family)
    if not made:
        return Settled(Result.UNDECIDED, f"no run that could tell was made; {_would_decide(needed)}", needed)
    seen = f"{screened.sized(contrast.estimate, contrast.margin)} by {made} new runs"
    if p_value <= ALPHA and abs(contrast.estimate) > relevant:
        return Settled(Result.CONFIRMED, f"{seen}, p = {p_value:.2g}", None)
    if within(contrast, relevant):
        return Settled(Result.REFUTED, f"{seen}: smaller than what matters", None)
    if needed is not None:
        needed = max(needed, made + 1)
    return Settled(
        Result.UNDECIDED, f"{seen}: neither shown nor smaller than what matters; {_would_decide(needed)}", needed
    )


def _would_decide(needed: int | None) -> str:
    return "no affordable number of runs would decide" if needed is None else f"about {needed:,} would decide"


def runs_needed(contrasts: Sequence[Contrast], runs: int, relevant: float, family: int) -> int | None:
    """The number of runs that settle all contrasts estimated from ``runs`` like them; None where that is unknown.

    They are judged among a ``family`` of effects.
    """
    needed = [
        runs_to_settle(each.estimate, runs * each.standard_error**2 / 4.0, relevant, family)
        for each in contrasts
        if each.standard_error is not None
    ]
    known = [number for number in needed if number is not None]
    return max(known) if known and len(known) == len(contrasts) else None


def runs_to_settle(estimate: float, variance: float | None, relevant: float, family: int) -> int | None:
    """New runs that show with 80 % power an effect of that size, or that it is smaller than what matters.

    By the standard error of a two-setting effect in balanced runs, twice the deviation over the root of their number.
    To be shown it has to be significant among a ``family`` of effects (Bonferroni); its interval is for itself.
    """
    size = abs(estimate)
    shown = size > relevant
    distance = size if shown else relevant - size
    if not variance or distance <= 0.0:
        return None
    errors = normal_quantile(1.0 - ALPHA / 2.0 / (family if shown else 1)) + normal_quantile(_POWER)
    runs = math.ceil(4.0 * variance * (errors / distance) ** 2)
    return runs if runs <= _MOST else None
