"""What a store holds: studies, found by the names that people give, the project of each, and data of other stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from hati.core import InputError
from hati.core.wording import nearest, suggestion
from hati.project import FILE, read_project
from hati.store import Merged, Selection, SqlStore, StudyRecord, count_merge, merge, open_store, source_store
from hati.wiring.workplace import IN_MEMORY, found_store, own_store

_ALIKE = 0.8
"""The least likeness of a suggested key: its random digits are alike in part by chance."""


def study_named(records: Sequence[StudyRecord], key: str, otherwise: str = "measure one first") -> StudyRecord:
    """The study with a key, or the only one whose key begins with it.

    Raises:
        InputError: where there is none, or several; ``otherwise`` says what to do where there are no studies at all.
    """
    known = {record.id.key: record for record in records}
    found = [key] if key in known else [name for name in known if name.startswith(key)]
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise InputError(f"{len(found)} studies begin with {key!r}", fix=f"there are: {', '.join(found)}")
    raise unknown_study(list(known), key, otherwise)


def unknown_study(known: Sequence[str], key: str, otherwise: str = "measure one first") -> InputError:
    """The error that no study has a key, with the key that is most like it."""
    beginnings: Mapping[str, str] = {name[: len(key)]: name for name in reversed(known)}
    near = nearest(key, beginnings, _ALIKE)
    fix = f"did you mean {beginnings[near]!r}?" if near else "`hati studies` lists them" if known else otherwise
    return InputError(f"there is no study {key}", fix=fix)


def selection_of(store: SqlStore, study: str | None, benchmark: str | None, task: str | None = None) -> Selection:
    """The selection of the runs of a study and of a benchmark, which the store has to hold.

    Raises:
        InputError: for a study or a benchmark that it does not hold; a store without any run holds all benchmarks.
    """
    key = None if study is None else study_named(store.studies(), study).id.key
    if benchmark is not None:
        known = sorted({name for names in store.benchmarks().values() for name in names})
        if known and benchmark not in known:
            raise InputError(f"the store has no runs of a benchmark {benchmark!r}", fix=suggestion(benchmark, known))
    return Selection(key, benchmark, task)


def is_unmeasured(path: Path, store: SqlStore, benchmark: str) -> bool:
    """Whether the project at a path defines the benchmark, and the store has runs, but none of it.

    Raises:
        InputError: for an error in ``hati.toml``.
    """
    known = {name for names in store.benchmarks().values() for name in names}
    file = project_file(path)
    if not known or benchmark in known or not file.exists():
        return False
    return any(own.name == benchmark for own in read_project(file).benchmarks)


SUBJECT = "subject"
"""The key of the subject's name among a study's parameters, or else among the values kept with its campaign."""


def project_file(path: Path) -> Path:
    """The project's file: the one at a path, or ``hati.toml`` in its folder."""
    return path / FILE if path.is_dir() else path


class StoredProjects(Struct, frozen=True):
    """The ``own`` studies of a project, by their keys, and the ``others`` with their subjects."""

    own: tuple[str, ...]
    others: dict[str, str]


def subject_of(record: StudyRecord) -> str:
    """The name of the subject that a study measured; empty in records of earlier versions."""
    kept = (json.loads(text or "{}") for text in (record.id.parameters, record.choice))
    return next((str(each[SUBJECT]) for each in kept if SUBJECT in each), "")


def stored_projects(path: Path, store: SqlStore) -> StoredProjects:
    """The studies of the project at a path, and those without a subject; all where there is no ``hati.toml``.

    Raises:
        InputError: for an error in ``hati.toml``.
    """
    file = project_file(path)
    name = read_project(file).name if file.exists() else None
    subjects = {record.id.key: subject_of(record) for record in store.studies()}
    others = {key: subject for key, subject in subjects.items() if name is not None and subject not in {"", name}}
    return StoredProjects(tuple(key for key in subjects if key not in others), others)


class ImportedStore(Struct, frozen=True):
    """The data imported from a store, and the store's name in messages."""

    store: str
    merged: Merged


def import_stores(sources: Sequence[str], path: Path, place: str | None) -> list[ImportedStore]:
    """Merge stores into the store of the project at a path, or into the one at ``place``; the sources do not change.

    Raises:
        InputError: where one is not a store, is empty, or of a newer Hati.
        MeasurementError: where one stays locked, or cannot be reached.
    """
    with closing(own_store(path, place)) as into:
        return _taken(sources, into, merge)


def count_import(sources: Sequence[str], path: Path, place: str | None) -> list[ImportedStore]:
    """Count what would be imported from each store; no store is created or changed.

    Raises:
        InputError: as ``import_stores``.
        MeasurementError: as ``import_stores``.
    """
    with closing(found_store(path, place) or open_store(IN_MEMORY)) as into:
        return _taken(sources, into, count_merge)


def _taken(sources: Sequence[str], into: SqlStore, take: Callable[[SqlStore, SqlStore], Merged]) -> list[ImportedStore]:
    found = []
    for source in sources:
        with source_store(source) as store:
            found.append(ImportedStore(store.name, take(into, store)))
    return found
