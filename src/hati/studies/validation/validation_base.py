"""What every validation has: the screening, what may be spent, and how tasks and conclusions are made of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np
from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Metric, StudyId, Task
from hati.design.coding import Levels, levels
from hati.space import Space, count
from hati.stats import Term
from hati.stats.power import MOST_RUNS as MOST_TRIED
from hati.studies.failures import failure_reasons
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
from hati.studies.validation.new_runs import OpenEffect, runs_to_decide
from hati.studies.validation.screened import Runs, Screened, metric_values

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


class ValidationBase(Struct, frozen=True):
    """A validation of ``screened``, with effects of up to ``order`` options, by at most ``budget`` runs.

    ``repeats`` is how many runs of one configuration differ from each other: one of a table, any number of a program.
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

    def task(self, stage: str, configuration: Configuration, repetition: int) -> Task:
        """A run to be made."""
        return Task(
            study=self.id.key,
            stage=stage,
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=self.revision,
            workload=self.benchmark.workload,
            repetition=repetition,
        )

    def named(self, term: Term) -> Options:
        """The options of a term by name."""
        return tuple(self.space.names[option] for option in term)

    def words(self, terms: Iterable[Term]) -> list[str]:
        """The options of each term in one word, as ``a:b``; main effects first."""
        ordered = sorted(terms, key=lambda term: (len(term), term))
        return [":".join(self.named(term)) for term in ordered]

    def term(self, options: Sequence[str]) -> Term:
        """The term of those options."""
        return tuple(sorted(self.space.names.index(name) for name in options))

    def levels(self, configurations: tuple[Configuration, ...]) -> Levels:
        """Configurations as positions of settings."""
        return levels(configurations, self.space)

    def decided(self, values: FloatArray) -> FloatArray:
        """Values on the scale that decides."""
        return self.screened.scale.decided(values)

    def measured(self, evidence: Evidence) -> Runs:
        """The runs of one follow-up that yielded a value."""
        found = metric_values(evidence, self.metric)
        first = np.zeros(len(found.values), dtype=np.intp)
        rows, values = self.levels(found.configurations), self.decided(found.values)
        return Runs.together(rows, values, first, found.machines, found.order)

    @property
    def most(self) -> float:
        """As many runs as can be made: in a table each configuration once that the screening had not."""
        return inf if self.repeats > 1 else self.unmeasured

    @property
    def unmeasured(self) -> int:
        """The number of configurations that the screening had not."""
        return count(self.space) - len(np.unique(self.screened.runs.levels, axis=0))

    def runs_to_decide(self, effects: Sequence[OpenEffect | None], made: int) -> RunsNeeded:
        """About how many runs decide all of these effects, of which there is one at least; more than were made."""
        known = [effect for effect in effects if effect is not None]
        if len(known) < len(effects):
            return RunsNeeded(unknown="the runs do not show how much runs vary")
        needed = runs_to_decide(known, made + 1)
        if needed is None:
            return RunsNeeded(unknown=f"{MOST_TRIED:,} runs would not decide")
        if needed > self.most:
            return RunsNeeded(unknown=f"it takes about {needed:,}, and only {self.most:,} more can be made")
        return RunsNeeded(needed)

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
        """The result, with the common part of all validations."""
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
            budget=self.budget,
            done=done,
            failed=len(evidence.runs) - done,
            failures=failure_reasons(evidence.runs, self.metric),
            seconds=evidence.seconds,
            warnings=(*self.screened.warnings, *warnings),
            prediction=prediction,
            needed=needed,
        )
