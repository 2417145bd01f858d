"""What to set: the predicted best configurations, confirmed by fresh runs beside the default."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    Metric,
    Plan,
    Run,
    StudyId,
    Task,
    conversion,
    generator,
)
from hati.design import levels
from hati.space import Space
from hati.studies.failures import failure_reasons, hopeful
from hati.studies.recommendation.comparison import CONFIDENCE, paired_change
from hati.studies.recommendation.conclusion import MetricChange, RecommendationConclusion, Recommended
from hati.studies.recommendation.planned import FEWEST_PAIRS, Predicted, RecommendationPlan
from hati.studies.recommendation.search import to_set

STAGE = "confirmation"


@dataclass(frozen=True)
class Recommendation:
    """Runs recommended configurations and the baseline in randomised blocks, and concludes whether they are better.

    ``metrics`` has the one that was asked for first. ``looked_up`` says that runs come from a table that has them once.
    """

    id: StudyId
    screening: str
    subject: str
    benchmark: Benchmark
    metrics: tuple[Metric, ...]
    revision: str
    space: Space
    wanted: RecommendationPlan
    looked_up: bool

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs in order: in each block every configuration once, in an order drawn anew."""
        rng = generator(self.id.seed, "confirmation")
        measured = [self.wanted.baseline, *(one.configuration for one in self.wanted.recommended)]
        blocks = range(self.wanted.pairs)
        return tuple(self._task(measured[int(i)], block) for block in blocks for i in rng.permutation(len(measured)))

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left; no more than five before a first run has worked."""
        left = Plan(tuple(task for task in self.tasks if task.id not in evidence.known))
        return hopeful(left, evidence)

    def conclude(self, evidence: Evidence) -> RecommendationConclusion:
        """What was confirmed, complete or not.

        Raises:
            InputError: where a run's unit cannot be converted to the metric's.
        """
        confidence = 1.0 - (1.0 - CONFIDENCE) / max(1, len(self.wanted.recommended))
        recommended = tuple(self._recommended(one, evidence, confidence) for one in self.wanted.recommended)
        return RecommendationConclusion(
            study=self.id.key,
            screening=self.screening,
            subject=self.subject,
            metric=self.metrics[0],
            baseline=self.wanted.baseline,
            recommended=recommended,
            looked_up=self.looked_up,
            pairs=self.wanted.pairs,
            planned=len(self.tasks),
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=failure_reasons(evidence.failed, self.metrics[0]),
            seconds=evidence.seconds,
            warnings=self._warnings(recommended),
        )

    def _recommended(self, one: Predicted, evidence: Evidence, confidence: float) -> Recommended:
        row, start = levels([one.configuration], self.space)[0], levels([self.wanted.baseline], self.space)[0]
        names = to_set(row, start, self.space)
        return Recommended(
            configuration=one.configuration,
            set=tuple((name, one.configuration[name]) for name in names),
            metric=one.metric,
            changes=tuple(self._change(one, metric, evidence, confidence) for metric in self.metrics),
        )

    def _change(self, one: Predicted, metric: Metric, evidence: Evidence, confidence: float) -> MetricChange:
        values, baselines = self._pairs(one.configuration, metric, evidence)
        found = paired_change(values, baselines, confidence) if len(values) else None
        return MetricChange(
            metric=metric,
            predicted=one.values.get(metric.name),
            predicted_change=one.changes.get(metric.name),
            measured=None if found is None else found.value,
            baseline=None if found is None else found.baseline,
            change=None if found is None else found.change,
            interval=None if found is None else found.interval,
            pairs=len(values),
        )

    def _pairs(self, configuration: Configuration, metric: Metric, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """The values of a configuration and of the baseline in the blocks in which both have one."""
        one, other = (_by_block(evidence.runs, c, metric) for c in (configuration, self.wanted.baseline))
        blocks = sorted(one.keys() & other.keys())
        return np.array([one[block] for block in blocks]), np.array([other[block] for block in blocks])

    def _warnings(self, recommended: tuple[Recommended, ...]) -> tuple[str, ...]:
        told = []
        if self.wanted.baseline != self.space.default:
            told.append(
                "the default configuration cannot be run: the comparison is with the one that differs least from it"
            )
        if self.looked_up and recommended:
            told.append("runs were looked up in a table, not made afresh: the screening may have had the same ones")
        elif recommended and self.wanted.pairs < FEWEST_PAIRS:
            told.append(f"the budget had room for {self.wanted.pairs} pairs of runs: give more for a narrower interval")
        return tuple(told)

    def _task(self, configuration: Configuration, repetition: int) -> Task:
        return Task(
            study=self.id.key,
            stage=STAGE,
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=self.revision,
            workload=self.benchmark.workload,
            repetition=repetition,
        )


def _by_block(runs: tuple[Run, ...], configuration: Configuration, metric: Metric) -> dict[int, float]:
    found = ((run, run.of(metric.name)) for run in runs if run.task.configuration == configuration)
    return {
        run.task.repetition: observations.mean * conversion(observations.unit, metric.unit)
        for run, observations in found
        if observations is not None
    }
