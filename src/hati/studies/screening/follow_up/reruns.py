"""Runs that are repeated: each suspect run twice, and the median run of the three is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, InputError, Metric, Plan, Run, StudyId, Task, replace
from hati.stats import most_suspect
from hati.studies.screening.analysis.runs import MeasuredDesign, machines_of, measured, repetition_blocks
from hati.studies.screening.conclusion import SuspectRun
from hati.studies.screening.planning.tasks import STAGE as DESIGN

STAGE = "again"
"""The stage of repetitions of a design's runs; for repetitions of another stage this word precedes its name."""
FRESH = 2
"""The fresh runs of a suspect one: the median of three is near the two that agree."""

RunKey = tuple[str, Configuration, int]
"""A run that may be repeated: its stage, its configuration and its repetition."""


def runs_again(runs: int, spare: int) -> int:
    """The number of spare runs for the suspect ones among ``runs``; a whole number of pairs."""
    return FRESH * min(most_suspect(runs), spare // FRESH)


class Reruns(Struct, frozen=True):
    """Fresh runs of suspect runs, one suspect run after the other, the most suspect first.

    They share their id, and so their evidence and their budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str

    def plan(
        self, evidence: Evidence, metric: Metric, suspects: Callable[[Evidence], tuple[Run, ...]], left: int
    ) -> Plan:
        """The fresh runs of the most suspect run that has none yet; none where fewer than one run is ``left``.

        One at a time, since its median may clear the others; so it does not matter where a campaign is interrupted.
        None where a median is suspect still: the value was true, and the model lacks something.
        """
        if left < 1:
            return Plan()
        found, known = [run_key(run.task) for run in suspects(evidence)], repeated(evidence, metric)
        if any(key in known for key in found):
            return Plan()
        unmade = (tuple(task for task in self._tasks(*key) if task.id not in evidence.known) for key in found)
        return Plan.of(next(filter(None, unmade), ())).at_most(left)

    def _tasks(self, stage: str, configuration: Configuration, repetition: int) -> tuple[Task, ...]:
        return tuple(
            Task(
                study=self.id.key,
                stage=rerun_stage(stage),
                benchmark=self.benchmark.name,
                configuration=configuration,
                revision=self.revision,
                workload=self.benchmark.workload,
                repetition=FRESH * repetition + number,
            )
            for number in range(FRESH)
        )


def rerun_stage(stage: str) -> str:
    """The stage of the repetitions of a stage's runs."""
    return STAGE if stage == DESIGN else f"{STAGE} {stage}"


def is_rerun(task: Task) -> bool:
    """Whether a task repeats a suspect run."""
    return task.stage == STAGE or task.stage.startswith(f"{STAGE} ")


def design_reruns(evidence: Evidence) -> int:
    """The number of runs that repeat those of the design."""
    return len(evidence.stage(STAGE).runs)


def run_key(task: Task) -> RunKey:
    """Of the run itself; of one that repeats another, of that one."""
    return _repeated_run(task) if is_rerun(task) else (task.stage, task.configuration, task.repetition)


def settled(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> MeasuredDesign:
    """The runs as ``measured``; the median run replaces each that was repeated.

    It has its own place in time and its own machine, and belongs to the repetition of the run that it replaces. A run
    of which only one fresh one has a value stays as it is.
    """
    found = measured(evidence, metric, rows)
    if not any(is_rerun(run.task) for run in evidence.runs):
        return found
    groups = _groups(found)
    stay = [place for place, run in enumerate(found.runs) if not is_rerun(run.task)]
    used = np.array([_median(found, place, groups) for place in stay], dtype=np.intp)
    runs = tuple(found.runs[place] for place in used)
    repetitions, machines = np.array([run_key(run.task)[2] for run in runs], dtype=np.intp), machines_of(runs)
    own = measured(without_reruns(evidence), metric, rows)
    return replace(
        own,
        values=found.values[used],
        blocks=repetition_blocks(repetitions, machines),
        machines=machines,
        order=found.order[used],
        runs=runs,
        samples=tuple(found.samples[place] for place in used),
    )


def reruns_made(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> tuple[SuspectRun, ...]:
    """The runs that were repeated, each with its fresh values, in the order in which they were suspected."""
    found = measured(evidence, metric, rows)
    first = {run_key(run.task): place for place, run in enumerate(found.runs) if not is_rerun(run.task)}
    return tuple(
        SuspectRun(
            int(found.order[first[key]]),
            found.runs[first[key]].task.configuration,
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
    return frozenset(key for key, count in Counter(map(_repeated_run, worked)).items() if count == FRESH)


def blocks_of_tasks(
    tasks: Sequence[Task], blocks: int, row_blocks: Callable[[int], Mapping[Configuration, int]]
) -> list[int | None]:
    """The block of each run of a design, or of its repetition, from 0; None of any other run.

    A row is in the block that ``row_blocks`` says, by default the first, and each repetition of it in the next. There
    are fewer blocks where ``row_blocks`` refuses this number.
    """
    keys = [run_key(task) for task in tasks]
    number, known = _most_blocks(blocks, row_blocks) if any(stage == DESIGN for stage, *_ in keys) else (1, {})
    return [
        (known.get(configuration, 0) + repetition) % number if stage == DESIGN else None
        for stage, configuration, repetition in keys
    ]


def _most_blocks(
    most: int, row_blocks: Callable[[int], Mapping[Configuration, int]]
) -> tuple[int, Mapping[Configuration, int]]:
    for number in range(most, 1, -1):
        with suppress(InputError):
            return number, row_blocks(number)
    return 1, {}


def without_reruns(evidence: Evidence) -> Evidence:
    """The runs that repeat no other."""
    return Evidence(tuple(run for run in evidence.runs if not is_rerun(run.task)))


def _repeated_run(task: Task) -> RunKey:
    stage = DESIGN if task.stage == STAGE else task.stage.removeprefix(f"{STAGE} ")
    return stage, task.configuration, task.repetition // FRESH


def _groups(found: MeasuredDesign) -> dict[RunKey, list[int]]:
    """The places of the fresh runs that yielded a value, by the run that they repeat."""
    groups: dict[RunKey, list[int]] = {}
    for place, run in enumerate(found.runs):
        if is_rerun(run.task):
            groups.setdefault(_repeated_run(run.task), []).append(place)
    return groups


def _median(found: MeasuredDesign, place: int, groups: Mapping[RunKey, list[int]]) -> int:
    """The place of the median run of a run and its fresh ones; its own where these are not complete."""
    fresh = groups.get(run_key(found.runs[place].task), [])
    if len(fresh) < FRESH:
        return place
    return sorted([place, *fresh], key=lambda each: float(found.values[each]))[FRESH // 2]
