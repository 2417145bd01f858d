"""What a screening by a model took for granted, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hati.core.wording import listed
from hati.design.information import Identified
from hati.stats import Term
from hati.studies.validation.assumptions import ONE_SHIFT
from hati.studies.validation.conclusion import CONFOUNDED, Assumption, PredictionCheck, Result, of_share
from hati.studies.validation.confirmed_effects import ConfirmedEffect, Doubt, TestedClaim
from hati.studies.validation.prediction import ALPHA
from hati.studies.validation.screened import Screened, ValueScale, percent

_Word = Callable[[Term], str]


def confirmation_assumptions(
    names: Sequence[str],
    known: Identified,
    important: Sequence[Term],
    found: Sequence[ConfirmedEffect],
    prediction: PredictionCheck,
    screened: Screened,
    *,
    order: int,
    wanted: int,
) -> tuple[Assumption, ...]:
    """The assumptions of a screening by a model after its follow-up.

    Args:
        names: of the options.
        known: the effects that were thought of.
        important: those that the screening called so.
        found: what all runs say.
        prediction: how well the model predicts.
        screened: the screening.
        order: up to which all effects are in ``known``.
        wanted: effects up to this order were requested.
    """

    def word(term: Term) -> str:
        return ":".join(names[option] for option in term)

    own = tuple(_of_important(term, known, found, names, word, screened) for term in important)
    stood_for = {sub for term in important if term in known.dropped for sub in _within(term, known)}
    new = [effect for effect in found if effect.important and effect.term not in {*important, *stood_for}]
    up_to_order = [effect for effect in new if len(effect.term) <= order]
    larger = [effect for effect in new if len(effect.term) > order]
    scale = "logarithmic scale" if screened.scale is ValueScale.LOG else "scale of the values"
    return (
        _predicted(prediction),
        *own,
        _no_others(up_to_order, found, order, prediction, screened, word),
        *_unidentified(known, word),
        _larger(larger, order, wanted, word),
        Assumption(f"effects add up on the {scale}", Result.ASSUMED, "chosen by the screening"),
        ONE_SHIFT,
    )


def _predicted(found: PredictionCheck) -> Assumption:
    which = f"random configurations{of_share(found.share)}"
    statement = f"the model predicts {which} as well as noise and its own uncertainty allow"
    if found.p_value is None or found.median is None or found.largest is None or found.ratio is None:
        few = f"{found.runs} of {found.random} could be predicted: too few" if found.random else "there is no such run"
        return Assumption(statement, Result.UNDECIDED, few)
    errors = (
        f"{found.runs} of {found.random} predicted with a median error of {percent(found.median)}, "
        f"the largest {percent(found.largest)}; mean square {found.ratio:.2g} times what is expected "
        f"(p = {found.p_value:.2g})"
    )
    if found.p_value <= ALPHA:
        return Assumption(statement, Result.REFUTED, f"{errors}: something else is active, or the model bends")
    seen = (
        f"what the model leaves of the screening's runs, {percent(found.deviation or 0.0)}, is noise or not modelled"
        if found.unseen is None
        else f"what is not modelled and has a standard deviation of {percent(found.unseen)} is seen with 80 % power"
    )
    return Assumption(statement, Result.NOT_REFUTED, f"{errors}; {seen}")


def _of_important(
    term: Term,
    known: Identified,
    found: Sequence[ConfirmedEffect],
    names: Sequence[str],
    word: _Word,
    screened: Screened,
) -> Assumption:
    statement = f"the effect of {word(term)} is important"
    options = tuple(names[option] for option in term)
    if term not in known.terms:
        same = [effect for effect in found if effect.important and effect.term in _within(term, known)]
        also = f"; of these {listed([word(effect.term) for effect in same])} is important" if same else ""
        detail = f"the space itself cannot distinguish it from effects of fewer of these options{also}"
        return Assumption(statement, Result.ASSUMED if same else Result.UNDECIDED, detail, options)
    effect = next(effect for effect in found if effect.term == term)
    changed = screened.sized(effect.contrast.estimate, effect.contrast.margin)
    seen = f"by all runs {changed}, p = {effect.p_value:.2g}"
    result = effect.result or Result.UNDECIDED
    why = "" if effect.claim is None else _why(effect.claim, screened)
    return Assumption(statement, result, seen + why, options)


def _why(claim: TestedClaim, screened: Screened) -> str:
    """Why a claim is confirmed, refuted or in doubt."""
    size, new_runs = claim.size, claim.new_runs
    unsure = ", which had no standard error for it" if size.margin is None else ""
    if Doubt.ORDER in claim.doubts:
        return f": {Doubt.ORDER.value}"
    if claim.result is Result.REFUTED:
        return ": smaller than what matters"
    if Doubt.NOT_SHOWN in claim.doubts:
        return ": neither shown nor smaller than what matters"
    if not claim.doubts:
        words = f"; {screened.sized(size.estimate, None)} by the screening{unsure}" if unsure else ""
        return words + (
            f"; the new runs show {new_runs.df} of its {new_runs.of} degrees of freedom" if new_runs.of > 1 else ""
        )
    reasons = {
        Doubt.SIZE: f"{screened.sized(size.estimate, size.margin)} by the screening{unsure}",
        Doubt.FEW_COLUMNS: f"the new runs hold only {new_runs.df} of its {new_runs.of} degrees of freedom",
        Doubt.NOT_BY_NEW_RUNS: "the new runs alone do not show it",
    }
    return f"; found, but {', and '.join(reasons[doubt] for doubt in claim.doubts)}"


def _no_others(
    new: Sequence[ConfirmedEffect],
    found: Sequence[ConfirmedEffect],
    order: int,
    prediction: PredictionCheck,
    screened: Screened,
    word: _Word,
) -> Assumption:
    statement = f"up to order {order}, no effects are active but the important ones"
    if new:
        words = listed([word(effect.term) for effect in new])
        return Assumption(statement, Result.REFUTED, f"with all runs these are important as well: {words}")
    lost = [
        word(effect.term)
        for effect in found
        if len(effect.term) <= order and effect.confounded and effect.p_value <= ALPHA and not effect.claim
    ]
    if lost:
        return Assumption(statement, Result.UNDECIDED, f"{listed(lost)}: {CONFOUNDED}")
    if prediction.p_value is None:
        return Assumption(statement, Result.UNDECIDED, "there are too few new runs")
    sizes = [e.detectable for e in found if len(e.term) == 1 and e.detectable is not None]
    seen = f"; of main effects {screened.missed(max(sizes))}" if sizes else ""
    return Assumption(statement, Result.NOT_REFUTED, f"none is significant with all runs{seen}")


def _larger(found: Sequence[ConfirmedEffect], order: int, wanted: int, word: _Word) -> Assumption:
    """Report on effects of more options than ``order``."""
    if found:
        names = listed([word(effect.term) for effect in found])
        return Assumption(
            f"no effects of more than {order} options are active but the important ones",
            Result.REFUTED,
            f"with all runs these are important as well: {names}",
        )
    return Assumption(
        f"most effects of more than {order} options are seen in the errors of predictions only",
        Result.ASSUMED,
        f"see --order {order + 1}" if order >= wanted else "there are too many of them to look for",
    )


def _unidentified(known: Identified, word: _Word) -> tuple[Assumption, ...]:
    if not known.dropped:
        return ()
    words = listed([word(term) for term in known.dropped])
    return (
        Assumption(
            f"{words}: no effect of their own",
            Result.ASSUMED,
            "no run in this space distinguishes them from those of fewer options",
        ),
    )


def _within(term: Term, known: Identified) -> tuple[Term, ...]:
    """The effects of fewer of a term's options, which the space cannot distinguish from it."""
    return tuple(other for other in known.terms if set(other) < set(term))
