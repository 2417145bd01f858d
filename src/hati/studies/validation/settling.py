"""Important effects that the remaining model neither has nor replaces, and results for a screening's assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import combinations
from math import floor

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError, generator
from hati.core.wording import effect_name, listed
from hati.design.coding import Candidates, Levels, Model, candidates
from hati.design.exchanges import Replication
from hati.design.information import Identified, identified
from hati.design.optimal_designs import augment, entangled
from hati.space import Space
from hati.stats import ModelTerms, Term, holm
from hati.stats.terms import spanned
from hati.studies.screening.changes import EffectContrast
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.validation.conclusion import (
    CONFOUNDED,
    Assumption,
    Mode,
    Options,
    Result,
    RivalModel,
    ValidationOutcome,
)
from hati.studies.validation.confirmed_effects import wald_p_value, within
from hati.studies.validation.screened import ALPHA, Runs, Screened
from hati.studies.validation.validation_base import OpenEffect, runs_to_decide

_STARTS = 4
_SEARCHED = 64
"""The number of runs that are chosen by search; further ones repeat them cyclically."""


class SettledEffect(Struct, frozen=True):
    """The result of new runs for an effect in doubt, in words; ``open`` holds what would decide it, if known."""

    result: Result
    detail: str
    open: OpenEffect | None


_DRIFT = SettledEffect(Result.UNDECIDED, CONFOUNDED, None)


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
    """The D-optimal ``most`` runs to estimate the effects in doubt given the model, and apart from their aliases.

    The aliases are left out if these runs cannot distinguish them; there are no runs if none can be added.
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
    population: ValidPopulation,
    runs: Runs,
    first: int,
    model: Sequence[Term],
    doubtful: Sequence[Term],
    screened: Screened,
) -> Mapping[Term, SettledEffect]:
    """The result of new runs, from the ``first`` on, for each effect in doubt given the model, or what would decide it.

    An effect is confirmed if it is significant (5 %, for all of them together) and larger than the relevant size;
    refuted if its interval (95 %) excludes relevant sizes. It is undecided if it is confounded with the order.
    Means are taken over the configurations of a ``population``.
    """
    if not doubtful:
        return {}
    new = np.arange(len(runs)) >= first
    later = runs.since(first)
    confounded = later.confounded(Model(tuple(population.sizes), tuple(doubtful)).columns(later.levels))
    fit = _fit(population, runs, new, model, doubtful)
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
    population: ValidPopulation, runs: Runs, new: NDArray[np.bool_], model: Sequence[Term], doubtful: Sequence[Term]
) -> ModelFit:
    """The model by all runs; if there are new ones, effects in doubt are estimated by these alone.

    Their effects before are terms of their own, with options that follow all others.
    """
    terms, sizes = tuple(dict.fromkeys((*model, *doubtful))), tuple(population.sizes)
    columns = Model(sizes, terms).columns(runs.levels)
    before = {tuple(len(sizes) + option for option in term): term for term in doubtful} if new.any() else {}
    for own, term in before.items():
        columns[own] = np.where(new[:, None], 0.0, columns[term])
        columns[term] = np.where(new[:, None], columns[term], 0.0)
    return ModelFit.of(ModelTerms(runs.nuisance, columns), (*before, *terms), population, runs.values)


def _judged(
    contrast: EffectContrast, p_value: float, fit: ModelFit, made: int, screened: Screened, family: int
) -> SettledEffect:
    relevant = screened.limit(contrast)
    left = OpenEffect(contrast.estimate, fit.variance, relevant, ALPHA / family) if fit.variance else None
    would = _would_decide(left, made + 1)
    if not made:
        return SettledEffect(Result.UNDECIDED, f"no run that could decide was made; {would}", left)
    seen = f"{screened.sized(contrast)} by {made} new runs"
    if p_value <= ALPHA and abs(contrast.estimate) > relevant:
        return SettledEffect(Result.CONFIRMED, f"{seen}, p = {p_value:.2g}", None)
    if within(contrast, relevant):
        return SettledEffect(Result.REFUTED, f"{seen}: smaller than what matters", None)
    return SettledEffect(Result.UNDECIDED, f"{seen}: neither shown nor smaller than what matters; {would}", left)


def _would_decide(effect: OpenEffect | None, fewest: int) -> str:
    needed = runs_to_decide([effect], fewest) if effect else None
    return "no affordable number of runs would decide" if needed is None else f"about {needed:,} would decide"


SHIFT = 1
"""One more run, for the shift between the screening and the added runs; their trends take further ones."""
_MOST_PARAMETERS = 2500


class EstimatedTerms(Struct, frozen=True, eq=False):
    """The effects to be estimated, all up to ``order``, and the fewest runs ``needed`` for it.

    ``known`` holds their columns that the space can distinguish. ``wanted`` is the requested order and
    ``wanted_needed`` the runs that it takes; both are larger than the others if the budget does not suffice.
    """

    known: Identified
    order: int
    needed: int
    wanted: int
    wanted_needed: int

    @property
    def terms(self) -> tuple[Term, ...]:
        """The effects that the space can distinguish from others, wholly or in part."""
        return self.known.terms


@lru_cache(maxsize=8)
def estimated_terms(
    mode: Mode,
    runs: Runs,
    space: Space,
    important: tuple[Term, ...],
    suspects: frozenset[int],
    order: int,
    budget: int,
    seed: int,
) -> EstimatedTerms:
    """The effects up to the highest order, at most the wanted one, for which a budget suffices.

    With ``suspects``, these are the important effects and those of these options alone.

    Raises:
        InputError: if the budget suffices for no order, or no effect is important whose aliases could be sought.
    """
    if mode is Mode.DEALIAS and not important:
        raise InputError(
            "the screening called nothing important: there is nothing to distinguish from aliases",
            fix="check for effects with --mode check",
        )
    among = candidates(space, generator(seed, "candidates"))
    order = wanted = min(order, len(among.sizes))
    first = known, needed = _terms(mode, runs, among, important, suspects, order)
    least = 2 if mode is Mode.DEALIAS else 1  # a design leaves no alias of order 1
    while needed > budget and order > least:
        order -= 1
        known, needed = _terms(mode, runs, among, important, suspects, order)
    if needed > budget:
        raise InputError(f"at least {first[1]:,} runs are needed, and the budget is {budget}", fix="raise --budget")
    return EstimatedTerms(known, order, needed, wanted, first[1])


def _terms(
    mode: Mode, runs: Runs, among: Candidates, important: tuple[Term, ...], suspects: frozenset[int], order: int
) -> tuple[Identified, int]:
    if suspects:
        own = (
            term for size in range(1, min(order, len(suspects)) + 1) for term in combinations(sorted(suspects), size)
        )
        terms: tuple[Term, ...] = tuple(dict.fromkeys((*important, *own)))
    elif mode is Mode.DEALIAS:
        terms = entangled(runs.levels, among.sizes, important, order)
    else:
        terms = Model.of_order(among.sizes, order).terms
    if len(terms) > _MOST_PARAMETERS:
        raise InputError(
            f"{len(terms):,} effects up to order {order} are too many", fix="lower --order, or name --options"
        )
    known = identified(among, terms, runs.levels)
    needed = known.runs_needed(runs.levels) + _hidden(known, runs)
    return known, needed + SHIFT + runs.trends.shape[1] if needed else 0


def _hidden(known: Identified, runs: Runs) -> int:
    """The number of trends of the runs that are confounded with their effects."""
    columns = np.hstack([np.ones((len(runs), 1)), *known.columns(runs.levels).values()])
    with_trends = np.hstack([columns, runs.trends])
    return int(runs.trends.shape[1] + spanned(columns).shape[1] - spanned(with_trends).shape[1])


NO_CANCELLING = Assumption(
    "no two active effects that share an estimate cancel each other",
    Result.ASSUMED,
    "then neither was called important; --mode check distinguishes all of them",
)
ONE_SHIFT = Assumption(
    "the time between screening and follow-up shifts all configurations alike",
    Result.ASSUMED,
    "the runs of each time are blocks by machine, with a linear trend of their own",
)


class Sharing(Enum):
    """Whether effects share estimates in the screening."""

    NONE = "none"
    SOME = "some"


def assumptions(
    important: Sequence[Options],
    models: Sequence[RivalModel],
    outcome: ValidationOutcome,
    *,
    aliases: Sequence[Sequence[Options]],
    shared: Sharing,
    order: int,
    first_rivals: int,
    runs: int,
    bound: float,
    untouched: Sequence[str],
    scale: str,
    unseen: float,
    settled: Mapping[Options, SettledEffect],
    confounded: Sequence[Options],
) -> tuple[Assumption, ...]:
    """The assumptions of a screening after its models were discriminated.

    Args:
        important: the effects that the screening called important, as it named them.
        models: the remaining models.
        outcome: decided if a single one remains, and its effects are larger than the runs can miss.
        aliases: of each important effect, the effects that the screening's runs cannot distinguish from it.
        shared: whether effects up to that order share estimates in the screening.
        order: effects up to this order were considered.
        first_rivals: the number of models that the screening's own runs left.
        runs: the number of runs made since.
        bound: the odds at which a model is given up.
        untouched: the options that are in no model, and that have one setting in the follow-ups.
        scale: the scale on which effects add up.
        unseen: smaller main effects, in per cent, may be in no model.
        settled: the results of new runs for important effects that the remaining model neither has nor replaces.
        confounded: effects that may be drift over the order of runs.
    """
    known = {frozenset(effect): found for effect, found in settled.items()}
    drifting = {frozenset(effect) for effect in confounded}
    named = tuple(
        _undecided(effect)
        if frozenset(effect) in drifting
        else _of_important(effect, rivals, models, known.get(frozenset(effect)))
        for effect, rivals in zip(important, aliases, strict=True)
    )
    claimed = {frozenset(effect) for effect in important}
    by_new_runs = [effect_name(effect) for effect, found in settled.items() if found.result is not Result.UNDECIDED]
    new = [effect_name(effect) for effect in models[0].effects if frozenset(effect) in drifting - claimed]
    return (
        _drift(order, new)
        if new
        else _no_others(important, models, outcome, order, first_rivals, runs, bound, unseen, by_new_runs),
        *named,
        *_still(order, untouched, scale, runs),
        *((NO_CANCELLING,) if shared is Sharing.SOME else ()),
    )


def _of_important(
    effect: Options, aliases: Sequence[Options], models: Sequence[RivalModel], settled: SettledEffect | None
) -> Assumption:
    """The assumption on an important effect: refuted only if an alias replaces it in every remaining model.

    Models assume effects of roughly one size; a small effect in addition to large ones may be in none of them and yet
    be real.
    """
    statement = _right(effect)
    own = [{frozenset(other) for other in model.effects} for model in models]
    share = [frozenset(effect) in effects for effects in own]
    if all(share):
        words = "every remaining model has it"
        return Assumption(
            statement, Result.CONFIRMED, words if settled is None else f"{words}; {settled.detail}", effect
        )
    if any(share):
        words = f"{sum(share)} of {len(share)} remaining models have it"
        return Assumption(
            statement, Result.UNDECIDED, words if settled is None else f"{words}; {settled.detail}", effect
        )
    instead = [alias for alias in aliases if any(frozenset(alias) in effects for effects in own)]
    if instead and all(any(frozenset(alias) in effects for alias in instead) for effects in own):
        words = f"every remaining model has {' or '.join(effect_name(alias) for alias in instead)} instead"
        return Assumption(statement, Result.REFUTED, words, effect)
    words = "the remaining models have neither it nor, all of them, an alias of it"
    if settled is not None:
        return Assumption(statement, settled.result, f"{words}; {settled.detail}", effect)
    return Assumption(statement, Result.UNDECIDED, words, effect)


def _right(effect: Options) -> str:
    return f"the important effect is that of {effect_name(effect)}, and not of an alias"


def _only(order: int) -> str:
    return f"up to order {order}, no effects are active but the important ones"


def _undecided(effect: Options) -> Assumption:
    return Assumption(_right(effect), Result.UNDECIDED, CONFOUNDED, effect)


def _drift(order: int, effects: Sequence[str]) -> Assumption:
    return Assumption(_only(order), Result.UNDECIDED, f"{listed(effects)}: {CONFOUNDED}")


def _no_others(
    important: Sequence[Options],
    models: Sequence[RivalModel],
    outcome: ValidationOutcome,
    order: int,
    first_rivals: int,
    runs: int,
    bound: float,
    unseen: float,
    by_new_runs: Sequence[str],
) -> Assumption:
    statement = _only(order)
    known = {frozenset(effect) for effect in important}
    more = [effect for effect in models[0].effects if frozenset(effect) not in known]
    first = "1 model was" if first_rivals == 1 else f"{first_rivals} models were"
    cost = f"{first} left after the screening" + (f", {len(models)} after {runs} runs more" if runs else "")
    may_be = f"main effects of less than about {unseen:.2g} % may be active"
    if outcome is ValidationOutcome.UNDECIDED and not any(model.effects for model in models):
        return Assumption(statement, Result.UNDECIDED, f"{cost}, of no effect: {may_be}")
    if outcome is ValidationOutcome.UNDECIDED and len(models) == 1:
        return Assumption(statement, Result.UNDECIDED, f"{cost}, and its effects are not larger: {may_be}")
    if outcome is ValidationOutcome.UNDECIDED:
        return Assumption(statement, Result.UNDECIDED, f"{cost}: odds of {bound:g} to 1 were not reached")
    if more:
        return Assumption(statement, Result.REFUTED, f"{cost}; also active: {listed([effect_name(e) for e in more])}")
    odds = f"by odds of {floor(bound)} to 1 or more, for the most part those before any run: few effects are active"
    if by_new_runs:
        odds += f"; new runs decide about {listed(by_new_runs)}"
    return Assumption(statement, Result.NOT_REFUTED, f"{cost}, {odds}; {may_be}")


def _still(order: int, untouched: Sequence[str], scale: str, runs: int) -> tuple[Assumption, ...]:
    found = [
        Assumption(f"effects of more than {order} options are negligible", Result.ASSUMED, f"see --order {order + 1}"),
        Assumption(
            f"effects add up on the {'logarithmic scale' if scale == 'log' else 'scale of the values'}",
            Result.ASSUMED,
            "chosen by the screening",
        ),
    ]
    if runs:
        found.append(ONE_SHIFT)
        if untouched:
            found.append(
                Assumption(
                    f"{listed(untouched)}: no effect",
                    Result.ASSUMED,
                    "the screening's runs show none, and in the follow-ups they kept their default",
                )
            )
    return tuple(found)
