"""The project of each stored study: several projects may share a store."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from hati.core import InputError
from hati.project import Project, read_project
from hati.store import SqlStore, StudyRecord

SUBJECT = "subject"
"""The key of the subject's name among a study's parameters, or else among the values kept with its campaign."""


class StoredProjects(Struct, frozen=True):
    """The ``own`` studies of a project, by their keys, and the ``others`` with their subjects, empty where unknown."""

    own: tuple[str, ...]
    others: dict[str, str]


def subject_of(record: StudyRecord) -> str:
    """The name of the subject that a study measured; empty in records of earlier versions."""
    kept = (json.loads(text or "{}") for text in (record.id.parameters, record.choice))
    return next((str(each[SUBJECT]) for each in kept if SUBJECT in each), "")


def stored_projects(path: Path, store: SqlStore) -> StoredProjects:
    """The studies of the project at a path; all where there is no readable ``hati.toml``.

    A study without a subject belongs to the projects that have one of its benchmarks.
    """
    records = store.studies()
    try:
        project = read_project(path)
    except InputError:
        return StoredProjects(tuple(record.id.key for record in records), {})
    benchmarks = store.benchmarks()
    own = [record.id.key for record in records if _is_of(project, record, benchmarks.get(record.id.key, ()))]
    others = {record.id.key: subject_of(record) for record in records if record.id.key not in own}
    return StoredProjects(tuple(own), others)


def _is_of(project: Project, record: StudyRecord, benchmarks: tuple[str, ...]) -> bool:
    subject = subject_of(record)
    if subject:
        return subject == project.name
    names = {each.name for each in project.benchmarks}
    return not benchmarks or not names.isdisjoint(benchmarks)
