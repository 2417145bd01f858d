"""The files that make up a revision of a subject.

In a work tree of git or svn these are the tracked files, and untracked files that the project names; elsewhere all
files except hidden folders, ``__pycache__`` and ``*.pyc``. Hati's own files are never included: its folder, outputs
written on request, stores, and ``hati.toml``, whose relevant content is in a study's parameters.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import subprocess
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from msgspec import Struct

from hati.core import InputError
from hati.subject.folders import outputs

_PASSED_OVER = {".hati", ".git", ".svn", "__pycache__"}
_PROJECT_FILE = "hati.toml"
_HERE = PurePath()
_UNTRACKED = "?"
_APART = re.compile(r"""[\s"'=,@:;()\[\]{}<>|&#]+""")
"""The separators between words of a project file, and between parts of an argument."""


class Sources(Struct, frozen=True):
    """A project's rules for its source files.

    ``patterns`` are paths and globs below its folder; a pattern that begins with ``!`` excludes files. ``named`` are
    paths in its project file: untracked files with these paths, and in these folders, are included. ``own`` are the
    resolved paths of files that Hati keeps.
    """

    patterns: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    own: frozenset[Path] = frozenset()

    @classmethod
    def of(cls, patterns: Sequence[str], text: str, own: Iterable[Path] = ()) -> Sources:
        """The rules of a project whose file has this text; paths among its words are normalised.

        >>> sorted(Sources.of((), 'command = ["./run.sh", "--config=a.json,b/"]').named & {"run.sh", "a.json", "b"})
        ['a.json', 'b', 'run.sh']
        """
        words = _APART.split(text)
        named = frozenset(posixpath.normpath(word) for word in words if word)
        return cls(tuple(patterns), named, frozenset(file.resolve() for file in own))

    @property
    def wanted(self) -> tuple[str, ...]:
        """The patterns of included files."""
        return tuple(pattern for pattern in self.patterns if not pattern.startswith("!"))

    @property
    def unwanted(self) -> tuple[str, ...]:
        """The patterns of excluded files."""
        return tuple(pattern[1:] for pattern in self.patterns if pattern.startswith("!"))


ANY = Sources()
"""The rules of a folder without a project file."""


class Listed(NamedTuple):
    """The files that make up a revision, and untracked files that do not; sorted, relative to the folder.

    ``open`` is True if neither version control nor the project lists the files: a new one may be a source or a result.
    """

    files: list[Path]
    untracked: list[Path]
    open: bool


class _Tracked(NamedTuple):
    files: list[Path]
    untracked: list[Path]


def list_sources(top: Path, within: PurePath = _HERE, sources: Sources = ANY) -> Listed:
    """List the files below ``top`` that belong to the revision of the project ``within`` it; links count as files.

    Raises:
        InputError: for a malformed pattern.
    """
    project = top / within
    wanted = {Path(within / path) for path in _matching(project, sources.wanted)}
    found = _git_files(top)
    found = found if found.files else _svn_files(top)
    whole = not found.files and not sources.wanted
    untracked = _all_files(top) if whole else found.untracked
    named = {path for path in untracked if _is_named(path, within, sources.named)}
    written = {_normal(within / path) for path in outputs(project)} - named
    apart = _below(top, sources.own) | {_normal(within / _PROJECT_FILE)}
    apart |= {Path(within / path) for path in _matching(project, sources.unwanted)}
    files = {*found.files, *wanted, *named, *((set(untracked) - written) if whole else ())} - apart
    return Listed(_sorted(files), _sorted({*found.untracked} - files - written - apart), whole)


def _sorted(files: Iterable[Path]) -> list[Path]:
    """The files in order, without internal files of Hati, version control and Python."""
    return sorted(path for path in files if _PASSED_OVER.isdisjoint(path.parts))


def _is_named(path: Path, within: PurePath, named: Collection[str]) -> bool:
    """Whether the project's file mentions a path, or a folder that contains it."""
    inner = PurePath(posixpath.relpath(path.as_posix(), within.as_posix()))
    return any(place.as_posix() in named for place in (inner, *inner.parents) if place != _HERE)


def _normal(path: PurePath) -> Path:
    return Path(posixpath.normpath(path.as_posix()))


def _below(top: Path, files: Iterable[Path]) -> set[Path]:
    whole = top.resolve()
    return {file.relative_to(whole) for file in files if file.is_relative_to(whole)}


def _matching(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The files below a folder that match a pattern, or are in a matching folder."""
    for pattern in patterns:
        try:
            matched = list(root.glob(pattern))
        except (ValueError, NotImplementedError) as error:  # pathlib raises the latter for an absolute pattern
            raise InputError(f"sources: {pattern!r} is not a pattern of files: {error}") from None
        for path in matched:
            inner = path.relative_to(root)
            if path.is_dir() and not path.is_symlink():
                yield from (inner / each for each in _all_files(path))
            elif _is_file(path):
                yield inner


def _git_files(root: Path) -> _Tracked:
    """The files that git lists below a folder; empty without git or a repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        return _Tracked([], [])
    files, untracked = list[Path](), list[Path]()
    for entry in filter(None, listed.stdout.split(b"\0") if listed.returncode == 0 else ()):
        tag, _, name = os.fsdecode(entry).partition(" ")
        path = Path(name)
        if (root / path).is_dir() and not (root / path).is_symlink():
            inner = _submodule_files(root / path) if tag != _UNTRACKED else []
            files += [path / each for each in inner]
        elif _is_file(root / path):
            (untracked if tag == _UNTRACKED else files).append(path)
    return _Tracked(list(dict.fromkeys(files)), untracked)


def _submodule_files(folder: Path) -> list[Path]:
    """A submodule's files; in one that is not initialised, git would list those of the surrounding repository."""
    return list_sources(folder).files if (folder / ".git").exists() else _all_files(folder)


def _svn_files(root: Path) -> _Tracked:
    """The files that svn lists below a folder; empty without svn or a working copy."""
    if not any((place / ".svn").is_dir() for place in (root.resolve(), *root.resolve().parents)):
        return _Tracked([], [])
    from hati.subject.revisions.svn import statuses

    files, untracked = list[Path](), list[Path]()
    try:
        for path, item in statuses(root):
            if (root / path).is_dir() and not (root / path).is_symlink():
                if item == "unversioned":
                    untracked += [path / each for each in _all_files(root / path)]
                elif item == "external":
                    files += [path / each for each in list_sources(root / path).files]
            elif _is_file(root / path):
                (untracked if item == "unversioned" else files).append(path)
    except InputError:
        return _Tracked([], [])
    return _Tracked(files, untracked)


def _all_files(root: Path) -> list[Path]:
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        here = [Path(folder) / name for name in (*names, *links) if not name.endswith(".pyc")]
        files += [path.relative_to(root) for path in here if _is_file(path)]
    return files


def _is_file(path: Path) -> bool:
    """Whether a path is an existing file or link, and not a socket, pipe or device."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
