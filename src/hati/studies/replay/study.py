"""The study of a replay, and the order of its revisions."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hati.core import Evidence, InputError, Outcome, Plan, Revision, StudyId, Task, generator
from hati.knowledge import Coverage
from hati.stats import FEWEST_VALUES, Dependence
from hati.studies.comparison import MEAN, Automatic, Statistic, StatisticChoices
from hati.studies.failures import failure_reasons, nothing_measured
from hati.studies.gate import Cell, Group, groups
from hati.studies.regression import FEWEST_POSITIONS
from hati.studies.replay.measured import MeasuredRevisions, Replayed, Skipped


class ReplayOrder(StrEnum):
    """The order in which a line of revisions is measured."""

    INTERLEAVED = "interleaved"
    NEWEST = "newest"
    REFINING = "refining"


class KnownLevels(NamedTuple):
    """The measurements of a series: logarithms of its ``levels`` by place, and the ``noise`` of a difference."""

    levels: Mapping[int, float]
    noise: float

    def change(self, first: int, last: int) -> float:
        """The size of the change of level between two places; 0 within the noise."""
        change = abs(self.levels[last] - self.levels[first])
        return change if change > self.noise else 0.0


def refined(number: int, series: Sequence[KnownLevels]) -> int | None:
    """The next of ``number`` places, from 0: the ends, then the middle of the interval with the largest change.

    The change is that of any series; all ``series`` have the same places, those that were measured. If all changes are
    within the noise, the widest interval is taken, so that a change that is undone later is found, too. None if all
    places are measured.
    """
    known = sorted(series[0].levels)
    for end in (number - 1, 0):
        if end not in known:
            return end
    gaps = [(first, last) for first, last in pairwise(known) if last - first > 1]
    if not gaps:
        return None

    def urgency(gap: tuple[int, int]) -> tuple[float, int]:
        return max(one.change(*gap) for one in series), gap[1] - gap[0]

    first, last = max(gaps, key=urgency)
    return (first + last) // 2


def typical_noise(deviations: Sequence[float]) -> float:
    """The difference of two levels without a change: three times the median error of a difference."""
    return 3.0 * float(np.median(deviations)) * 2.0**0.5 if len(deviations) else 0.0


STAGE = "replay"
_MOST_FAILURES = 3


def replay_id(
    cells: Sequence[Cell], revisions: Sequence[Revision], repetitions: int, order: ReplayOrder, seed: int, machine: str
) -> StudyId:
    """The identity of a replay, with all that determines its tasks."""
    parameters: dict[str, object] = {
        "cells": [
            [cell.benchmark.name, cell.benchmark.definition, dict(cell.configuration), dict(cell.stratum), cell.weight]
            for cell in cells
        ],
        "revisions": [revision.id for revision in revisions],
        "repetitions": repetitions,
        "order": order.value,
    }
    return StudyId.of("replay", parameters, seed, machine)


@dataclasses.dataclass(frozen=True)
class Replay:
    """Measures ``revisions``, oldest first, each cell ``repetitions`` times.

    Interleaved, all revisions are in random order within a repetition, so that a machine's drift is not a trend; newest
    first, and refining, whole revisions follow each other. ``statistic`` is that of a run; if it is automatic,
    ``choices`` holds the chosen ones. ``coverage`` describes the part of the space that each benchmark's cells
    represent.

    Raises:
        InputError: for too few revisions, or nothing to measure.
    """

    id: StudyId
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    repetitions: int
    order: ReplayOrder
    statistic: Statistic | Automatic = MEAN
    choices: StatisticChoices = dataclasses.field(default_factory=StatisticChoices, compare=False)
    coverage: tuple[Coverage, ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        fewest = FEWEST_POSITIONS if self.repetitions > 1 else FEWEST_VALUES
        if len(self.revisions) < fewest:
            runs = (
                "of several runs each" if self.repetitions > 1 else f"of a single run each; {FEWEST_POSITIONS} of two"
            )
            raise InputError(
                f"a change can be found among {fewest} revisions or more {runs}, not {len(self.revisions)}",
                fix="name an earlier one, a smaller --every, or more --runs",
            )
        if self.repetitions < 1 or not self.cells:
            raise InputError("a replay needs a configuration and a run of it")

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left, in order; for a refining replay, those of the next revision."""
        tasks = tuple(task for task in self._wanted(evidence) if task.id not in evidence.known)
        total = len(self.revisions) * len(self.cells) * self.repetitions - len(evidence.runs)
        return Plan.of(tasks, total if tasks else 0)

    def conclude(self, evidence: Evidence) -> Replayed:
        """The series from the runs so far.

        Raises:
            MeasurementError: if too few revisions could be measured.
        """
        measured = self._measured(evidence)
        found = {group: series for group in groups(self.cells) if (series := measured.series(group)) is not None}
        if not found:
            metric = self.cells[0].benchmark.metrics[0]
            raise nothing_measured(failure_reasons(evidence.runs, metric))
        whole = [group for group in found if group.stratum is None]
        return Replayed(
            study=self.id.key,
            series=tuple(found.values()),
            spreads={(group.benchmark.name, group.metric.name): measured.spreads(group) for group in whole},
            metrics={(group.benchmark.name, group.metric.name): group.metric for group in whole},
            skipped=tuple(self._skipped(evidence)),
            left=len(self.plan(evidence)),
            runs=len(evidence.runs),
            failed=len(evidence.failed),
            seconds=evidence.seconds,
            coverage=self.coverage,
        )

    def tasks_of(self, place: int) -> list[Task]:
        """All tasks of one revision, in random order."""
        made = [self._task(place, cell, number) for number in range(self.repetitions) for cell in self.cells]
        rng = generator(self.id.seed, "replay", self.revisions[place].id)
        return [made[row] for row in rng.permutation(len(made)).tolist()]

    def _measured(self, evidence: Evidence) -> MeasuredRevisions:
        """The measured revisions; interleaved, the noise of a revision is independent of the next one's."""
        known = self.order is ReplayOrder.INTERLEAVED
        dependence = Dependence.INDEPENDENT if known else Dependence.ESTIMATED
        return MeasuredRevisions(evidence, self.revisions, self.cells, self.statistic, dependence, self.choices)

    def _wanted(self, evidence: Evidence) -> Iterator[Task]:
        given_up = self._given_up(evidence)
        if self.order is ReplayOrder.INTERLEAVED:
            yield from self._interleaved(evidence, given_up)
        elif self.order is ReplayOrder.NEWEST:
            for place in range(len(self.revisions) - 1, -1, -1):
                if place not in given_up:
                    yield from self.tasks_of(place)
        else:
            yield from self._refining(evidence, given_up)

    def _interleaved(self, evidence: Evidence, given_up: frozenset[int]) -> list[Task]:
        """The rest of the first incomplete repetition, after which failing revisions are known."""
        pairs = [(place, cell) for place in range(len(self.revisions)) for cell in self.cells]
        for number in range(self.repetitions):
            rng = generator(self.id.seed, "replay", str(number))
            ordered = (pairs[row] for row in rng.permutation(len(pairs)).tolist())
            tasks = [self._task(place, cell, number) for place, cell in ordered if place not in given_up]
            left = [task for task in tasks if task.id not in evidence.known]
            if left:
                return left
        return []

    def _refining(self, evidence: Evidence, given_up: frozenset[int]) -> list[Task]:
        """The rest of revisions that were begun, else the next one."""
        begun = {run.task.revision for run in evidence.runs}
        places = [place for place, revision in enumerate(self.revisions) if revision.id in begun]
        left = [
            task
            for place in places
            if place not in given_up
            for task in self.tasks_of(place)
            if task.id not in evidence.known
        ]
        if left:
            return left
        measured = self._measured(evidence)
        following = refined(len(self.revisions), [_known(measured, group, places) for group in groups(self.cells)])
        return [] if following is None else self.tasks_of(following)

    def _given_up(self, evidence: Evidence) -> frozenset[int]:
        """The places of revisions that cannot be built, or with three failed runs and none that worked."""
        outcomes: dict[str, list[Outcome]] = defaultdict(list)
        for run in evidence.runs:
            outcomes[run.task.revision].append(run.outcome)
        bad = {
            name
            for name, found in outcomes.items()
            if Outcome.DONE not in found and (Outcome.NOT_BUILT in found or len(found) >= _MOST_FAILURES)
        }
        return frozenset(place for place, revision in enumerate(self.revisions) if revision.id in bad)

    def _skipped(self, evidence: Evidence) -> Iterator[Skipped]:
        """Yield revisions that do not work at all, and cells that do not work at a revision."""
        given_up = self._given_up(evidence)
        for place, revision in enumerate(self.revisions):
            runs = [run for run in evidence.runs if run.task.revision == revision.id]
            if place in given_up:
                yield Skipped(revision, runs[0].detail)
                continue
            for cell in self.cells:
                own = [run for run in runs if (run.task.benchmark, run.task.configuration.key) == cell.key]
                if own and all(run.outcome is not Outcome.DONE for run in own):
                    yield Skipped(revision, own[0].detail, cell.benchmark.name, cell.configuration)

    def _task(self, place: int, cell: Cell, number: int) -> Task:
        return cell.benchmark.task(self.id, STAGE, cell.configuration, self.revisions[place].id, number)


def _known(measured: MeasuredRevisions, group: Group, places: Sequence[int]) -> KnownLevels:
    """The levels of a group at all places that were begun.

    A place that does not work gets the level of the nearest place, so that no change is sought next to it.
    """
    values, noises = measured.levels(group)
    levels = {place: values[min(values, key=lambda known: abs(known - place))] if values else 0.0 for place in places}
    return KnownLevels(levels, typical_noise(noises))
