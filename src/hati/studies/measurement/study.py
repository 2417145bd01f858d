"""Measuring given configurations, without a question: so many runs of each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    MeasurementError,
    Plan,
    Run,
    StudyId,
    Task,
    generator,
)
from hati.studies.failures import hopeful, remarked
from hati.studies.measurement.conclusion import MeasurementConclusion
from hati.studies.measurement.summary import summarise

STAGE = "measurement"
BATCH = 32


def measurement_id(
    benchmark: Benchmark, configurations: Sequence[Configuration], revision: str, budget: str, seed: int, machine: str
) -> StudyId:
    """The identity of a measurement with all that decides its tasks."""
    parameters = {
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "configurations": [dict(c) for c in configurations],
        "revision": revision,
        "budget": budget,
    }
    return StudyId.of("measurement", parameters, seed, machine)


@dataclass(frozen=True)
class Measurement:
    """Runs of each configuration, interleaved in random order, until the budget is spent.

    With a budget in time, tasks are planned in batches; the campaign ends when the time is spent.
    """

    id: StudyId
    benchmark: Benchmark
    configurations: tuple[Configuration, ...]
    revision: str
    budget: Budget

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left, or the next batch of them; none where all runs so far have failed."""
        tasks = self.tasks(len(evidence.runs))
        plan = Plan(tuple(task for task in tasks if task.id not in evidence.known)).within(self.budget.left(evidence))
        return hopeful(plan, evidence)

    def conclude(self, evidence: Evidence) -> MeasurementConclusion:
        """A summary of each configuration and metric.

        Raises:
            MeasurementError: where no run yielded anything.
        """
        if not evidence.done:
            raise MeasurementError("nothing was measured", fix=_reason(evidence.failed))
        made = defaultdict[Configuration, list[Run]](list)
        for run in evidence.done:
            made[run.task.configuration].append(run)
        summaries = tuple(
            summarise(metric, configuration, made[configuration])
            for configuration in self.configurations
            if configuration in made
            for metric in self.benchmark.metrics
        )
        failures = tuple(sorted({run.detail for run in evidence.failed}))
        return MeasurementConclusion(
            study=self.id.key,
            benchmark=self.benchmark.name,
            revision=self.revision,
            summaries=summaries,
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=failures,
            seconds=evidence.seconds,
            warnings=tuple(remarked(evidence.done)),
        )

    def tasks(self, made: int) -> tuple[Task, ...]:
        """All tasks in order; of a budget in time those up to a batch after as many runs as were ``made``."""
        blocks = (task for repetition in range(self._repetitions(made)) for task in self._block(repetition))
        return Plan(tuple(blocks)).within(Budget(runs=self.budget.runs)).tasks

    def _repetitions(self, made: int) -> int:
        count = len(self.configurations)
        if math.isinf(self.budget.runs):
            return made // count + BATCH
        return math.ceil(self.budget.runs / count)

    def _block(self, repetition: int) -> list[Task]:
        count = len(self.configurations)
        order = generator(self.id.seed, "order", str(repetition)).permutation(count) if count > 1 else range(count)
        return [
            Task(
                study=self.id.key,
                stage=STAGE,
                benchmark=self.benchmark.name,
                configuration=self.configurations[index],
                revision=self.revision,
                workload=self.benchmark.workload,
                repetition=repetition,
            )
            for index in order
        ]


def _reason(failed: Sequence[Run]) -> str:
    if not failed:
        return "the budget was spent before the first run"
    return f"all {len(failed)} runs failed, the last because: {failed[-1].detail}"
