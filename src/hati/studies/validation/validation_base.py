"""The common part of validations: the screening, the budget, new runs, and conclusions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import inf

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Metric, StudyId, Task, generator
from hati.core.wording import counted, effect_name
from hati.design.coding import Candidates, Levels, levels
from hati.design.matrix import unmeasured
from hati.design.optimal_designs import refine
from hati.space import Space, count
from hati.stats import POWER, Term, fewest_runs, normal_quantile
from hati.stats.power import MOST_RUNS as MOST_TRIED
from hati.studies.schedule import failure_reasons
from hati.studies.screening.changes import EffectContrast
from hati.studies.screening.population import ValidPopulation
from hati.studies.validation.conclusion import (
    NONE_NEEDED,
    Assumption,
    FollowUpRound,
    Mode,
    Options,
    PredictionCheck,
    RivalModel,
    RunsNeeded,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
)
from hati.studies.validation.screened import LEAST_PREDICTED, Runs, Screened, metric_values

_CONFIDENCE = 0.95
LARGER_RELEVANT = "a larger --relevant needs fewer"
_CASES = 2_000
_ERRORS = np.array([normal_quantile((place + 0.5) / _CASES) for place in range(_CASES)])
"""Equally probable errors of an estimate, in standard errors."""


class OpenEffect(Struct, frozen=True):
    """An undecided effect, with the criteria that decide it.

    It is shown if its estimate from the ``before`` first runs and the new ones is significant, with a p-value of at
    most ``critical``, and larger than ``relevant``, and if the new runs alone show it, one-sided, with a p-value of at
    most ``alone``. It is refuted if its 95 % interval excludes sizes larger than ``relevant``. ``variance`` is that of
    a run: the standard error of an effect is twice the deviation over the root of the number of runs.
    """

    estimate: float
    variance: float
    relevant: float
    critical: float
    before: int = 0
    alone: float = 0.5

    @classmethod
    def of(
        cls, contrast: EffectContrast, runs: int, relevant: float, critical: float, before: int = 0, alone: float = 0.5
    ) -> OpenEffect | None:
        """The open effect of a contrast estimated from that number of runs; None without a standard error."""
        if not contrast.standard_error or critical <= 0.0:
            return None
        return cls(contrast.estimate, runs * contrast.standard_error**2 / 4.0, relevant, critical, before, alone)

    def power(self, runs: int) -> float:
        """The probability that this number of new runs decides, if the effect is the estimate from the first runs."""
        size, deviation = abs(self.estimate), 2.0 * math.sqrt(self.variance)
        error, new_error = deviation / math.sqrt(self.before + runs), deviation / math.sqrt(runs)
        new = size + new_error * _ERRORS
        every = (self.before * size + runs * new) / (self.before + runs)
        margin = normal_quantile(0.5 + _CONFIDENCE / 2.0) * error
        significant = np.abs(every) > max(self.relevant, normal_quantile(1.0 - self.critical / 2.0) * error)
        alone = np.sign(every) * new >= normal_quantile(1.0 - self.alone) * new_error
        return float(np.mean((significant & alone) | (np.abs(every) + margin < self.relevant)))


def runs_to_decide(effects: Sequence[OpenEffect], fewest: int) -> int | None:
    """The number of new runs that decides all effects with 80 % power; None if 10,000 do not, or without effects.

    The estimates are assumed to be independent.
    """
    if not effects:
        return None
    return fewest_runs(lambda runs: math.prod(effect.power(runs) for effect in effects) >= POWER, fewest)


FEWEST = 4
_STARTS = 4

Predictable = Callable[[Levels], NDArray[np.bool_]]
"""Whether the screening's model can predict each configuration, shape (configurations,)."""


ALL_MEASURED = (
    "all configurations were measured: predictions cannot be tested on new ones; "
    "a screening with `--recalibrate` repeats it with fresh runs and reports what changed"
)


class NewRuns(Struct, frozen=True, eq=False):
    """Configurations that were not run before: ``random`` ones that a model predicts, and ``others``.

    The random ones are drawn uniformly from the ``share`` of those not run before that the model can predict. There are
    none if these are fewer than three. ``measured_all`` is true if all configurations were run before.
    """

    random: Levels
    others: Levels
    share: float
    measured_all: bool = False

    @property
    def levels(self) -> Levels:
        """All of them."""
        return np.vstack([self.random, self.others])

    @property
    def lack(self) -> str | None:
        """The reason why no predictions can be tested, known before any run; None if they can."""
        if len(self.random):
            return None
        if self.measured_all:
            return ALL_MEASURED
        if not len(self.others):
            return "no remaining configuration would add information: nothing can be confirmed"
        return (
            f"the screening's model can predict fewer than {LEAST_PREDICTED} of the configurations that were not run: "
            "its predictions cannot be tested; screen with more runs"
        )


def new_runs(
    space: Space, measured: Levels, terms: Sequence[Term], predictable: Predictable, runs: int, seed: int
) -> NewRuns:
    """Uniformly random configurations among those that can be predicted, and others that make the design D-optimal.

    Half of the runs are random, and at least four. There are fewer if the space has no more.

    Args:
        space: the options.
        measured: the runs so far, shape (runs, options).
        terms: of the model.
        predictable: which configurations the screening's model can predict.
        runs: the number of runs to choose.
        seed: for all that is random.
    """
    rng = generator(seed, "confirmation")
    among = unmeasured(space, measured, rng)
    places = rng.permutation(len(among.levels))
    able = predictable(among.levels)[places]
    places_able = places[able]
    random = min(max(FEWEST, runs // 2), runs, len(places_able)) if len(places_able) >= LEAST_PREDICTED else 0
    chosen, rest = among.levels[places_able[:random]], among.levels[np.setdiff1d(places, places_able[:random])]
    share = float(np.mean(able)) if len(able) else 0.0
    more = min(runs - random, len(rest))
    if not more or not terms:
        return NewRuns(chosen, rest[:0], share, not len(among.levels))
    made = np.vstack([measured, chosen])
    blocks = np.concatenate([np.full(len(measured), -1.0), np.ones(random + more)])[:, None]
    others = refine(Candidates(space, among.reach, rest), made, blocks, terms, more, rng, _STARTS)
    return NewRuns(chosen, others, share)


MOST_RUNS = 16


def validation_id(
    *,
    screening: StudyId,
    metric: str,
    relevant: float,
    mode: Mode,
    order: int,
    budget: int,
    seed: int,
    machine: str,
    suspects: Options = (),
) -> StudyId:
    """The identity of a validation: it belongs to one screening and one metric."""
    parameters = {
        "screening": screening.key,
        "of": screening.parameters,
        "metric": metric,
        "relevant": relevant,
        "mode": mode.value,
        "order": order,
        "budget": budget,
        **({"options": list(suspects)} if suspects else {}),
    }
    return StudyId.of("validation", parameters, seed, machine)


class ValidationBase(Struct, frozen=True, dict=True):
    """A validation of ``screened``, with effects of up to ``order`` options, by at most ``budget`` runs.

    ``repeats`` is the useful number of runs of one configuration: one in a table, any number for a program.
    """

    id: StudyId
    subject: str
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    screened: Screened
    order: int = 2
    budget: int = MOST_RUNS
    repeats: float = inf

    @cached_property
    def population(self) -> ValidPopulation:
        """The valid configurations, over which means are taken."""
        return ValidPopulation.of(self.space, self.id.seed)

    def task(self, stage: str, configuration: Configuration, repetition: int) -> Task:
        """The task of a run."""
        return self.benchmark.task(self.id, stage, configuration, self.revision, repetition)

    def named(self, term: Term) -> Options:
        """The options of a term by name."""
        return tuple(self.space.names[option] for option in term)

    def words(self, terms: Iterable[Term]) -> list[str]:
        """The options of each term in words, as ``a x b``; main effects first."""
        ordered = sorted(terms, key=lambda term: (len(term), term))
        return [effect_name(self.named(term)) for term in ordered]

    def term(self, options: Sequence[str]) -> Term:
        """The term of those options."""
        return tuple(sorted(self.space.names.index(name) for name in options))

    def levels(self, configurations: tuple[Configuration, ...]) -> Levels:
        """Configurations as positions of settings."""
        return levels(configurations, self.space)

    def decided(self, values: FloatArray) -> FloatArray:
        """Values on the deciding scale."""
        return self.screened.scale.decided(values)

    def measured(self, evidence: Evidence) -> Runs:
        """The runs of one follow-up that yielded a value."""
        found = metric_values(evidence, self.metric)
        first = np.zeros(len(found.values), dtype=np.intp)
        rows, values = self.levels(found.configurations), self.decided(found.values)
        return Runs.together(rows, values, first, found.machines, found.order)

    @property
    def most(self) -> float:
        """The most runs that can be made: in a table, one of each configuration that the screening did not run."""
        return inf if self.repeats > 1 else self.unmeasured

    @property
    def unmeasured(self) -> int:
        """The number of configurations that the screening did not run."""
        return count(self.space) - len(np.unique(self.screened.runs.levels, axis=0))

    def runs_to_decide(self, effects: Sequence[OpenEffect | None], made: int, done: int = 0) -> RunsNeeded:
        """The approximate number of runs that decides all of these effects (at least one); more than were made.

        ``done`` is the number of new configurations that were run.
        """
        known = [effect for effect in effects if effect is not None]
        if len(known) < len(effects):
            return RunsNeeded(unknown="the runs do not show how much runs vary")
        needed = runs_to_decide(known, made + 1)
        if needed is None:
            return RunsNeeded(impossible=f"{MOST_TRIED:,} would not; {LARGER_RELEVANT}")
        return RunsNeeded(impossible=self.lacking(needed, done)) if needed > self.most else RunsNeeded(needed)

    def lacking(self, needed: int, done: int) -> str:  # noqa: ARG002  # for modes that run each configuration once
        """Why as many runs as ``needed`` cannot be made, and what decides instead."""
        if not self.unmeasured:
            return "the screening ran all configurations of the table; measure the program"
        left = counted(self.unmeasured, "configuration")
        return f"about {needed:,} are needed, and the table has {left} more; {LARGER_RELEVANT}"

    def conclusion(
        self,
        evidence: Evidence,
        *,
        mode: Mode,
        order: int,
        outcome: ValidationOutcome,
        effects: tuple[ValidatedEffect, ...],
        rounds: tuple[FollowUpRound, ...],
        assumptions: tuple[Assumption, ...],
        done: int,
        warnings: tuple[str, ...],
        models: tuple[RivalModel, ...] = (),
        bound: float | None = None,
        gamma: float | None = None,
        prediction: PredictionCheck | None = None,
        needed: RunsNeeded = NONE_NEEDED,
    ) -> ValidationConclusion:
        """The conclusion, with the common part of all validations."""
        return ValidationConclusion(
            study=self.id.key,
            screening=self.screened.study,
            subject=self.subject,
            benchmark=self.benchmark.name,
            revision=self.revision,
            metric=self.metric,
            scale=self.screened.scale.value,
            mode=mode,
            order=order,
            bound=bound,
            gamma=gamma,
            outcome=outcome,
            models=models,
            effects=effects,
            rounds=rounds,
            assumptions=assumptions,
            screening_runs=len(self.screened.runs),
            screening_made=self.screened.made or len(self.screened.runs),
            budget=self.budget,
            done=done,
            failed=len(evidence.runs) - done,
            failures=failure_reasons(evidence.runs, self.metric),
            seconds=evidence.seconds,
            warnings=(*self.screened.warnings, *warnings),
            prediction=prediction,
            needed=needed,
        )
