"""Validation that discriminates the models that a screening leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import Configuration, Evidence, InputError, Plan, Task, generator, replace
from hati.core.wording import listed
from hati.design.coding import Model, from_levels
from hati.design.exchanges import Replication
from hati.design.optimal_designs import confounded, runs_needed
from hati.stats import Term
from hati.stats.distributions import normal_tails
from hati.stats.probable_models import BOUND, EffectModels, Effects
from hati.studies.schedule import limit_until_first_success, tasks_without_run
from hati.studies.screening.changes import BaseMean, EffectContrast
from hati.studies.screening.warnings import confounded_warning
from hati.studies.validation.conclusion import (
    CONFOUNDED,
    NONE_NEEDED,
    ORDER_UNKNOWN,
    FollowUpRound,
    Mode,
    Options,
    Result,
    RivalModel,
    RunsNeeded,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
)
from hati.studies.validation.rivals import FEWEST, ModelQuestion, estimates, follow_up, involved, rival_models, terms_of
from hati.studies.validation.screened import Runs, metric_values
from hati.studies.validation.settling import SettledEffect, Sharing, assumptions, settled, settling_runs
from hati.studies.validation.validation_base import OpenEffect, ValidationBase

_MOST_SHOWN = 50
_SEEN = 4.2
"""The size, in standard errors, of a main effect that outweighs the prior odds against it in four of five cases
(benchmarks/validating)."""


class _Stage(Struct, frozen=True):
    """A planned follow-up: the runs before it, the models that they leave, and its tasks."""

    name: str
    before: Runs
    models: EffectModels
    tasks: tuple[Task, ...]


class Validation(ValidationBase, frozen=True, dict=True):
    """Finds the models that a screening's runs cannot distinguish, and measures runs that discriminate them.

    Follow-ups of 4 to 16 runs are made until one model is left, with all others given up at odds of ``bound``, or
    ``budget`` runs are spent. If one is left, and important effects of the screening are in doubt or effects as
    large as its smallest could have been missed, the rest of the budget is spent on these. The validation is decided if
    one model is left, its effects are all larger than those that the runs can miss (smaller ones are excluded by the
    prior odds), and no important effect of the screening is in doubt.

    Raises:
        InputError: for a budget below 1, or a question that cannot be asked.
    """

    bound: float = BOUND

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise InputError(f"a validation has a budget of at least one run, not {self.budget}")
        _ = self.question

    @cached_property
    def question(self) -> ModelQuestion:
        """The question about the runs."""
        sizes = tuple(len(option.settings) for option in self.space.options)
        return ModelQuestion(sizes, self.order, self.screened.relevant, self.bound)

    @property
    def described(self) -> str:
        """The measurement to come, and its reason."""
        left = len(rival_models(self.screened.runs, self.question).models)
        runs = f"the {len(self.screened.runs)} runs of {self.screened.study}"
        if left == 1:
            doubts = self._doubts(rival_models(self.screened.runs, self.question), self.screened.runs)
            if doubts:
                named = listed(self.words(doubts))
                return f"{runs} leave one model, and {named} in doubt: runs that settle them"
            return f"{runs} leave one model: no run is needed"
        return f"{left} models are left by {runs}"

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks of the first incomplete follow-up; none once one model is left, or nothing more can be measured.

        There are at most five before a first run has worked.
        """
        for stage in self._stages(evidence):
            if left := tasks_without_run(stage.tasks, evidence):
                return limit_until_first_success(Plan.of(left), evidence)
        return Plan()

    def conclude(self, evidence: Evidence) -> ValidationConclusion:
        """The remaining models, the results for assumptions, and the cost."""
        stages = list(self._stages(evidence))
        rounds = tuple(self._round(stage, evidence) for stage in stages if stage.tasks)
        runs = self._with_all(evidence)
        last = stages[-1]
        models = last.models if runs == last.before else rival_models(runs, self.question, last.models.models)
        by_new_runs = self._settled(models, runs)
        models = self._agreeing(models, by_new_runs)
        left = self._rivals(models)
        confounded = self._confounded(models, runs, by_new_runs)
        effects = self._effects(models, runs, left, confounded)
        missed = self._missed(models, runs)
        sizes = [abs(effect.contrast) for effect in effects if self.term(effect.options) not in by_new_runs]
        clear = bool(sizes) and min(sizes) >= missed
        single = len(models.models) == 1 and models.complete and clear
        done = len(runs) - len(self.screened.runs)
        touched = {self.space.names[option] for option in involved(models, self.question)}
        judged = assumptions(
            self.screened.important,
            left,
            ValidationOutcome.DECIDED if single else ValidationOutcome.UNDECIDED,
            aliases=self._aliases(),
            shared=self._shared,
            order=self.order,
            first_rivals=len(stages[0].models.models),
            runs=done,
            bound=self.bound,
            untouched=[name for name in self.space.names if name not in touched | self._varied(runs)],
            scale=self.screened.scale.value,
            unseen=100.0 * self.screened.relative(missed),
            settled={self.named(term): found for term, found in by_new_runs.items()},
            confounded=[self.named(term) for term in confounded],
        )
        decided = all(assumption.result is not Result.UNDECIDED for assumption in judged)
        return self.conclusion(
            evidence,
            mode=Mode.DISCRIMINATE,
            order=self.order,
            bound=self.bound,
            gamma=models.gamma,
            outcome=ValidationOutcome.DECIDED if decided else ValidationOutcome.UNDECIDED,
            models=left[:_MOST_SHOWN],
            effects=effects,
            rounds=rounds,
            assumptions=judged,
            done=done,
            warnings=(*self._warnings(models, left), *confounded_warning(self.words(confounded))),
            needed=NONE_NEEDED if decided else self._needed(models, runs, effects, by_new_runs, confounded),
        )

    def _varied(self, runs: Runs) -> set[str]:
        """The options that have more than one setting in the follow-ups."""
        new = runs.since(len(self.screened.runs)).levels
        return {name for name, column in zip(self.space.names, new.T, strict=True) if len(np.unique(column)) > 1}

    def _missed(self, models: EffectModels, runs: Runs) -> float:
        """The size, on the deciding scale, below which main effects may be in no model."""
        return _SEEN * 2.0 * float(np.sqrt(models.variances[0] / len(runs)))

    def _in_doubt(self, models: EffectModels) -> tuple[Term, ...]:
        """The screening's important effects that not every model has, and that no model replaces by an alias.

        There are none if models also differ in other effects: these have to be decided first.
        """
        found = [set(terms_of(model, self.question)) for model in models.models]
        every, any_ = set.intersection(*found), set.union(*found)
        terms = map(self.term, self.screened.important)
        doubtful = tuple(
            term
            for term, aliases in zip(terms, self._aliases(), strict=True)
            if term not in every and any_.isdisjoint(map(self.term, aliases))
        )
        return doubtful if any_ - every <= set(doubtful) else ()

    def _agreeing(self, models: EffectModels, by_new_runs: Mapping[Term, SettledEffect]) -> EffectModels:
        """The models with all effects that new runs confirm and none that they refute; all models if there is none."""
        found = [set(terms_of(model, self.question)) for model in models.models]
        shown, refuted = (
            {term for term, one in by_new_runs.items() if one.result is result}
            for result in (Result.CONFIRMED, Result.REFUTED)
        )
        places = [place for place, own in enumerate(found) if shown <= own and own.isdisjoint(refuted)]
        if not places:
            return models
        return replace(
            models,
            models=tuple(models.models[place] for place in places),
            log_odds=models.log_odds[places] - models.log_odds[places[0]],
            variances=models.variances[places],
        )

    def _doubts(self, models: EffectModels, runs: Runs) -> tuple[Term, ...]:
        """The effects that runs have to settle if one model is left: those in doubt, or main effects it may miss."""
        if len(models.models) > 1:
            return ()
        if doubtful := self._in_doubt(models):
            return doubtful
        sizes = [abs(found.difference) for found in estimates(models, runs, self.question, self.population)]
        own = terms_of(models.models[0], self.question)
        if not sizes or min(sizes) >= self._missed(models, runs):
            return ()
        return tuple((place,) for place in range(len(self.space.options)) if (place,) not in own)

    def _settled(self, models: EffectModels, runs: Runs) -> Mapping[Term, SettledEffect]:
        """The results of the follow-ups' runs for the important effects in doubt."""
        doubtful, first = self._in_doubt(models), len(self.screened.runs)
        model = [term for term in terms_of(models.models[0], self.question) if term not in doubtful]
        return settled(self.population, runs, first, model, doubtful, self.screened)

    def _confounded(
        self, models: EffectModels, runs: Runs, by_new_runs: Mapping[Term, SettledEffect]
    ) -> frozenset[Term]:
        """The effects of the most probable model, and the important ones, that may be drift over the order of runs.

        For effects in doubt, the order of the new runs counts, too.
        """
        terms = dict.fromkeys((*terms_of(models.models[0], self.question), *map(self.term, self.screened.important)))
        drifting = runs.confounded(Model(self.question.sizes, tuple(terms)).columns(runs.levels))
        return drifting.union(term for term, found in by_new_runs.items() if found.detail == CONFOUNDED)

    def _needed(
        self,
        models: EffectModels,
        runs: Runs,
        effects: tuple[ValidatedEffect, ...],
        by_new_runs: Mapping[Term, SettledEffect],
        confounded: Collection[Term],
    ) -> RunsNeeded:
        """The approximate number of runs of a validation that would decide."""
        if confounded:
            return RunsNeeded(unknown=ORDER_UNKNOWN.format(listed(self.words(confounded))))
        if len(models.models) > 1:
            return RunsNeeded(unknown="each follow-up is chosen for the models that the runs before it leave")
        left = [found.open for found in by_new_runs.values() if found.result is Result.UNDECIDED]
        sizes = (abs(effect.contrast) for effect in effects if self.term(effect.options) not in by_new_runs)
        smallest = min(sizes, default=0.0)
        if 0.0 < smallest < self._missed(models, runs):
            critical = 2.0 * float(normal_tails(np.array(_SEEN)))
            left.append(OpenEffect(smallest, float(models.variances[0]), 0.0, critical, len(self.screened.runs)))
        if left:
            return self.runs_to_decide(left, len(runs) - len(self.screened.runs))
        if not models.complete:
            return RunsNeeded(unknown="not all models could be looked at")
        return RunsNeeded(unknown="any number of runs can miss effects that are small enough")

    def _aliases(self) -> tuple[tuple[Options, ...], ...]:
        """The aliases of every important effect, up to the considered order."""
        terms = map(self.term, self.screened.important)
        runs, question = self.screened.runs, self.question
        found = [confounded(runs.levels, question.sizes, term, question.model.terms) for term in terms]
        return tuple(tuple(map(self.named, others)) for others in found)

    @property
    def _shared(self) -> Sharing:
        runs, question = self.screened.runs, self.question
        few = question.model.parameters > len(runs) or runs_needed(runs.levels, question.sizes, question.model.terms)
        return Sharing.SOME if few else Sharing.NONE

    def _stages(self, evidence: Evidence) -> Iterator[_Stage]:
        """The follow-ups up to the first incomplete one; the last has no tasks if nothing is left to do."""
        runs, spent = self.screened.runs, 0
        known: tuple[Effects, ...] = ()
        for number in range(1, self.budget + 2):
            name = f"follow-up {number}"
            models = rival_models(runs, self.question, known)
            tasks = self._tasks(name, runs, models, self.budget - spent)
            yield _Stage(name, runs, models, tasks)
            made = evidence.stage(name)
            extended = self._extended(runs, made)
            if not tasks or any(task.id not in made.known for task in tasks) or len(extended) == len(runs):
                return
            runs, spent, known = extended, spent + len(tasks), models.models

    def _tasks(self, stage: str, runs: Runs, models: EffectModels, left: int) -> tuple[Task, ...]:
        if left < min(FEWEST, self.budget):
            return ()
        try:
            chosen = self._chosen(stage, runs, models, left)
        except InputError:
            return ()  # no runs are left that could discriminate them
        made = Counter(row.tobytes() for row in runs.levels)
        tasks = list[Task]()
        for place in self.id.order(stage).permutation(len(chosen)):
            configuration = chosen[int(place)]
            key = self.levels((configuration,))[0].tobytes()
            tasks.append(self.task(stage, configuration, made[key]))
            made[key] += 1
        return tuple(tasks)

    def _chosen(self, stage: str, runs: Runs, models: EffectModels, left: int) -> tuple[Configuration, ...]:
        """The configurations of a follow-up: they discriminate models, or settle the doubts of one model."""
        if len(models.models) > 1:
            return follow_up(models, runs, self.question, self.space, left, self.id.seed, stage, self.repeats)
        doubts = self._doubts(models, runs)
        if not doubts:
            return ()
        rng = generator(self.id.seed, "settling", stage)
        model = terms_of(models.models[0], self.question)
        aliases = [self.term(alias) for others in self._aliases() for alias in others]
        again = Replication.NONE if self.repeats <= 1 else Replication.ALLOWED
        rows = settling_runs(self.space, runs, model, doubts, aliases, left, rng, again)
        return tuple(from_levels(rows, self.space))

    def _extended(self, runs: Runs, made: Evidence) -> Runs:
        later = self.measured(made)
        return runs.followed_by(later) if len(later) else runs

    def _with_all(self, evidence: Evidence) -> Runs:
        runs = self.screened.runs
        for name in dict.fromkeys(run.task.stage for run in evidence.runs):
            runs = self._extended(runs, evidence.stage(name))
        return runs

    def _round(self, stage: _Stage, evidence: Evidence) -> FollowUpRound:
        configurations = tuple(task.configuration for task in stage.tasks)
        done = len(metric_values(evidence.stage(stage.name), self.metric).values)
        return FollowUpRound(stage.name, len(stage.models.models), configurations, done)

    def _rivals(self, models: EffectModels) -> tuple[RivalModel, ...]:
        return tuple(
            RivalModel(
                tuple(self.named(term) for term in terms_of(model, self.question)),
                float(probability),
                float(np.exp(-log_odds)),
            )
            for model, probability, log_odds in zip(models.models, models.probabilities, models.log_odds, strict=True)
        )

    def _effects(
        self, models: EffectModels, runs: Runs, left: tuple[RivalModel, ...], confounded: Collection[Term]
    ) -> tuple[ValidatedEffect, ...]:
        screened = {frozenset(effect) for effect in self.screened.important}
        sets = [{frozenset(effect) for effect in model.effects} for model in left]
        every = estimates(models, runs, self.question, self.population)
        contrasts = [EffectContrast(e.difference, e.standard_error, None, BaseMean(e.base)) for e in every]
        return tuple(
            ValidatedEffect(
                options=self.named(found.term),
                contrast=found.difference,
                standard_error=found.standard_error,
                relative=self.screened.fraction(contrast),
                important=abs(found.difference) > self.screened.limit(contrast) and found.term not in confounded,
                in_all=all(frozenset(self.named(found.term)) in one for one in sets),
                screened=frozenset(self.named(found.term)) in screened,
            )
            for found, contrast in zip(every, contrasts, strict=True)
        )

    def _warnings(self, models: EffectModels, left: tuple[RivalModel, ...]) -> tuple[str, ...]:
        found = list[str]()
        if not models.complete:
            found.append("not all models could be looked at: there may be others as good as those that are listed")
        if len(left) > _MOST_SHOWN:
            found.append(f"{len(left) - _MOST_SHOWN} more models are left than those that are listed")
        return tuple(found)
