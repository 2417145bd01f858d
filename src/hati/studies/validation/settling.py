"""Important effects of a screening that the one model left neither has nor replaces: runs that settle them.

They are judged by new runs alone, as the screening's are those that they were found by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError
from hati.design.augmentation import augment
from hati.design.coding import Levels, Model
from hati.design.exchanging import Replication
from hati.space import Space
from hati.stats import ModelTerms, Term, holm
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.validation.conclusion import CONFOUNDED, Result
from hati.studies.validation.open_effects import OpenEffect, runs_to_decide
from hati.studies.validation.screened import Runs, Screened
from hati.studies.validation.term_tests import ALPHA, wald_p_value, within

_STARTS = 4
_SEARCHED = 64
"""Of more runs the first so many are chosen, and repeated in turn."""


class Settled(Struct, frozen=True):
    """What new runs say of an effect in doubt, in words; ``open`` is what would decide where that is known."""

    result: Result
    detail: str
    open: OpenEffect | None


_DRIFT = Settled(Result.UNDECIDED, CONFOUNDED, None)


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
    first: int,
    model: Sequence[Term],
    doubtful: Sequence[Term],
    screened: Screened,
) -> Mapping[Term, Settled]:
    """What new runs, from the ``first`` on, say of each effect in doubt next to the model; before any, what they would.

    Confirmed is what is significant (5 %, for all of them together) and larger than what matters; refuted is what has
    an interval (95 %) that leaves nothing that matters. Of what is confounded with their order nothing is decided.
    """
    if not doubtful:
        return {}
    new = np.arange(len(runs)) >= first
    later = runs.since(first)
    confounded = later.confounded(Model(tuple(sizes), tuple(doubtful)).columns(later.levels))
    fit = _fit(sizes, runs, new, model, doubtful)
    made = int(np.count_nonzero(new))
    contrasts = {term: fit.effect(term) for term in doubtful}
    p_values = np.ones(len(doubtful))
    if made and fit.variance:
        p_values = holm(np.array([wald_p_value(fit, fit.columns[:, fit.places[term]], term) for term in doubtful]))
    return {
        term: _DRIFT
        if term in confounded
        else _judged(contrasts[term], float(p_value), fit, made, screened, len(doubtful))
        for term, p_value in zip(doubtful, p_values, strict=True)
    }


def _fit(
    sizes: Sequence[int], runs: Runs, new: NDArray[np.bool_], model: Sequence[Term], doubtful: Sequence[Term]
) -> ModelFit:
    """The model by all runs; where there are new ones, what the others say of the effects in doubt is a nuisance."""
    terms = tuple(dict.fromkeys((*model, *doubtful)))
    columns = Model(tuple(sizes), terms).columns(runs.levels)
    always = [runs.nuisance]
    if new.any():
        for term in doubtful:
            always.append(np.where(new[:, None], 0.0, columns[term]))
            columns[term] = np.where(new[:, None], columns[term], 0.0)
    return ModelFit.of(ModelTerms(np.hstack(always), columns), terms, sizes, runs.values)


def _judged(contrast: Contrast, p_value: float, fit: ModelFit, made: int, screened: Screened, family: int) -> Settled:
    relevant = screened.relevant
    left = OpenEffect(contrast.estimate, fit.variance, relevant, ALPHA / family) if fit.variance else None
    would = _would_decide(left, made + 1)
    if not made:
        return Settled(Result.UNDECIDED, f"no run that could decide was made; {would}", left)
    seen = f"{screened.sized(contrast.estimate, contrast.margin)} by {made} new runs"
    if p_value <= ALPHA and abs(contrast.estimate) > relevant:
        return Settled(Result.CONFIRMED, f"{seen}, p = {p_value:.2g}", None)
    if within(contrast, relevant):
        return Settled(Result.REFUTED, f"{seen}: smaller than what matters", None)
    return Settled(Result.UNDECIDED, f"{seen}: neither shown nor smaller than what matters; {would}", left)


def _would_decide(effect: OpenEffect | None, fewest: int) -> str:
    needed = runs_to_decide([effect], fewest) if effect else None
    return "no affordable number of runs would decide" if needed is None else f"about {needed:,} would decide"
