"""The study: rounds of a design at two revisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Revision,
    StudyId,
    Task,
    conversion,
    generator,
)
from hati.studies.comparison import Question
from hati.studies.effect_drift.conclusion import EffectDrift
from hati.studies.effect_drift.estimating import drifts
from hati.studies.failures import failure_reasons, limit_until_first_success, nothing_measured

STAGES = ("before", "after")
FEWEST_ROUNDS = 2


def effect_drift_id(
    benchmark: Benchmark,
    configurations: Sequence[Configuration],
    reference: Revision,
    revision: Revision,
    rounds: int,
    seed: int,
    machine: str,
) -> StudyId:
    """The identity of a study of effect drift with all that decides its tasks."""
    parameters: dict[str, object] = {
        "benchmark": [benchmark.name, benchmark.definition],
        "configurations": [dict(configuration) for configuration in configurations],
        "revisions": [reference.id, revision.id],
        "rounds": rounds,
    }
    return StudyId.of("effect-drift", parameters, seed, machine)


class EffectDriftStudy(Struct, frozen=True):
    """A number of rounds of a design at two revisions, the two runs of each configuration next to each other.

    Raises:
        InputError: for fewer than two rounds, or one revision twice.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    configurations: tuple[Configuration, ...]
    reference: Revision
    revision: Revision
    rounds: int
    question: Question

    def __post_init__(self) -> None:
        if self.rounds < FEWEST_ROUNDS:
            raise InputError(
                f"{self.rounds} rounds of {len(self.configurations)} configurations give no estimate of the noise",
                fix=f"give --budget {2 * FEWEST_ROUNDS * len(self.configurations)} or more",
            )
        if self.reference.id == self.revision.id:
            raise InputError(f"{self.revision} is {self.reference} itself", fix="name two revisions")

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left; no more than five before a first run has worked."""
        return limit_until_first_success(
            Plan.of(task for task in self.tasks() if task.id not in evidence.known), evidence
        )

    def conclude(self, evidence: Evidence) -> EffectDrift:
        """How each effect changed, from the rounds and the configurations that are complete.

        Raises:
            MeasurementError: where fewer than two rounds are.
        """
        before, after = (self._logarithms(evidence, stage) for stage in STAGES)
        known = ~np.isnan(before) & ~np.isnan(after)
        cells = np.flatnonzero(known.any(axis=0))
        rounds = np.flatnonzero(known[:, cells].all(axis=1)) if len(cells) else np.empty(0, dtype=np.intp)
        reasons = failure_reasons(evidence.runs, self.metric)
        if len(rounds) < FEWEST_ROUNDS:
            raise nothing_measured(reasons)
        chosen = [self.configurations[cell] for cell in cells]
        block = np.ix_(rounds, cells)
        options, unestimable = drifts(chosen, before[block], after[block], self.question.alpha)
        return EffectDrift(
            study=self.id.key,
            benchmark=self.benchmark.name,
            metric=self.metric,
            reference=self.reference,
            revision=self.revision,
            alpha=self.question.alpha,
            options=options,
            unestimable=unestimable,
            configurations=len(cells),
            rounds=len(rounds),
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=reasons,
            seconds=evidence.seconds,
        )

    def tasks(self) -> Iterator[Task]:
        """All of them, round after round."""
        for number in range(self.rounds):
            rng = generator(self.id.seed, "effect-drift", str(number))
            for row in rng.permutation(len(self.configurations)).tolist():
                first = int(rng.integers(2))
                for side in (first, 1 - first):
                    yield self._task(side, self.configurations[row], number)

    def _task(self, side: int, configuration: Configuration, number: int) -> Task:
        return Task(
            study=self.id.key,
            stage=STAGES[side],
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=(self.reference, self.revision)[side].id,
            workload=self.benchmark.workload,
            repetition=number,
        )

    def _logarithms(self, evidence: Evidence, stage: str) -> FloatArray:
        """Of the runs' values, shape (rounds, cells); NaN where there is none, or it is not above zero."""
        places = {configuration: place for place, configuration in enumerate(self.configurations)}
        found = np.full((self.rounds, len(self.configurations)), np.nan)
        for run in evidence.stage(stage).done:
            observed = run.of(self.metric.name)
            if observed is not None:
                value = self.question.fixed.of(observed.steady) * conversion(observed.unit, self.metric.unit)
                if value > 0.0:
                    found[run.task.repetition, places[run.task.configuration]] = np.log(value)
        return found
