"""Two stores as one: whatever is in either, in whichever order they are merged."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hati.core import Run, digest
from hati.store.failures import damaged
from hati.store.sql import SqlStore, StudyRecord

_AT_ONCE = 500
"""So many runs are taken in one transaction: a merge that is broken off loses no more, and is completed by another."""


class Count(Struct, frozen=True):
    """So much of a store."""

    studies: int = 0
    runs: int = 0
    events: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.studies + other.studies, self.runs + other.runs, self.events + other.events)


class Merged(Struct, frozen=True):
    """How much of a store was not in the other one yet and is taken, and how much was there already."""

    taken: Count
    known: Count

    def __add__(self, other: Merged) -> Merged:
        return Merged(self.taken + other.taken, self.known + other.known)


_NOTHING = Merged(Count(), Count())


class _Missing(Struct, frozen=True):
    """What one store lacks of a study in another; a run that is replaced is both missing and forgotten."""

    record: StudyRecord
    begun: bool
    choice: str | None
    runs: tuple[Run, ...]
    forgotten: tuple[Run, ...]
    known: int

    @property
    def count(self) -> Merged:
        """How much that is."""
        return Merged(Count(int(self.begun), len(self.runs)), Count(int(not self.begun), self.known))


def merge(into: SqlStore, source: SqlStore) -> Merged:
    """Take all studies, runs and events of another store.

    Where both have a run of the same task, as copies of a store have that were continued apart, the one is kept that
    was started first; of two choices of a study the one whose text comes first. Studies are then in the order in which
    they were first measured. Broken off anywhere and made again, it is completed.
    """
    whole = _NOTHING
    for study in _missing(into, source):
        _take(into, source, study)
        whole += study.count
    into.order_studies()
    events = source.events()
    return whole + _of_events(into.add_events(events), len(events))


def rehearse_merge(into: SqlStore, source: SqlStore) -> Merged:
    """What a merge would take, without taking it."""
    there = {event.id for event in into.events()}
    events = source.events()
    whole = sum((study.count for study in _missing(into, source)), _NOTHING)
    return whole + _of_events(sum(event.id not in there for event in events), len(events))


def _of_events(new: int, events: int) -> Merged:
    return Merged(Count(events=new), Count(events=events - new))


def _missing(into: SqlStore, source: SqlStore) -> Iterator[_Missing]:
    there = {record.id.key: record for record in into.studies()}
    for record in source.studies():
        own = there.get(record.id.key)
        choices = [each.choice for each in (record, own) if each is not None and each.choice is not None]
        choice = min(choices, default=None)
        theirs = source.evidence(record.id).runs
        known = {} if own is None else {run.task.id: run for run in into.evidence(record.id).runs}
        runs = tuple(run for run in theirs if _preferred(run, known.get(run.task.id)))
        forgotten = tuple(known[run.task.id] for run in runs if run.task.id in known)
        changed = choice if own is None or choice != own.choice else None
        yield _Missing(record, own is None, changed, runs, forgotten, len(theirs) - len(runs))


def _take(into: SqlStore, source: SqlStore, study: _Missing) -> None:
    record = study.record
    if study.begun:
        machine = source.machine(record.id.machine)
        if machine is None:
            raise damaged(source.name, f"study {record.id.key}", f"there is no machine {record.id.machine}")
        into.begin(record.id, record.metrics, machine)
    if study.choice is not None:
        into.keep_choice(record.id, study.choice)
    replaced = {run.task.id: run for run in study.forgotten}
    for start in range(0, len(study.runs), _AT_ONCE):
        batch = study.runs[start : start + _AT_ONCE]
        into.replace(record.id, [replaced[run.task.id] for run in batch if run.task.id in replaced], batch)


def _preferred(run: Run, own: Run | None) -> bool:
    return own is None or (run != own and _rank(run) < _rank(own))


def _rank(run: Run) -> tuple[str, str]:
    """Which of two runs of a task is kept: by its start, and where that is the same by its content."""
    content = [run.machine, run.seconds, run.outcome.value, run.detail, run.output]
    values = [[o.metric, o.unit, o.warmup, o.values.tolist()] for o in run.observations]
    return run.started.isoformat(), digest([content, values])
