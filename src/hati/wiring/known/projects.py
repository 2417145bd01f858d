"""The project of each stored study: several projects may share a store."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from hati.project import FILE, read_project
from hati.store import SqlStore, StudyRecord

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
