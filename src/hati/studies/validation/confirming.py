"""Validation of a screening by a model: does it predict new configurations, and do its effects hold with these?

The screening's assumptions are tested, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hati.core import Evidence, FloatArray, InputError, Plan, Task, generator, replace, setting_text
from hati.core.wording import effect_name, listed
from hati.design.coding import Candidates, Levels, Model, candidates, from_levels
from hati.design.information import Identified, identified
from hati.document.document import percent
from hati.harness.interference import load_warning_of
from hati.stats import ModelTerms, Term, cell_columns, forward_selection
from hati.studies.schedule import tasks_left
from hati.studies.screening import EffectScale
from hati.studies.screening.warnings import confounded_warning
from hati.studies.validation.conclusion import (
    CONFOUNDED,
    NONE_NEEDED,
    ORDER_UNKNOWN,
    PREDICTED,
    Assumption,
    FollowUpRound,
    Mode,
    Options,
    PredictionCheck,
    Result,
    RunsNeeded,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
    of_share,
)
from hati.studies.validation.confirmed_effects import (
    ConfirmedEffect,
    Doubt,
    TestedClaim,
    confirmed_effects,
    judging_terms,
    model_columns,
)
from hati.studies.validation.screened import (
    ALPHA,
    NO_RUNS,
    Runs,
    Screened,
    ScreenedSize,
    check_predictions,
    predictable,
)
from hati.studies.validation.settling import ONE_SHIFT
from hati.studies.validation.validation_base import (
    FEWEST,
    LARGER_RELEVANT,
    NewRuns,
    OpenEffect,
    ValidationBase,
    new_runs,
)

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
    disturbed: str = "",
) -> tuple[Assumption, ...]:
    """The assumptions of a screening by a model after its follow-up.

    Args:
        names: of the options.
        known: the effects that were considered.
        important: the effects that the screening called important.
        found: the effects by all runs.
        prediction: the test of the model's predictions.
        screened: the screening.
        order: all effects up to this order are in ``known``.
        wanted: effects up to this order were requested.
        disturbed: how many of the new runs were disturbed; empty if few were.
    """

    def word(term: Term) -> str:
        return effect_name(names[option] for option in term)

    own = tuple(_of_important(term, known, found, names, word, screened) for term in important)
    stood_for = {sub for term in important if term in known.dropped for sub in _within(term, known)}
    new = [effect for effect in found if effect.important and effect.term not in {*important, *stood_for}]
    up_to_order = [effect for effect in new if len(effect.term) <= order]
    larger = [effect for effect in new if len(effect.term) > order]
    scale = "logarithmic scale" if screened.scale is EffectScale.LOG else "scale of the values"
    return (
        _predicted(prediction, disturbed),
        *own,
        _no_others(up_to_order, found, order, prediction, screened, word),
        *_unidentified(known, word),
        _larger(larger, order, wanted, word),
        Assumption(f"effects add up on the {scale}", Result.ASSUMED, "chosen by the screening"),
        ONE_SHIFT,
    )


def _predicted(found: PredictionCheck, disturbed: str) -> Assumption:
    """The assumption on predictions; errors of disturbed runs do not refute it, as these vary more than others."""
    which = f"random configurations{of_share(found.share)}"
    statement = f"{PREDICTED} {which} as well as noise and its own uncertainty allow"
    if found.p_value is None or found.median is None or found.largest is None or found.ratio is None:
        few = f"{found.runs} of {found.random} could be predicted: too few" if found.random else "none is left to run"
        return Assumption(statement, Result.UNDECIDED, few)
    errors = (
        f"errors in {found.runs} of {found.random}: median {percent(found.median, 2)}, "
        f"largest {percent(found.largest, 2)}, mean square {found.ratio:.2g} times what is expected "
        f"(p = {found.p_value:.2g})"
    )
    if found.p_value <= ALPHA and disturbed:
        why = f"something else is active, the model bends, or this session is noisier than the screening: {disturbed}"
        return Assumption(statement, Result.UNDECIDED, f"{errors}: {why}")
    if found.p_value <= ALPHA:
        return Assumption(statement, Result.REFUTED, f"{errors}: something else is active, or the model bends")
    seen = (
        f"what the model leaves of the screening's runs, {percent(found.deviation or 0.0, 2)}, is noise or not modelled"
        if found.unseen is None
        else f"what is not modelled and has a standard deviation of {percent(found.unseen, 2)} is seen with 80 % power"
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
    statement = f"{word(term)} has a relevant effect, of the sign and size that the screening reported"
    options = tuple(names[option] for option in term)
    if term not in known.terms:
        same = [effect for effect in found if effect.important and effect.term in _within(term, known)]
        also = f"; of these {listed([word(effect.term) for effect in same])} is important" if same else ""
        detail = f"the space itself cannot distinguish it from effects of fewer of these options{also}"
        return Assumption(statement, Result.ASSUMED if same else Result.UNDECIDED, detail, options)
    effect = next(effect for effect in found if effect.term == term)
    changed = screened.sized(effect.contrast)
    seen = f"by all runs {changed}, p = {effect.p_value:.2g}"
    result = effect.result or Result.UNDECIDED
    why = "" if effect.claim is None else _why(effect.claim, screened)
    differs = _differs(effect, effect.claim) if effect.claim else ""
    return Assumption(statement, result, seen + why, options, differs)


def _differs(effect: ConfirmedEffect, claim: TestedClaim) -> str:
    """What alone is in doubt about an effect that is shown: its sign or its size; empty if more is, or nothing."""
    if claim.doubts != (Doubt.SIZE,):
        return ""
    return "sign" if claim.size.estimate * effect.contrast.estimate < 0.0 else "size"


def _why(claim: TestedClaim, screened: Screened) -> str:
    """The reason why a claim is confirmed, refuted or in doubt, in words."""
    size, new_runs = claim.size, claim.new_runs
    unsure = ", which had no standard error for it" if size.margin is None else ""
    if Doubt.ORDER in claim.doubts:
        return f": {Doubt.ORDER.value}"
    if claim.result is Result.REFUTED:
        return ": smaller than what matters"
    if Doubt.NOT_SHOWN in claim.doubts:
        return ": neither shown nor smaller than what matters"
    if not claim.doubts:
        words = f"; {screened.reported(size)} by the screening{unsure}" if unsure else ""
        return words + (
            f"; the new runs show {new_runs.df} of its {new_runs.of} degrees of freedom" if new_runs.of > 1 else ""
        )
    if claim.doubts == (Doubt.SIZE,):
        return f"; shown, but {screened.reported(size)} by the screening{unsure}"
    reasons = {
        Doubt.SIZE: f"{screened.reported(size)} by the screening{unsure}",
        Doubt.FEW_COLUMNS: f"the new runs hold only {new_runs.df} of its {new_runs.of} degrees of freedom"
        if new_runs.df
        else "no new run shows it",
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
    """The assumption on effects of more options than ``order``."""
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


STAGE = "confirmation"
_NO_RUNS_DECIDE = {
    Doubt.ORDER: ORDER_UNKNOWN,
    Doubt.SIZE: "the screening has another size of {}, which further runs do not change",
}
"""Doubts that further runs like these do not resolve, with the reason in words."""
_MOST_PARAMETERS = 1_000
_LOOKED_AT = 4_000
_SELECTED_ORDER = 2
"""The screening's model is selected from effects up to this order, and from interactions of three that joined it."""


class Confirming(ValidationBase, frozen=True, dict=True):
    """Measures configurations that a screening did not, to test its model's predictions and its important effects.

    Half of ``budget`` runs, and at least four, are of random configurations that the model can predict; the others are
    the most informative ones about its effects. Effects up to ``order`` are considered, or up to a lower order if these
    are too many.

    Raises:
        InputError: for a budget below 4 or an order below 1.
    """

    order: int = 3

    def __post_init__(self) -> None:
        if self.budget < FEWEST:
            raise InputError(
                f"a model is confirmed by at least {FEWEST} runs, not {self.budget}", fix=f"give --budget {FEWEST}"
            )
        if self.order < 1:
            raise InputError(f"effects have an order of 1 or more, not {self.order}")

    @property
    def most(self) -> float:
        """The number of new configurations, each of which is run once."""
        return self.unmeasured

    @property
    def described(self) -> str:
        """The measurement to come, and its reason."""
        chosen = self.chosen
        others = f"{len(chosen.others)} that are most informative about the effects"
        if chosen.lack:
            return f"{chosen.lack}; {others}" if len(chosen.others) else chosen.lack
        return f"predictions of {len(chosen.random)} random configurations{of_share(chosen.share)}, and {others}"

    @cached_property
    def known(self) -> Identified:
        """The considered effects, as far as the space can distinguish them."""
        rng = generator(self.id.seed, STAGE, "candidates")
        among = candidates(self.space, rng)
        if len(among.levels) > _LOOKED_AT:
            some = np.sort(rng.choice(len(among.levels), _LOOKED_AT, replace=False))
            among = Candidates(self.space, among.reach, among.levels[some])
        of_order = Model.of_order(among.sizes, self._order).terms
        every = dict.fromkeys([*of_order, *self._important, *self._predicting])
        return identified(among, tuple(every), self.screened.runs.levels)

    @cached_property
    def chosen(self) -> NewRuns:
        """The random configurations, and the others."""
        mains = [term for term in self.known.terms if len(term) == 1]
        terms = tuple(dict.fromkeys([*mains, *self._important, *self._predicting]))
        measured = self.screened.runs.levels
        return new_runs(self.space, measured, terms, self._predictable, self.budget, self.id.seed)

    def _predictable(self, rows: Levels) -> NDArray[np.bool_]:
        """Whether the screening's model can predict each configuration, shape (configurations,)."""
        if not len(rows):
            return np.zeros(0, dtype=np.bool_)
        return predictable(*self._screened_and(rows, self._predicting))

    def _screened_and(self, rows: Levels, terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
        """The columns of terms for the screening's runs and for other configurations, those of the mean first.

        The other configurations are predicted for the mean of the blocks, and for the middle of the trend.
        """
        before = self.screened.runs
        middle = [*cell_columns(before.blocks).mean(axis=0), *np.zeros(before.trends.shape[1])]
        ahead = np.repeat([middle], len(rows), axis=0)
        first, later = (self._columns(terms, levels) for levels in (before.levels, rows))
        return np.hstack([before.nuisance, first]), np.hstack([ahead, later])

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs, in random order: one block."""
        every = from_levels(self.chosen.levels, self.space)
        order = self.id.order(STAGE).permutation(len(every))
        return tuple(self.task(STAGE, every[int(place)], 0) for place in order)

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left; at most five before a first run has worked."""
        return tasks_left(self.tasks, evidence)

    def conclude(self, evidence: Evidence) -> ValidationConclusion:
        """The test of predictions, the effects that hold, and the results for the screening's assumptions."""
        later = self.measured(evidence)
        prediction = self._prediction(later)
        before = self.screened.runs.by_configuration()
        runs = before.followed_by(later) if len(later) else before
        rng = generator(self.id.seed, STAGE, "permutations")
        found = confirmed_effects(self.known, self.population, before, runs, self._claims, self.screened.limit, rng)
        judged = confirmation_assumptions(
            self.space.names,
            self.known,
            self._important,
            found,
            prediction,
            self.screened,
            order=self._order,
            wanted=self.order,
            disturbed=load_warning_of(evidence.runs).partition(" (")[0],
        )
        settled = all(a.result is not Result.UNDECIDED for a in judged)
        concluded = self.conclusion(
            evidence,
            mode=Mode.CONFIRM,
            order=self._order,
            outcome=ValidationOutcome.DECIDED if settled else ValidationOutcome.UNDECIDED,
            effects=tuple(self._effect(effect) for effect in found),
            rounds=self._rounds(len(later)),
            assumptions=judged,
            done=len(later),
            warnings=self._warnings(found),
            prediction=prediction,
            needed=NONE_NEEDED if settled else self._needed(found, len(before), len(runs)),
        )
        return replace(concluded, compared=tuple(self._compared(found)))

    def _compared(self, found: Sequence[ConfirmedEffect]) -> Iterator[tuple[Options, str]]:
        for effect in (each for each in found if each.ends is not None):
            settings = self.space.options[effect.term[0]].settings
            low, high = (setting_text(settings[place]) for place in effect.ends or ())
            yield self.named(effect.term), f"{low} to {high}"

    def _needed(self, found: Sequence[ConfirmedEffect], before: int, runs: int) -> RunsNeeded:
        """The approximate number of new runs that would decide on all undecided claims.

        Effects are estimated from ``runs`` runs, of which ``before`` are the screening's, or its configurations.
        """
        claims = [effect for effect in found if effect.result is Result.UNDECIDED]
        if not claims:
            return RunsNeeded(unknown="no effect of the screening is in doubt, but what the model predicts is")
        for doubt, why in _NO_RUNS_DECIDE.items():
            doubtful = [effect.term for effect in claims if effect.claim and doubt in effect.claim.doubts]
            if doubtful:
                return RunsNeeded(unknown=why.format(listed(self.words(doubtful))))
        alone, limit = ALPHA / max(1, len(claims)), self.screened.limit
        left = [
            OpenEffect.of(each.contrast, runs, limit(each.contrast), each.critical, before, alone) for each in claims
        ]
        return self.runs_to_decide(left, self.budget, runs - before)

    def lacking(self, needed: int, done: int) -> str:
        """Why as many new configurations as ``needed`` cannot be run, and what decides instead."""
        if self.repeats <= 1:
            return super().lacking(needed, done)
        if not self.unmeasured:
            return "the screening ran all configurations, and this mode only new ones; --mode check can repeat them"
        left = f"{self.unmeasured - done:,} of {self.unmeasured:,} are left"
        return (
            f"about {needed:,} are needed; this mode runs each new configuration once, and {left}; "
            f"a longer screening, --mode check or knowledge of the code can decide; {LARGER_RELEVANT}"
        )

    def _prediction(self, later: Runs) -> PredictionCheck:
        """The test of predictions for the random configurations that were run."""
        wanted = {row.tobytes() for row in self.chosen.random}
        drawn = later.at(np.flatnonzero([row.tobytes() in wanted for row in later.levels]))
        share = self.chosen.share
        if not len(drawn):
            return replace(NO_RUNS, share=share)
        before = self.screened.runs
        judging = judging_terms(self.known, before, self._important)

        def columns(terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
            return self._screened_and(drawn.levels, terms)

        def reselected(simulated: FloatArray) -> tuple[FloatArray, FloatArray]:
            runs = replace(before, values=simulated).by_configuration()
            known = model_columns(self.known, runs)
            screened = [term for term in known if len(term) <= _SELECTED_ORDER or term in self._predicting]
            offered = {term: known.columns[term] for term in screened}
            return columns(forward_selection(ModelTerms(known.always, offered), runs.values))

        rng = generator(self.id.seed, STAGE, "predictions")
        found = check_predictions(self.screened, columns(self._predicting), columns(judging), drawn, reselected, rng)
        return replace(found, share=share)

    def _columns(self, terms: Sequence[Term], rows: Levels) -> FloatArray:
        """All columns of those terms, as the screening had them."""
        return Model(self.known.model.sizes, tuple(terms)).matrix(rows)[:, 1:]

    @cached_property
    def _order(self) -> int:
        """The order up to which all effects are considered: as requested, or lower if they are too many."""
        sizes = [len(option.settings) for option in self.space.options]
        order = min(self.order, len(sizes))
        while order > 1 and Model.of_order(sizes, order).parameters > _MOST_PARAMETERS:
            order -= 1
        return order

    @cached_property
    def _important(self) -> tuple[Term, ...]:
        return tuple(map(self.term, self.screened.important))

    @property
    def _claims(self) -> dict[Term, ScreenedSize | None]:
        """The important effects and their sizes, if the screening reported them."""
        sizes = self.screened.sizes or (None,) * len(self._important)
        return dict(zip(self._important, sizes, strict=True))

    @cached_property
    def _predicting(self) -> tuple[Term, ...]:
        """The terms of the predictive model; without one, the important effects."""
        return tuple(map(self.term, self.screened.predicting)) or self._important

    def _rounds(self, done: int) -> tuple[FollowUpRound, ...]:
        configurations = tuple(task.configuration for task in self.tasks)
        return (FollowUpRound(STAGE, len(self.known.terms), configurations, done),) if configurations else ()

    def _effect(self, found: ConfirmedEffect) -> ValidatedEffect:
        return ValidatedEffect(
            options=self.named(found.term),
            contrast=found.contrast.estimate,
            standard_error=found.contrast.standard_error,
            relative=self.screened.fraction(found.contrast),
            important=found.important,
            in_all=True,
            screened=found.term in self._important,
            result=found.result,
        )

    def _warnings(self, found: Sequence[ConfirmedEffect]) -> tuple[str, ...]:
        lower = self._order < min(self.order, len(self.space.options))
        few = f"effects up to order {self.order} are too many to look for; up to order {self._order} were"
        return (
            *((self.chosen.lack,) if self.chosen.lack else ()),
            *((few,) if lower else ()),
            *confounded_warning(self.words(effect.term for effect in found if effect.confounded)),
        )
