"""What a screening took for granted, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from math import floor

from hati.core.wording import listed
from hati.studies.validation.conclusion import CONFOUNDED, Assumption, Options, Result, RivalModel, ValidationOutcome
from hati.studies.validation.settling import SettledEffect

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
    """Whether effects share estimates."""

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
        models: those that are left.
        outcome: whether one is left, of effects that are larger than the runs can miss.
        aliases: those of each important effect's, which the screening's runs cannot distinguish from it.
        shared: whether effects up to that order share estimates in the screening.
        order: effects up to this order were considered.
        first_rivals: how many models the screening's own runs left.
        runs: how many were made since.
        bound: the odds at which a model is given up.
        untouched: the options that no model speaks of, and that have one setting in the follow-ups.
        scale: on which effects add up.
        unseen: main effects below it, in per cent, may be in no model.
        settled: what new runs say of important effects that the only model left neither has nor replaces.
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
    by_new_runs = [_word(effect) for effect, found in settled.items() if found.result is not Result.UNDECIDED]
    new = [_word(effect) for effect in models[0].effects if frozenset(effect) in drifting - claimed]
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
    """Refuted only where another explanation of the same runs took its place in every model that is left.

    Models are of effects of one size, roughly; a small effect next to large ones may be in none of them and yet be
    real.
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
        words = f"every remaining model has {' or '.join(_word(alias) for alias in instead)} instead"
        return Assumption(statement, Result.REFUTED, words, effect)
    words = "the remaining models have neither it nor, all of them, an alias of it"
    if settled is not None:
        return Assumption(statement, settled.result, f"{words}; {settled.detail}", effect)
    return Assumption(statement, Result.UNDECIDED, words, effect)


def _right(effect: Options) -> str:
    return f"the important effect is that of {_word(effect)}, and not of an alias"


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
        return Assumption(statement, Result.REFUTED, f"{cost}; also active: {listed([_word(e) for e in more])}")
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


def _word(effect: Options) -> str:
    return ":".join(effect)
