"""Suspect runs of a design: each is repeated twice, and the median used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Metric, Plan, Run, StudyId, Task
from hati.stats import Index, ModelTerms, most_suspect, suspect_runs
from hati.studies.screening.conclusion import RobustFit, Scale, SuspectRun
from hati.studies.screening.follow_up import is_flip
from hati.studies.screening.measured import Measured, measured
from hati.studies.screening.remedies import Remedies
from hati.studies.screening.tasks import STAGE as DESIGN

STAGE = "again"
FRESH = 2
"""The fresh runs of a suspect one: the median of three is near the two that agree."""

RunKey = tuple[Configuration, int]
"""A run of a design: its configuration and its repetition."""


def runs_again(runs: int, spare: int) -> int:
    """The number of spare runs that are for the suspect ones of a design; a whole number of pairs."""
    return FRESH * min(most_suspect(runs), spare // FRESH)


@dataclass(frozen=True)
class Reruns:
    """Fresh runs of the suspect runs of a design, one after the other, the most suspect first, ``runs`` in all.

    They share their id, and so their evidence and their budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str
    runs: int

    def plan(self, evidence: Evidence, metric: Metric, suspects: Callable[[Evidence], tuple[Run, ...]]) -> Plan:
        """The fresh runs of the most suspect run that has none yet; ``suspects`` of the design's rows if needed.

        One at a time, since its median may clear the others; so it does not matter where a campaign is interrupted.
        None where a median is suspect still: the value was true, and the model lacks something.
        """
        left = self.runs - reruns(evidence)
        if left < 1:
            return Plan()
        found, known = [_key(run.task) for run in suspects(evidence)], repeated(evidence, metric)
        if any(key in known for key in found):
            return Plan()
        unmade = (tuple(task for task in self._tasks(*key) if task.id not in evidence.known) for key in found)
        return Plan(next(filter(None, unmade), ())).at_most(left)

    def _tasks(self, configuration: Configuration, repetition: int) -> tuple[Task, ...]:
        return tuple(
            Task(
                study=self.id.key,
                stage=STAGE,
                benchmark=self.benchmark.name,
                configuration=configuration,
                revision=self.revision,
                workload=self.benchmark.workload,
                repetition=FRESH * repetition + number,
            )
            for number in range(FRESH)
        )


def reruns(evidence: Evidence) -> int:
    """The number of fresh runs that were made."""
    return sum(is_rerun(run.task) for run in evidence.runs)


def is_rerun(task: Task) -> bool:
    """Whether a task repeats a suspect run."""
    return task.stage == STAGE


def settled(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> Measured:
    """The runs of a design, and of its follow-up, as ``measured``; in place of each that was repeated the median run.

    A run of which only one fresh one has a value stays as it is.
    """
    kept = Evidence(tuple(run for run in evidence.runs if _stays(run.task) or is_rerun(run.task)))
    found = measured(kept, metric, rows)
    groups = _groups(found)
    stay = np.array([place for place, run in enumerate(found.runs) if not is_rerun(run.task)], dtype=np.intp)
    used = np.array([_median(found, int(place), groups) for place in stay], dtype=np.intp)
    failed = tuple(run for run in found.failed if not is_rerun(run.task))
    if len(stay) == len(found.runs) and len(failed) == len(found.failed):
        return found
    own = measured(Evidence(tuple(run for run in kept.runs if not is_rerun(run.task))), metric, rows)
    return replace(
        own,
        values=found.values[used],
        machines=found.machines[used],
        runs=tuple(found.runs[place] for place in used),
        samples=tuple(found.samples[place] for place in used),
    )


def reruns_made(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> tuple[SuspectRun, ...]:
    """The runs that were repeated, each with its fresh values, in the order in which they were suspected."""
    again = Evidence(tuple(run for run in evidence.runs if run.task.stage in (DESIGN, STAGE)))
    found = measured(again, metric, rows)
    first = {_key(run.task): place for place, run in enumerate(found.runs) if not is_rerun(run.task)}
    return tuple(
        SuspectRun(
            int(found.order[first[key]]),
            key[0],
            float(found.values[first[key]]),
            tuple(float(found.values[place]) for place in places),
            float(found.values[_median(found, first[key], {key: places})]),
        )
        for key, places in _groups(found).items()
        if key in first and len(places) == FRESH
    )


def repeated(evidence: Evidence, metric: Metric) -> frozenset[RunKey]:
    """The runs all of whose fresh runs yielded a value."""
    worked = (run.task for run in evidence.runs if is_rerun(run.task) and run.of(metric.name) is not None)
    return frozenset(key for key, count in Counter(map(_original, worked)).items() if count == FRESH)


def suspected(terms: ModelTerms, values: FloatArray, scale: Scale) -> tuple[Index, FloatArray]:
    """The places of suspect runs, the most suspect first, and the values with what the others predict in their place.

    Args:
        terms: what may explain the values, beside runs of their own.
        values: one per run, in the metric's unit.
        scale: the one that decides.
    """
    decided = np.log(values) if scale is Scale.LOG else values
    found = suspect_runs(terms, decided)
    without = found.without(decided)
    return found.places, np.exp(without) if scale is Scale.LOG else without


@dataclass(frozen=True, eq=False)
class Unsettled:
    """The suspect ``runs`` that were not repeated, and what the others predict for each, by its task's id."""

    runs: tuple[SuspectRun, ...]
    predicted: Mapping[str, float]

    def without(self, found: Measured) -> Measured:
        """The runs, with predicted values in place of the suspect ones."""
        values = [self.predicted.get(run.task.id, value) for run, value in zip(found.runs, found.values, strict=True)]
        return replace(found, values=np.array(values, dtype=np.float64))


def unsettled(found: Measured, suspects: tuple[Index, FloatArray], known: frozenset[RunKey]) -> Unsettled:
    """What is left of the suspects of a design without those that were repeated."""
    places, predicted = suspects
    left = [int(place) for place in places if _key(found.runs[place].task) not in known]
    return Unsettled(
        tuple(
            SuspectRun(int(found.order[i]), found.runs[i].task.configuration, float(found.values[i]), (), None)
            for i in left
        ),
        {found.runs[i].task.id: float(predicted[i]) for i in left},
    )


def robust_fit(shown: tuple[str, ...], robust: tuple[str, ...]) -> RobustFit:
    """How what the analysis shows with predicted values for suspect runs differs from what that of all runs shows."""
    added = tuple(name for name in robust if name not in shown)
    return RobustFit(robust, added, tuple(name for name in shown if name not in robust))


def again_warning(left: int, spare: int, remedies: Remedies) -> Iterator[str]:
    """That suspect runs were not repeated, where more runs than the spare ones would have served."""
    if left and spare < FRESH and remedies.rest:
        yield (
            f"the budget left no runs to repeat {left} suspect {'run' if left == 1 else 'runs'}; "
            f"--fresh with {FRESH * left} runs more in the budget keeps some for that"
        )


def _stays(task: Task) -> bool:
    return task.stage == DESIGN or is_flip(task)


def _key(task: Task) -> RunKey:
    return _original(task) if is_rerun(task) else (task.configuration, task.repetition)


def _original(task: Task) -> RunKey:
    return task.configuration, task.repetition // FRESH


def _groups(found: Measured) -> dict[RunKey, list[int]]:
    """The places of the fresh runs that yielded a value, by the run that they repeat."""
    groups: dict[RunKey, list[int]] = {}
    for place, run in enumerate(found.runs):
        if is_rerun(run.task):
            groups.setdefault(_original(run.task), []).append(place)
    return groups


def _median(found: Measured, place: int, groups: Mapping[RunKey, list[int]]) -> int:
    """The place of the median run of a run and its fresh ones; its own where these are not complete."""
    task = found.runs[place].task
    fresh = groups.get(_key(task), []) if task.stage == DESIGN else []
    if len(fresh) < FRESH:
        return place
    return sorted([place, *fresh], key=lambda each: float(found.values[each]))[FRESH // 2]
