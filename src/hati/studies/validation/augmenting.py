"""Validation by estimation: important effects apart from their aliases, or all effects up to an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from hati.core import Evidence, InputError, Plan, Task, generator, replace
from hati.core.wording import effect_name, listed
from hati.design.coding import from_levels
from hati.design.exchanges import Replication
from hati.design.optimal_designs import Augmentation, augment, confounded
from hati.stats import Term
from hati.studies.schedule import tasks_left
from hati.studies.screening.warnings import confounded_warning
from hati.studies.validation.conclusion import (
    CONFOUNDED,
    NONE_NEEDED,
    ORDER_UNKNOWN,
    Assumption,
    FollowUpRound,
    Mode,
    Options,
    Result,
    RunsNeeded,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
)
from hati.studies.validation.confirmed_effects import TermTest, term_tests, within
from hati.studies.validation.screened import Runs
from hati.studies.validation.settling import NO_CANCELLING, ONE_SHIFT, EstimatedTerms, estimated_terms
from hati.studies.validation.validation_base import OpenEffect, ValidationBase

STAGE = "augmentation"
ALPHA = 0.05
_STARTS = 8
_NOT_ASKED = "they were not requested"


class Augmenting(ValidationBase, frozen=True, kw_only=True, dict=True):
    """Adds D-optimal runs to a screening's and estimates the effects that it could not distinguish.

    ``mode`` says which: DEALIAS the important effects and their aliases up to ``order`` (RES paper, 4.5.1), CHECK all
    effects up to ``order`` (4.5.2); with ``suspects``, only the effects of these options alone in addition to the
    important ones. If ``budget`` does not suffice, the order is lowered, with a warning.

    Raises:
        InputError: if the budget does not suffice for any order, or the runs cannot be chosen.
    """

    mode: Mode
    order: int = 3
    budget: int = 64
    suspects: Options = ()

    def __post_init__(self) -> None:
        if self.mode is Mode.DISCRIMINATE:
            raise InputError("another study distinguishes models")
        if self.order < 1:
            raise InputError(f"effects have an order of 1 or more, not {self.order}")
        _ = self.terms

    @cached_property
    def terms(self) -> EstimatedTerms:
        """The effects that are estimated."""
        important = tuple(self.term(effect) for effect in self.screened.important)
        suspects = frozenset(option for name in self.suspects for option in self.term((name,)))
        return estimated_terms(
            self.mode, self.screened.runs, self.space, important, suspects, self.order, self._runs, self.id.seed
        )

    @cached_property
    def augmentation(self) -> Augmentation:
        """The runs to add."""
        again = Replication.NONE if self.repeats <= 1 else Replication.ALLOWED
        random = generator(self.id.seed, STAGE)
        return augment(self.space, self.screened.runs.levels, self.terms.terms, self._runs, random, again, _STARTS)

    @cached_property
    def _runs(self) -> int:
        """The runs that the budget allows; at most the configurations left if each can be run only once."""
        return int(min(self.budget, self.most))

    @property
    def described(self) -> str:
        """The measurement to come, and its reason."""
        found = self.terms
        runs = f"{self.budget} runs more" if self.tasks else "the screening's own runs"
        apart = f"{len(found.terms)} effects up to order {found.order} from {runs}"
        if found.order == found.wanted:
            return apart
        return f"{apart}: order {found.wanted} needs at least {found.wanted_needed:,}"

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left, in random order; at most five before a first run has worked."""
        return tasks_left(self.tasks, evidence)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs to add; none if the screening's runs estimate all effects and decide on the important ones."""
        if not self._runs or not (self.terms.needed or self._open_before):
            return ()
        added = from_levels(self.augmentation.levels[len(self.screened.runs) :], self.space)
        made = Counter(from_levels(self.screened.runs.levels, self.space))
        tasks = list[Task]()
        for place in self.id.order(STAGE).permutation(len(added)):
            configuration = added[int(place)]
            tasks.append(self.task(STAGE, configuration, made[configuration]))
            made[configuration] += 1
        return tuple(tasks)

    def conclude(self, evidence: Evidence) -> ValidationConclusion:
        """The effects, which of them are important, and the results for the screening's assumptions."""
        later = self.measured(evidence)
        runs = self.screened.runs.followed_by(later) if len(later) else self.screened.runs
        effects = self._effects(runs)
        judged = self._assumptions(effects, runs)
        settled = all(assumption.result is not Result.UNDECIDED for assumption in judged)
        done = len(later)
        return self.conclusion(
            evidence,
            mode=self.mode,
            order=self.terms.order,
            outcome=ValidationOutcome.DECIDED if settled else ValidationOutcome.UNDECIDED,
            effects=effects,
            rounds=self._rounds(done),
            assumptions=judged,
            done=done,
            warnings=self._warnings(runs),
            needed=NONE_NEEDED if settled else self._needed(judged, runs),
        )

    def _needed(self, assumptions: Sequence[Assumption], runs: Runs) -> RunsNeeded:
        """The approximate number of runs to add that would decide on all undecided effects."""
        doubtful = [self.term(each.effect) for each in assumptions if each.effect and each.result is Result.UNDECIDED]
        left = self._open(assumptions, runs)
        if len(left) < len(doubtful) and self.terms.order < self.terms.wanted:
            return RunsNeeded(self.terms.wanted_needed)
        if len(left) < len(doubtful):
            return RunsNeeded(unknown="some effects in doubt cannot be estimated separately from others")
        if drifting := [term for term in doubtful if term in self._drifting(runs)]:
            return RunsNeeded(unknown=ORDER_UNKNOWN.format(listed(self.words(drifting))))
        if not left:
            return RunsNeeded(unknown="no important effect of the screening is in doubt, but others are")
        return self.runs_to_decide(left, self.budget)

    @property
    def _open_before(self) -> list[OpenEffect | None]:
        """The important effects that the screening's runs estimate and leave undecided."""
        runs = self.screened.runs
        return self._open(self._assumptions(self._effects(runs), runs), runs)

    def _open(self, assumptions: Sequence[Assumption], runs: Runs) -> list[OpenEffect | None]:
        """The important effects that the runs estimate and leave undecided."""
        tests = term_tests(self.terms.known, self.population, runs)
        critical = ALPHA / max(1, sum(test.p_value > ALPHA for test in tests.values()))
        first = len(self.screened.runs)
        doubtful = [self.term(each.effect) for each in assumptions if each.effect and each.result is Result.UNDECIDED]
        return [
            OpenEffect.of(tests[term].contrast, len(runs), self.screened.limit(tests[term].contrast), critical, first)
            for term in doubtful
            if term in tests
        ]

    def _rounds(self, done: int) -> tuple[FollowUpRound, ...]:
        configurations = tuple(task.configuration for task in self.tasks)
        return (FollowUpRound(STAGE, len(self.terms.terms), configurations, done),) if configurations else ()

    def _effects(self, runs: Runs) -> tuple[ValidatedEffect, ...]:
        """The effects by least squares with a shift for each block, and F tests with Holm's correction over all."""
        screened, drifting = self._claimed, self._drifting(runs)
        found = [
            ValidatedEffect(
                options=self.named(term),
                contrast=test.contrast.estimate,
                standard_error=test.contrast.standard_error,
                relative=self.screened.fraction(test.contrast),
                important=test.p_value <= ALPHA
                and abs(test.contrast.estimate) > self.screened.limit(test.contrast)
                and term not in drifting,
                in_all=True,
                screened=frozenset(self.named(term)) in screened,
                sum_of_squares=test.sum_of_squares,
            )
            for term, test in term_tests(self.terms.known, self.population, runs).items()
        ]
        ordered = sorted(found, key=lambda effect: -abs(effect.contrast))
        return tuple(self._with_aliases(each) if each.important or each.screened else each for each in ordered)

    def _with_aliases(self, effect: ValidatedEffect) -> ValidatedEffect:
        known = self.terms.known
        aliases = confounded(self.screened.runs.levels, known.model.sizes, self.term(effect.options), known.terms)
        return replace(effect, aliases=tuple(map(self.named, aliases)))

    def _assumptions(self, effects: tuple[ValidatedEffect, ...], runs: Runs) -> tuple[Assumption, ...]:
        terms = self.terms
        what = f"all others up to order {terms.order}{self._among}"
        if self.mode is Mode.DEALIAS and not self.suspects:
            what = "its aliases"
        tests = term_tests(terms.known, self.population, runs)
        drifting = self._drifting(runs)
        own = tuple(self._of_important(each, effects, tests, what, drifting) for each in self.screened.important)
        found = any(len(effect) > terms.order for effect in self.screened.important)
        but = "but for the important ones, " if found else ""
        higher = f"{but}effects of more than {terms.order} options are negligible"
        cost = f"order {terms.order + 1} was not requested"
        if terms.wanted > terms.order:
            cost = f"order {terms.wanted} needs at least {terms.wanted_needed:,} runs; the budget was {self.budget}"
        return (
            *own,
            self._others(effects, tests, drifting),
            Assumption(higher, Result.ASSUMED, cost),
            *((Assumption("all other effects are negligible", Result.ASSUMED, _NOT_ASKED),) if self.suspects else ()),
            *((NO_CANCELLING,) if self.mode is Mode.DEALIAS else ()),
            ONE_SHIFT,
        )

    def _others(
        self, effects: Sequence[ValidatedEffect], tests: Mapping[Term, TermTest], drifting: Collection[Term]
    ) -> Assumption:
        """The assumption that no effects are active that the screening did not call important."""
        order = self.terms.order
        statement = f"no other effect up to order {order} is active{self._among}"
        if self.mode is Mode.DEALIAS and not self.suspects:
            statement = f"no alias of an important effect up to order {order} is active"
        new = [effect_name(e.options) for e in effects if e.important and not e.screened]
        if new:
            return Assumption(statement, Result.REFUTED, f"active: {', '.join(new)}")
        left = {term: test for term, test in tests.items() if frozenset(self.named(term)) not in self._claimed}
        lost = self.words(term for term, test in left.items() if term in drifting and test.p_value <= ALPHA)
        if lost:
            return Assumption(statement, Result.UNDECIDED, f"{listed(lost)}: {CONFOUNDED}")
        small = all(
            within(t.contrast, self.screened.limit(t.contrast)) and term not in drifting for term, t in left.items()
        )
        seen = ", and all others are smaller than what matters" if small else self._missed(left)
        result = Result.UNDECIDED if not effects else Result.CONFIRMED if small else Result.NOT_REFUTED
        return Assumption(statement, result, f"{len(self.terms.terms)} effects were estimated{seen}")

    @property
    def _among(self) -> str:
        """The options whose effects were estimated, in words; empty if all were."""
        return f" among effects of {', '.join(self.suspects)} alone" if self.suspects else ""

    def _drifting(self, runs: Runs) -> frozenset[Term]:
        """The effects that may be drift over the order of runs."""
        return runs.confounded(self.terms.known.columns(runs.levels))

    @property
    def _claimed(self) -> set[frozenset[str]]:
        return {frozenset(effect) for effect in self.screened.important}

    def _missed(self, tests: Mapping[Term, TermTest]) -> str:
        """The size of effects that the tests can have missed, in words."""
        sizes = [test.detectable for test in tests.values() if test.detectable is not None]
        return f", and {self.screened.missed(max(sizes))}" if sizes else ""

    def _of_important(
        self,
        options: Options,
        effects: tuple[ValidatedEffect, ...],
        tests: Mapping[Term, TermTest],
        what: str,
        drifting: Collection[Term],
    ) -> Assumption:
        statement = f"the effect of {effect_name(options)} is important apart from {what}"
        found = next((e for e in effects if frozenset(e.options) == frozenset(options)), None)
        if found is None:
            return Assumption(statement, *self._unseen(options, effects), options)
        contrast = tests[self.term(options)].contrast
        estimated = f"estimated as {self.screened.sized(contrast)}"
        if self.term(options) in drifting:
            return Assumption(statement, Result.UNDECIDED, f"{estimated}: {CONFOUNDED}", options)
        if found.important:
            return Assumption(statement, Result.CONFIRMED, estimated, options)
        active = [self.term(e.options) for e in effects if e.important]
        term = self.term(options)
        meant = confounded(self.screened.runs.levels, self.terms.known.model.sizes, term, active)
        if meant:
            instead = ", ".join(effect_name(self.named(other)) for other in meant)
            judged = f"{estimated}; it was an alias of {instead}"
            return Assumption(statement, Result.REFUTED, judged, options)
        if within(contrast, self.screened.limit(contrast)):
            return Assumption(statement, Result.REFUTED, f"{estimated}: smaller than the relevant size", options)
        judged = f"{estimated}: neither shown nor smaller than the relevant size"
        return Assumption(statement, Result.UNDECIDED, judged, options)

    def _unseen(self, options: Options, effects: tuple[ValidatedEffect, ...]) -> tuple[Result, str]:
        """The result for an important effect that was not estimated, and the reason."""
        terms, term = self.terms, self.term(options)
        if term in terms.known.dropped:
            same = [effect_name(e.options) for e in effects if e.important and set(e.options) < set(options)]
            also = f"; of these {', '.join(same)} is important" if same else ""
            detail = f"the space itself cannot distinguish it from effects of fewer of these options{also}"
            return Result.ASSUMED if same else Result.UNDECIDED, detail
        if term not in terms.terms and len(term) > terms.order:
            return Result.UNDECIDED, f"only effects up to order {terms.order} were estimated"
        return Result.UNDECIDED, "the runs cannot distinguish them"

    def _warnings(self, runs: Runs) -> tuple[str, ...]:
        found, known = self.terms, self.terms.known
        lost = [effect_name(self.named(term)) for term in known.dropped]
        part = [effect_name(self.named(term)) for term in known.reduced]
        by = f"with {len(self.tasks)} runs more" if self.tasks else "by the screening's own runs"
        return (
            *(
                (
                    f"effects up to order {found.wanted} need at least {found.wanted_needed:,} runs more, and the "
                    f"budget is {self.budget}: only those up to order {found.order} are estimated, {by}",
                )
                if found.order < found.wanted
                else ()
            ),
            *((f"not tested, because no run in this space can distinguish them: {listed(lost)}",) if lost else ()),
            *((f"tested as far as the space can distinguish them: {listed(part)}",) if part else ()),
            *confounded_warning(self.words(self._drifting(runs))),
        )
