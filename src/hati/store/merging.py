"""Two stores as one: whatever is in either, in whichever order they are merged."""

from __future__ import annotations

from dataclasses import dataclass

from hati.core import Run, digest
from hati.store.sql import SqlStore, StudyRecord


@dataclass(frozen=True)
class Merged:
    """How much of a store was not in the other one yet."""

    studies: int
    runs: int
    events: int


def merge(into: SqlStore, source: SqlStore) -> Merged:
    """Take all studies, runs and events of another store.

    Where both have a run of the same task, as copies of a store have that were continued apart, the one is kept that
    was started first; of two choices of a study the one whose text comes first.
    """
    studies = runs = 0
    for record in source.studies():
        studies += _take_study(into, source, record)
        runs += _take_runs(into, source, record)
    return Merged(studies, runs, into.add_events(source.events()))


def _take_study(into: SqlStore, source: SqlStore, record: StudyRecord) -> int:
    machine = source.machine(record.id.machine)
    assert machine is not None, "a study's machine is kept with it"
    known = {study.id.key for study in into.studies()}
    there = into.begin(record.id, record.metrics, machine)
    choices = sorted(choice for choice in (there.choice, record.choice) if choice is not None)
    if choices and choices[0] != there.choice:
        into.keep_choice(record.id, choices[0])
    return int(record.id.key not in known)


def _take_runs(into: SqlStore, source: SqlStore, record: StudyRecord) -> int:
    own = {run.task.id: run for run in into.evidence(record.id).runs}
    taken = 0
    for run in source.evidence(record.id).runs:
        there = own.get(run.task.id)
        if there is not None and _rank(run) < _rank(there):
            into.forget_run(there)
        if there is None or _rank(run) < _rank(there):
            into.record(run)
            taken += 1
    return taken


def _rank(run: Run) -> tuple[str, str]:
    """Which of two runs of a task is kept: by its start, and where that is the same by its content."""
    content = [run.machine, run.seconds, run.outcome.value, run.detail, run.output]
    values = [[o.metric, o.unit, o.warmup, o.values.tolist()] for o in run.observations]
    return run.started.isoformat(), digest([content, values])
