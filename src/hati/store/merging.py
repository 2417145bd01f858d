"""Merge two stores; the result does not depend on the order of merging, and the source is not changed."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Engine

from hati.core import InputError, Machine, Run, digest
from hati.store.databases import Database, Sqlite, damaged
from hati.store.opening import database, kept_if_usable, migrate, revision_of
from hati.store.schema import HEAD
from hati.store.sql import SqlStore, StudyRecord

_BUSY_SECONDS = 10
_READ = "SELECT count(*) FROM sqlite_master"


@contextmanager
def source_store(place: str) -> Iterator[SqlStore]:
    """Open a store for reading: a file is copied, and the copy is upgraded to the newest migration.

    Raises:
        InputError: where it does not exist, is not a store, is of a newer Hati, or is on a server and of an older one.
        MeasurementError: where it stays locked, or the server cannot be reached.
    """
    where = database(place)
    if where.missing():
        raise InputError(f"there is no store {where.name}", fix="name a store's file, or its URL")
    if not isinstance(where, Sqlite) or where.file is None:
        with closing(_read(where)) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="hati-") as folder:
        copy = Sqlite.at(Path(folder) / "store.sqlite", where.name)
        _copy(where, where.file, Path(folder) / "store.sqlite")
        with closing(_upgraded(copy)) as store:
            yield store


def _read(where: Database) -> SqlStore:
    with kept_if_usable(where) as engine:
        if _revision(engine, where) != HEAD:
            raise InputError(f"the store {where.name} is of an older Hati", fix="upgrade it by `hati runs --store URL`")
    return SqlStore(engine, where)


def _upgraded(copy: Sqlite) -> SqlStore:
    with kept_if_usable(copy) as engine:
        if _revision(engine, copy) != HEAD:
            migrate(engine, copy)
    return SqlStore(engine, copy)


def _revision(engine: Engine, where: Database) -> str:
    found = revision_of(engine, where)
    if found is None:
        raise InputError(f"the store {where.name} is empty", fix="name a store that something was measured into")
    return found


def _copy(where: Sqlite, file: Path, copy: Path) -> None:
    """Copy the committed content, also while another process writes."""
    try:
        with closing(_opened(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.execute("BEGIN")
            source.execute(_READ)  # from here on nobody can lock the file, for which the backup would wait without end
            source.backup(target)
    except sqlite3.Error as error:
        raise where.refused(str(error)) from error
    except UnicodeDecodeError as error:
        raise damaged(where.name, "its schema", error) from error


def _opened(file: Path) -> sqlite3.Connection:
    """Open a file for writing, since a read-only connection would leave SQLite's own files next to it."""
    place = file.resolve().as_uri()
    try:
        connection = sqlite3.connect(f"{place}?mode=rw", uri=True, timeout=_BUSY_SECONDS)
        connection.execute(_READ)
    except sqlite3.OperationalError as error:
        alone = not file.with_name(f"{file.name}-wal").exists()
        if "unable to open" not in str(error) or not alone:
            raise
        return sqlite3.connect(f"{place}?immutable=1", uri=True)  # the folder is not writable
    return connection


_AT_ONCE = 500
"""The number of runs per transaction: an interrupted merge loses no more, and can be completed by another."""


class Count(Struct, frozen=True):
    """Numbers of studies, runs and events."""

    studies: int = 0
    runs: int = 0
    events: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.studies + other.studies, self.runs + other.runs, self.events + other.events)


class Merged(Struct, frozen=True):
    """The numbers of items that were taken from a store, and of those that the other store had already."""

    taken: Count
    known: Count

    def __add__(self, other: Merged) -> Merged:
        return Merged(self.taken + other.taken, self.known + other.known)


_NOTHING = Merged(Count(), Count())


class _Missing(Struct, frozen=True):
    """What a store lacks of a study in another store; a run to be replaced is in both ``runs`` and ``forgotten``."""

    record: StudyRecord
    begun: bool
    choice: str | None
    runs: tuple[Run, ...]
    forgotten: tuple[Run, ...]
    known: int

    @property
    def count(self) -> Merged:
        """The numbers of these items."""
        return Merged(Count(int(self.begun), len(self.runs)), Count(int(not self.begun), self.known))


def merge(into: SqlStore, source: SqlStore) -> Merged:
    """Merge all studies, runs and events of another store into a store.

    If both have a run of the same task, as separately continued copies of a store do, the one that started first is
    kept; of two choices of a study, the one whose text sorts first. Studies are then in the order in which they were
    first measured. An interrupted merge is completed by repeating it.
    """
    whole, machines = _NOTHING, source.machines()
    into.keep_machines(machines)
    for study in _missing(into, source):
        _take(into, source, study, machines)
        whole += study.count
    into.order_studies()
    events = source.events()
    return whole + _of_events(into.add_events(events), len(events))


def count_merge(into: SqlStore, source: SqlStore) -> Merged:
    """Count what a merge would take, without merging."""
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


def _take(into: SqlStore, source: SqlStore, study: _Missing, machines: Sequence[Machine]) -> None:
    record = study.record
    if study.begun:
        if not any(record.id.machine in each.fingerprints for each in machines):
            raise damaged(source.name, f"study {record.id.key}", f"there is no machine {record.id.machine}")
        into.begin(record.id, record.metrics)
    if study.choice is not None:
        into.keep_choice(record.id, study.choice)
    replaced = {run.task.id: run for run in study.forgotten}
    for start in range(0, len(study.runs), _AT_ONCE):
        batch = study.runs[start : start + _AT_ONCE]
        into.replace(record.id, [replaced[run.task.id] for run in batch if run.task.id in replaced], batch)


def _preferred(run: Run, own: Run | None) -> bool:
    return own is None or (run != own and _rank(run) < _rank(own))


def _rank(run: Run) -> tuple[str, str]:
    """The rank of a run among those of its task, of which the lowest is kept: by its start, then by its content."""
    content = [run.machine, run.seconds, run.outcome.value, run.detail, run.output]
    values = [[o.metric, o.unit, o.warmup, o.values.tolist()] for o in run.observations]
    return run.started.isoformat(), digest([content, values])
