"""Studies and benchmarks of a store by the names that people give, and the project of each: several may share it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hati.core import InputError, StudyId
from hati.core.wording import listed, nearest, suggestion
from hati.project import FILE, read_project
from hati.store import Selection, SqlStore, StudyRecord

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


_ALIKE = 0.8
"""The least likeness of a suggested key: its random digits are alike in part by chance."""


def study_named(records: Sequence[StudyRecord], key: str, otherwise: str = "measure one first") -> StudyRecord:
    """The study with a key, or the only one whose key begins with it, with whole words of it first.

    Raises:
        InputError: where there is none, or several; ``otherwise`` says what to do where there are no studies at all.
    """
    known = {record.id.key: record for record in records}
    if key in known:
        return known[key]
    words, beginnings = ([name for name in known if key and name.startswith(each)] for each in (f"{key}-", key))
    found = words or beginnings
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise InputError(f"{len(found)} studies begin with {key!r}", fix=f"there are: {listed(found, 12)}")
    raise unknown_study(list(known), key, otherwise)


def study_to_forget(records: Sequence[StudyRecord], key: str) -> StudyRecord:
    """The study with a key, or the only one with that key without its token.

    Raises:
        InputError: where there is none, or several; it lists the studies whose keys begin with it.
    """
    whole = [record for record in records if record.id.key == key]
    found = whole or [record for record in records if _without_token(record.id) == key]
    if len(found) == 1:
        return found[0]
    known = [record.id.key for record in records]
    if not (begin := [name for name in known if key and name.startswith(key)]):
        raise unknown_study(known, key, "the store is empty")
    raise InputError(
        f"{key!r} is not the key of {'a study' if not found else 'one study'}",
        fix=f"give one that `hati studies` lists; those that begin with it: {listed(begin, 12)}",
    )


def shown_keys(studies: Sequence[StudyId]) -> list[str]:
    """The keys without their tokens, except where two would be the same."""
    short = list(map(_without_token, studies))
    number = Counter(short)
    return [name if number[name] == 1 else study.key for name, study in zip(short, studies, strict=True)]


def _without_token(study: StudyId) -> str:
    return study.key.removesuffix(f"-{study.token}")


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
