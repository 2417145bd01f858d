"""Read formulas from files and the command line, and the samples in files that decide them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from hati.core import InputError, Sample
from hati.core.wording import suggestion
from hati.formula import FormulaError, Source
from hati.logic.syntax import MOST_ATOMS, Method, PerformanceSide, Relation, parse_file, parse_formula
from hati.studies.assertion import Requirement, SampleCollector, methods_of

SUFFIX = ".spl"
PYTHON = ".py"
_ON_THE_LINE = "formula"
_MARKS = (("hati.toml",), ("pyproject.toml", ".git", ".svn"))


class Misstated(Struct, frozen=True):
    """A malformed statement on the function ``name``; ``error`` has the reason and the place."""

    name: str
    text: str
    error: InputError


Stated = TypeVar("Stated", bound=Requirement | Misstated)


class TooManyError(InputError):
    """Formulas that have too many relations to be decided together."""


class NamedFile(Struct, frozen=True):
    """A file of samples and its name in formulas; ``benchmark`` is the one to read from it, None for all."""

    name: str
    path: Path
    benchmark: str | None

    @classmethod
    def parse(cls, text: str) -> NamedFile:
        """Read ``NAME=FILE`` or ``NAME=FILE#BENCHMARK``.

        Raises:
            InputError: for anything else.
        """
        name, equals, file = text.rpartition("=")
        if not (name.strip() and equals and file.strip()):
            raise InputError(f"{text!r} is not NAME=FILE", fix="write as in --samples a=a.json,b=b.json")
        path, hash_, benchmark = file.strip().partition("#")
        return cls(name.strip(), Path(path), benchmark if hash_ else None)


def split_samples(text: str) -> list[str]:
    """Split ``a=a.json,b=b.json`` at its commas, except within the brackets of a method's name.

    >>> split_samples("sort[rand](10, 2)=x.json,b=y.json")
    ['sort[rand](10, 2)=x.json', 'b=y.json']
    """
    depths = accumulate((char in "([{") - (char in ")]}") for char in text)
    marked = "".join("\0" if char == "," and not depth else char for char, depth in zip(text, depths, strict=True))
    return [part for part in marked.split("\0") if part.strip()]


def project_around(path: Path) -> Path:
    """The nearest folder upward with a project file; else with a Python project or a repository; else the path's."""
    start = path.resolve() if path.is_dir() else path.resolve().parent
    for marks in _MARKS:
        for folder in (start, *start.parents):
            if any((folder / mark).exists() for mark in marks):
                return folder
    return start


def formulas_of(text: str) -> tuple[Requirement, ...]:
    """The formula in a text of the command line.

    Raises:
        InputError: where the text is not a formula.
    """
    return (Requirement(parse_formula(text, _ON_THE_LINE), Source(text, _ON_THE_LINE)),)


def formulas_in(paths: Sequence[Path], project: Path | None = None) -> tuple[Requirement, ...]:
    """The formulas of files, and of all files below folders, in order of their paths.

    Python files state formulas by ``@hati.spl``; they belong to the ``project``, or to the one around each file.

    Raises:
        InputError: for a missing file, a folder without formulas, a malformed formula, or too many ``together``.
    """
    files = [file for path in paths for file in _files(path)]
    return together(requirement for file in dict.fromkeys(files) for requirement in _read(file, project))


def together(stated: Iterable[Stated], before: int = 0) -> tuple[Stated, ...]:
    """The formulas that are decided together, and malformed ones; reading stops at the first one too many.

    Raises:
        TooManyError: where they have more than ``MOST_ATOMS`` relations together with ``before`` earlier ones.
    """
    found, count = [], before
    for each in stated:
        found.append(each)
        count += relations_of([each])
        if count > MOST_ATOMS and isinstance(each, Requirement):
            message = f"the formulas up to here have {count} relations, once their sets are expanded"
            raise TooManyError(message, place=each.place, fix=f"use {MOST_ATOMS} at most together; split them up")
    return tuple(found)


def relations_of(stated: Iterable[Requirement | Misstated]) -> int:
    """The number of relations of formulas, once their sets are expanded."""
    return sum(len(each.relations) for each in stated if isinstance(each, Requirement))


def book_of(files: Sequence[NamedFile], history: Sequence[NamedFile] = ()) -> SampleCollector:
    """The samples in files, by their names in formulas.

    Raises:
        InputError: where a file cannot be read, a name occurs twice, a file lacks the benchmark, or the judged
            sample is its own history.
    """
    for earlier in history:
        if any(_overlap(earlier, file) for file in files):
            raise InputError(f"{earlier.path} is both in --samples and in --history", fix="give earlier runs")
    return SampleCollector(_by_name(files), _by_name(history))


def unused_names(requirements: Sequence[Requirement], book: SampleCollector) -> tuple[str, ...]:
    """The names of samples that no formula uses.

    Raises:
        InputError: where no formula uses a name of the history, which would change nothing.
    """
    asked = {
        method: None
        for each in requirements
        for relation in each.relations
        for method in methods_of(each.resolved(relation, book))
    }
    for name in book.history:
        if name not in asked:
            raise InputError(f"--history {name}: no formula is about it", fix=suggestion(name, tuple(asked)))
    return tuple(name for name in book.samples if name not in asked)


def _overlap(one: NamedFile, other: NamedFile) -> bool:
    """Whether both have runs in common: the same file, and not two different benchmarks of it."""
    same = one.path.resolve() == other.path.resolve()
    return same and (None in {one.benchmark, other.benchmark} or one.benchmark == other.benchmark)


def _by_name(files: Sequence[NamedFile]) -> dict[str, tuple[Sample, ...]]:
    found: dict[str, tuple[Sample, ...]] = {}
    for file in files:
        key = str(method_named(file.name))
        if key in found:
            raise InputError(f"{file.name!r} is given twice", fix="give each name one file")
        found[key] = _samples(file)
    return found


def method_named(name: str) -> Method:
    """A method as formulas write it.

    Raises:
        InputError: where the name is not a method.
    """
    try:
        relation = parse_formula(f"{name} <= 1 s")
    except FormulaError as error:
        raise InputError(
            f"{name!r} is not a valid name of a method: {error.message}", fix="use a word such as a"
        ) from None
    if not (isinstance(relation, Relation) and isinstance(relation.left, PerformanceSide)):
        raise InputError(f"{name!r} is not a valid name of a method", fix="use a word such as a")
    return relation.left.measured.method


def _samples(file: NamedFile) -> tuple[Sample, ...]:
    from hati.subject.samples import read_samples  # its formats are needed only with --samples and --history

    samples = read_samples(file.path).samples
    if file.benchmark is None:
        return samples
    chosen = tuple(sample for sample in samples if sample.benchmark == file.benchmark)
    if not chosen:
        known = ", ".join(dict.fromkeys(sample.benchmark for sample in samples))
        raise InputError(f"{file.path} has no benchmark {file.benchmark!r}", fix=f"it has {known}")
    return chosen


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        seen = sorted(file for file in _below(path) if file.suffix in {SUFFIX, PYTHON})
        found = [file for file in seen if _has_formulas(file)]
        if not found:
            raise InputError(f"there is no {SUFFIX} file below {path}, and no @hati.spl", fix="name a file of formulas")
        return found
    if not path.is_file():
        raise InputError(f"there is no file {path}", fix=f"name a {SUFFIX} file or a folder with some")
    return [path]


def _has_formulas(file: Path) -> bool:
    """Whether a file below a folder has formulas.

    Raises:
        InputError: for a path of formulas that is not a file, such as a pipe, or a dangling link.
    """
    if file.is_file():
        from hati.python import has_statements

        return file.suffix == SUFFIX or has_statements(file)
    if file.suffix == SUFFIX:
        why = "is not a file" if file.exists() else "is a link that leads nowhere"
        raise InputError(f"{file} {why}", fix="remove it, or name the files of formulas")
    return False


def _below(path: Path) -> Iterator[Path]:
    """All files below a folder, except hidden ones.

    Raises:
        InputError: for a folder that cannot be listed, unless it was removed meanwhile.
    """
    for place, folders, names in os.walk(path, onerror=_refuse_folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if not name.startswith("."))


def _refuse_folder(error: OSError) -> None:
    if isinstance(error, FileNotFoundError):
        return
    raise InputError(f"{error.filename} cannot be read: {error.strerror}", fix="see its rights") from error


def _benchmarks(project: Path) -> tuple[str, ...]:
    """The names of a project's benchmarks; empty if its file is malformed or missing, which other steps report."""
    from hati.project import read_project

    try:
        return tuple(benchmark.name for benchmark in read_project(project).benchmarks)
    except InputError:
        return ()


def _read(path: Path, project: Path | None) -> Iterable[Requirement]:
    if path.suffix == PYTHON:
        from hati.wiring.formulas.methods import requirements_of

        return requirements_of(path, project or project_around(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", fix=f"{SUFFIX} files are text") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", fix="see its rights") from error
    file = parse_file(text, str(path), taken=_benchmarks(project or project_around(path)))
    source = Source(text, str(path))
    return (Requirement(each.formula, source, file.declarations, each.name) for each in file.formulas)
