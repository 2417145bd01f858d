"""What a folder holds, as a revision."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePath
from typing import NamedTuple

from hati.core import InputError
from hati.subject.git_files import git_files
from hati.subject.outputs import outputs


class Content(NamedTuple):
    """Whether a path is a file, a program or a link; a hash of what it holds, and of a file how many bytes that are."""

    kind: str
    hash: bytes
    size: int


Contents = Mapping[Path, Content]

_PASSED_OVER = {".hati", ".git", ".svn", "__pycache__"}
_HERE = PurePath()
_PROJECT_FILE = "hati.toml"


def directory_revision(root: Path) -> str:
    """Twelve hexadecimal digits of a hash over the files below a folder: their paths, modes and contents.

    In a work tree of git or svn these are the files that it tracks or would track; elsewhere all but hidden folders,
    ``__pycache__`` and ``*.pyc``. What is Hati's own never counts: its folder, the files that it wrote, and
    ``hati.toml``, of which all that matters is among a study's parameters.

    Raises:
        InputError: where a file cannot be read.
    """
    return revision_of(contents(root, tree_files(root)))


def contents(root: Path, files: Iterable[Path]) -> Contents:
    """What each of the files below a folder is and holds.

    Raises:
        InputError: where a file cannot be read.
    """
    found = {}
    for path in files:
        try:
            found[path] = _content(root / path)
        except OSError as error:
            raise InputError(
                f"cannot read {root / path}: {error.strerror}",
                fix="make it readable, or let git ignore it if it is no part of the subject",
            ) from None
    return found


def revision_of(found: Contents) -> str:
    """The revision that has these contents, in the order of their paths."""
    whole = hashlib.sha256()
    for path, content in found.items():
        whole.update(f"{os.fspath(path)}\0{content.kind}\0".encode("utf-8", "surrogateescape"))
        whole.update(content.hash)
    return whole.hexdigest()[:12]


def tree_files(root: Path, within: PurePath = _HERE) -> list[Path]:
    """The files that make up a folder's revision, relative to it, sorted; links are files of their own.

    The project is ``within`` it: what Hati wrote there does not count, nor does the project file.
    """
    files = _git_files(root) or _svn_files(root) or _all_files(root)
    own = {posixpath.normpath(within / path) for path in (*outputs(root / within), _PROJECT_FILE)}
    return sorted(p for p in files if _PASSED_OVER.isdisjoint(p.parts) and p.as_posix() not in own)


def modified_since(root: Path, moment: datetime) -> tuple[str, ...]:
    """The files of a folder's revision that were written to after a moment, as paths relative to it."""
    found = []
    for path in tree_files(root):
        with suppress(OSError):
            if (root / path).lstat().st_mtime > moment.timestamp():
                found.append(path.as_posix())
    return tuple(found)


def _content(path: Path) -> Content:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Content("link", hashlib.sha256(os.fsencode(path.readlink())).digest(), 0)
    with path.open("rb") as file:
        kind = "program" if status.st_mode & stat.S_IXUSR else "file"
        return Content(kind, hashlib.file_digest(file, "sha256").digest(), file.tell())


def _git_files(root: Path) -> list[Path]:
    """What git lists below the folder; nothing where git or its repository is not there."""
    names = git_files(root, "--cached", "--others", "--exclude-standard")
    files = []
    for path in map(Path, names):
        if (root / path).is_dir() and not (root / path).is_symlink():  # a submodule
            files += [path / inner for inner in _submodule_files(root / path)]
        elif _is_file(root / path):
            files.append(path)
    return files


def _submodule_files(folder: Path) -> list[Path]:
    """A submodule's files; where it is not initialised git would list those of the repository around it."""
    return tree_files(folder) if (folder / ".git").exists() else _all_files(folder)


def _svn_files(root: Path) -> list[Path]:
    """What svn lists below the folder; nothing where svn or its working copy is not there."""
    if not any((place / ".svn").is_dir() for place in (root.resolve(), *root.resolve().parents)):
        return []
    from hati.subject.revisions.svn_answers import statuses

    files = []
    try:
        for path, item in statuses(root):
            if (root / path).is_dir() and not (root / path).is_symlink():
                inner = {"unversioned": _all_files, "external": tree_files}.get(item)
                files += [] if inner is None else [path / each for each in inner(root / path)]
            elif _is_file(root / path):
                files.append(path)
    except InputError:
        return []
    return files


def _all_files(root: Path) -> list[Path]:
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        here = [Path(folder) / name for name in (*names, *links) if not name.endswith(".pyc")]
        files += [path.relative_to(root) for path in here if _is_file(path)]
    return files


def _is_file(path: Path) -> bool:
    """A file or a link; no socket, pipe or device, and nothing that was deleted."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
