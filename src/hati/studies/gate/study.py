"""The study: rounds of pairs until every question is settled, or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hati.core import Budget, Evidence, InputError, Plan, Revision, StudyId, Task, batches, generator, replace
from hati.knowledge import Coverage
from hati.studies.comparison import Question, StatisticChoices
from hati.studies.gate.concluding import conclude
from hati.studies.gate.conclusion import GateConclusion, WarmUpCut
from hati.studies.gate.judging import RULE, GateJudgement
from hati.studies.gate.rounds import Cell, Group, Stage, groups, hopeless

BATCH = 16
"""Rounds that are counted on where a budget in time says how many there are."""
_SIDES = 2


def gate_id(
    cells: Sequence[Cell], reference: Revision, revision: Revision, question: Question, seed: int, machine: str
) -> StudyId:
    """The identity of a gate with all that decides its tasks; a larger budget continues it.

    Where the statistic is to be chosen it is that of the mean: campaigns from before choices existed continue.
    """
    parameters: dict[str, object] = {
        "cells": [
            [cell.benchmark.name, cell.benchmark.definition, dict(cell.configuration), dict(cell.stratum), cell.weight]
            for cell in cells
        ],
        "revisions": [reference.id, revision.id],
        "question": [question.alpha, question.margin, str(question.fixed)],
    }
    return StudyId.of("gate", parameters, seed, machine)


def runs_to_decide(question: Question, questions: int) -> int:
    """The runs of a configuration after which a change is found among the questions, and confirmed, at the earliest.

    A suspected change is tested again alone.
    """
    level = math.sqrt(question.alpha)
    return _SIDES * (RULE.fewest(level / questions) + RULE.fewest(level))


@dataclass(frozen=True)
class Gate:
    """Both revisions at every cell, in rounds: exploring first, then confirming what looks changed.

    In a round the cells are in random order, and the two runs of each follow each other, in random order too. Exploring
    ends when every group looks changed or is decided, or when the rest of the budget is needed to
    confirm. ``coverage`` says for each benchmark what the cells stand for, ``choices`` what stands for their runs where
    the question leaves it open, ``warm_ups`` which observations of a run do not count.

    Raises:
        InputError: for cells that are alike, one revision twice, or a budget in runs with fewer rounds than can decide.
    """

    id: StudyId
    reference: Revision
    revision: Revision
    cells: tuple[Cell, ...]
    question: Question
    budget: Budget
    coverage: tuple[Coverage, ...] = field(default=(), compare=False)
    choices: StatisticChoices = field(default_factory=StatisticChoices)
    warm_ups: tuple[WarmUpCut, ...] = ()

    def __post_init__(self) -> None:
        if len({cell.key for cell in self.cells}) != len(self.cells) or not self.cells:
            raise InputError("a gate needs configurations, each once")
        if self.reference.id == self.revision.id:
            raise InputError(f"{self.revision} is the reference itself", fix="name another by --reference")
        least = self._fewest * len(self.cells) * _SIDES
        if self.budget.runs < least:
            raise InputError(
                f"{self.budget.runs:g} runs cannot decide on {len(self.cells)} configurations at two revisions",
                fix=f"give --budget {least + self._reserve(len(self.cells))} or more, or measure fewer configurations",
            )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups that are compared."""
        return groups(self.cells)

    def judgement(self, evidence: Evidence) -> GateJudgement:
        """What the evidence says."""
        return GateJudgement(self.cells, self.groups, self.question, evidence, self.choices, self.warm_ups)

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks of the next round, or those left of one that was begun; none where all is settled."""
        found = self.judgement(evidence)
        given_up = hopeless(evidence, self.cells)
        alive = [position for position in range(len(self.cells)) if position not in given_up]
        tasks = list(self._unfinished(found, evidence, alive)) or self._next(found, evidence, alive)
        pairs = batches(tasks, lambda task: (task.benchmark, task.configuration))
        return Plan(pairs).within(self.budget.left(evidence))

    def conclude(self, evidence: Evidence) -> GateConclusion:
        """Conclude from the evidence, at any time.

        Raises:
            MeasurementError: where no cell has a pair.
        """
        found = conclude(self.judgement(evidence), self.id.key, self.reference, self.revision)
        return replace(found, coverage=self.coverage, warm_ups=self.warm_ups)

    def dry_run_tasks(self) -> tuple[Task, ...]:
        """The tasks of all rounds of exploring that there may be; the first ones of a budget in time."""
        rounds = self.budget.runs // (_SIDES * len(self.cells)) if math.isfinite(self.budget.runs) else BATCH
        everything = range(len(self.cells))
        return tuple(task for number in range(int(rounds)) for task in self._round(Stage.EXPLORING, number, everything))

    @property
    def _fewest(self) -> int:
        """Rounds before a stage can decide."""
        return RULE.fewest(math.sqrt(self.question.alpha))

    def _reserve(self, cells: int) -> int:
        """The fewest runs that confirm a change of ``cells`` cells."""
        return self._fewest * cells * _SIDES

    def _next(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> list[Task]:
        groups = [group for group in self.groups if not set(alive).isdisjoint(group.cells)]
        explored, confirmed = (_rounds(evidence, stage) for stage in Stage)
        undecided = [group for group in groups if found.watched(group)]
        if not confirmed and alive and undecided and self._affords_exploring(found, evidence, alive):
            return list(self._round(Stage.EXPLORING, explored, alive))
        if all(map(found.settled, found.suspected)):
            return []
        return list(self._round(Stage.CONFIRMING, confirmed, self._suspected_cells(found, alive)))

    def _affords_exploring(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> bool:
        """Whether after another round enough runs are left to confirm: confirming takes as many as suspecting did.

        Where nothing looks changed yet nothing is kept.
        """
        suspected = self._suspected_cells(found, alive)
        rounds = _rounds(evidence, Stage.EXPLORING) + 1
        runs = _SIDES * (len(alive) + max(self._fewest, rounds) * len(suspected))
        left = self.budget.left(evidence)
        each = evidence.seconds_per_run
        return runs <= left.runs and (not suspected or runs * each <= left.seconds)

    def _unfinished(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> Iterator[Task]:
        """The rest of the last round of each stage: a campaign may have been killed in it."""
        wanted = {Stage.EXPLORING: alive, Stage.CONFIRMING: self._suspected_cells(found, alive)}
        for stage, positions in wanted.items():
            begun = _rounds(evidence, stage)
            if begun:
                yield from (t for t in self._round(stage, begun - 1, positions) if t.id not in evidence.known)

    @staticmethod
    def _suspected_cells(found: GateJudgement, alive: Sequence[int]) -> list[int]:
        """Those of all that looks changed: what does is decided by exploring alone."""
        return sorted({place for group in found.suspected for place in group.cells}.intersection(alive))

    def _round(self, stage: Stage, number: int, positions: Sequence[int]) -> Iterator[Task]:
        rng = generator(self.id.seed, "gate", stage.value, str(number))
        for place in rng.permutation(len(self.cells)).tolist():
            first = int(rng.integers(2))
            if place in positions:
                for side in (first, 1 - first):
                    yield self._task(stage, number, self.cells[place], side)

    def _task(self, stage: Stage, number: int, cell: Cell, side: int) -> Task:
        return Task(
            study=self.id.key,
            stage=stage.side(side),
            benchmark=cell.benchmark.name,
            configuration=cell.configuration,
            revision=(self.reference, self.revision)[side].id,
            workload=cell.benchmark.workload,
            repetition=number,
        )


def _rounds(evidence: Evidence, stage: Stage) -> int:
    """How many rounds of a stage were begun."""
    sides = {stage.side(0), stage.side(1)}
    return 1 + max((run.task.repetition for run in evidence.runs if run.task.stage in sides), default=-1)
