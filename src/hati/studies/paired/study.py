"""The study: the next pairs until it is decided, or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from hati.core import Batch, BatchOrder, Budget, Evidence, InputError, Metric, Pairing, Plan, Stopping, StudyId, Task
from hati.harness import first_of_pair
from hati.studies.failures import GIVE_UP_AFTER, failure_reasons, nothing_measured
from hati.studies.paired.conclusion import STAGES, PairedConclusion, PairedDesign, Variant, complete, decided, weigh

BATCH = 16
"""Pairs that are planned at a time where a budget in time says how many there are."""
_RUNS = 2


def paired_id(
    before: Variant,
    after: Variant,
    revision: str,
    stopping: Stopping,
    budget: str,
    seed: int,
    machine: str,
    pairing: Pairing = Pairing.INTERLEAVED,
) -> StudyId:
    """The identity of a comparison with all that decides its tasks.

    Of an anytime-valid one neither the budget nor the level: it may be continued with more of either.
    """
    parameters: dict[str, object] = {
        "variants": [[v.benchmark.name, v.benchmark.definition, dict(v.configuration)] for v in (before, after)],
        "revision": revision,
        "stopping": stopping.value,
        "pairing": pairing.value,
        "budget": budget if stopping is Stopping.FIXED else None,
    }
    return StudyId.of("paired", parameters, seed, machine)


class PairedComparison(Struct, frozen=True):
    """Pairs of a run of each variant, in random order within the pair, until the rule decides or the budget is spent.

    Raises:
        InputError: for a budget in runs that has fewer pairs than can decide.
    """

    id: StudyId
    contest: PairedDesign
    metrics: tuple[Metric, ...]
    budget: Budget

    def __post_init__(self) -> None:
        fewest = self.contest.rule.fewest(self.contest.question.alpha)
        if self._most < fewest:
            raise InputError(
                f"{self.budget.runs:g} runs are {self._most:g} pairs, and {fewest} are the fewest that can decide at "
                f"alpha {self.contest.question.alpha:g}",
                fix=f"give --budget {_RUNS * fewest} or more",
            )

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks of the pairs up to the next look; none where it is decided.

        Before a run of either side has worked, those of five pairs, and no more where none of them did.
        """
        both_work = all(evidence.stage(side).done for side in STAGES)
        pairs = self._wanted(evidence) if both_work else min(self._wanted(evidence), GIVE_UP_AFTER)
        batches = self._batches(range(pairs), evidence)
        if not batches:
            return Plan()
        most = int(_RUNS * self._most - len(evidence.runs)) if math.isfinite(self._most) else 0
        ahead = self._batches(range(pairs, self.most_pairs(evidence)), evidence) if both_work else ()
        return Plan(batches, most, ahead).within(self.budget.left(evidence))

    def conclude(self, evidence: Evidence) -> PairedConclusion:
        """The comparison of each metric of which there is a complete pair.

        Raises:
            MeasurementError: where there is none.
        """
        found, rests_on = weigh(self.contest, evidence, self.metrics)
        reasons = dict.fromkeys(why for metric in self.metrics for why in failure_reasons(evidence.runs, metric))
        if not found.rows:
            raise nothing_measured(tuple(reasons))
        return PairedConclusion(
            study=self.id.key,
            before=self.contest.before,
            after=self.contest.after,
            stopping=self.contest.rule.kind,
            pairing=self.contest.pairing,
            seed=self.id.seed,
            comparisons=found,
            weighed=rests_on,
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=tuple(reasons),
            seconds=evidence.seconds,
        )

    def tasks(self, pairs: int) -> tuple[Task, ...]:
        """The tasks of the first ``pairs`` pairs, in order."""
        return tuple(task for pair in range(pairs) for task in self._pair(pair))

    def most_pairs(self, evidence: Evidence) -> int:
        """How many the budget has runs for; of one in time a batch more than were begun."""
        return int(self._most) if math.isfinite(self._most) else _begun(evidence) + BATCH

    @property
    def _most(self) -> float:
        """How many pairs the budget has runs for."""
        return self.budget.runs // _RUNS if math.isfinite(self.budget.runs) else math.inf

    def _wanted(self, evidence: Evidence) -> int:
        """How many pairs there are to be in all before the next look."""
        if self.contest.rule.kind is Stopping.FIXED:
            return self.most_pairs(evidence)
        if decided(self.contest, evidence, self.metrics):
            return 0
        begun = _begun(evidence)
        halved = len(evidence.runs) < _RUNS * begun and self.contest.pairing is Pairing.INTERLEAVED
        fewest = self.contest.rule.fewest(self.contest.question.alpha)
        pairs = min(len(complete(evidence, metric)) for metric in self.metrics)
        return int(min(begun + (0 if halved else max(1, fewest - pairs)), self._most))

    def _batches(self, pairs: Iterable[int], evidence: Evidence) -> tuple[Batch[Task], ...]:
        """A batch for each pair, of its tasks that have no run yet; none where one of a duet has: it was broken off."""
        duet = self.contest.pairing is Pairing.DUET
        found: list[Batch[Task]] = []
        for tasks in map(self._pair, pairs):
            left = tuple(task for task in tasks if task.id not in evidence.known)
            if left and not (duet and len(left) < len(tasks)):
                found.append(Batch(left, BatchOrder.TOGETHER if duet else BatchOrder.SEQUENCE))
        return tuple(found)

    def _pair(self, pair: int) -> list[Task]:
        first = first_of_pair(self.id.seed, pair)
        return [self._task(side, pair) for side in (first, 1 - first)]

    def _task(self, side: int, pair: int) -> Task:
        variant = (self.contest.before, self.contest.after)[side]
        return Task(
            study=self.id.key,
            stage=STAGES[side],
            benchmark=variant.benchmark.name,
            configuration=variant.configuration,
            revision=self.contest.revision,
            workload=variant.benchmark.workload,
            repetition=pair,
        )


def _begun(evidence: Evidence) -> int:
    """How many pairs have a run."""
    return 1 + max((run.task.repetition for run in evidence.runs), default=-1)
