"""A folder as it is now, what it holds as a revision, and a release of a Python package in one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePath
from typing import NamedTuple

from msgspec import Struct

from hati.core import InputError, MeasurementError, Revision, RevisionKind
from hati.core.wording import listed
from hati.subject.files.sources import ANY, Sources, list_sources


class Content(NamedTuple):
    """The kind of a path (file, program or link), a hash of its content, and a file's size in bytes."""

    kind: str
    hash: bytes
    size: int


Contents = Mapping[Path, Content]


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
                fix="make it readable, or exclude it by [subject] sources",
            ) from None
    return found


def _revision_of(found: Contents) -> str:
    """Twelve hexadecimal digits of a hash over paths, modes and contents, in the order of their paths."""
    whole = hashlib.sha256()
    for path, content in found.items():
        whole.update(f"{os.fspath(path)}\0{content.kind}\0".encode("utf-8", "surrogateescape"))
        whole.update(content.hash)
    return whole.hexdigest()[:12]


class Baseline(Struct, frozen=True):
    """The files that a project without version control had when its present revision was first seen.

    They are kept in its ``.hati``. As long as none of them changes, files that are new may be results: they are none of
    the subject. Once one has changed, all that is there is another revision.
    """

    root: Path
    name: str

    def settled(self, found: Contents) -> Contents:
        """Those of the files that count."""
        known = self._known(found)
        if known is None:
            self._keep(found)
            return found
        return known

    def _known(self, found: Contents) -> Contents | None:
        """The files that are kept; None where there are none, or one of them has changed or gone."""
        try:
            revision, *listed = os.fsdecode((self.root / ".hati" / self.name).read_bytes()).split("\0")
        except OSError:
            return None
        paths = set(map(Path, listed))
        kept = {path: content for path, content in found.items() if path in paths}
        return kept if kept.keys() == paths and _revision_of(kept) == revision else None

    def _keep(self, found: Contents) -> None:
        text = "\0".join((_revision_of(found), *map(os.fspath, found)))
        with suppress(
            OSError
        ):  # of a folder in which nothing was measured yet, or that is read-only, every file counts
            (self.root / ".hati" / self.name).write_bytes(os.fsencode(text))


def _content(path: Path) -> Content:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Content("link", hashlib.sha256(os.fsencode(path.readlink())).digest(), 0)
    with path.open("rb") as file:
        kind = "program" if status.st_mode & stat.S_IXUSR else "file"
        return Content(kind, hashlib.file_digest(file, "sha256").digest(), file.tell())


_NAMED = 3


class Folder:
    """The files of a folder, dirty or not, as a revision: its content is its identity.

    The project is ``within`` it. Where nothing lists its sources, and a ``baseline`` is given, new files do not count
    until another file changes. They, and untracked files, are ``left_out``, which is known once the revision is.
    """

    def __init__(
        self, top: Path, within: PurePath | None = None, sources: Sources = ANY, baseline: Baseline | None = None
    ) -> None:
        self.top = top
        self.left_out: tuple[Path, ...] = ()
        self._within = within or PurePath()
        self._sources = sources
        self._baseline = baseline
        self._found: Contents = {}

    @classmethod
    def of_project(cls, root: Path, top: Path, sources: Sources) -> Folder:
        """That of the project in ``root``, which is ``top`` or below it."""
        within = root.relative_to(top)
        name = "-".join(("sources", *within.parts))
        return cls(top, within, sources, Baseline(root, name))

    def revision(self, name: str) -> Revision:
        """What it holds now.

        Raises:
            InputError: where a file cannot be read.
        """
        listed = list_sources(self.top, self._within, self._sources)
        found = contents(self.top, listed.files)
        self._found = self._baseline.settled(found) if listed.open and self._baseline else found
        self.left_out = (*(path for path in found if path not in self._found), *listed.untracked)
        return Revision(_revision_of(self._found), RevisionKind.DIRECTORY, name)

    def modified_since(self, moment: datetime) -> tuple[str, ...]:
        """The files of the revision that were written to after a moment, as paths relative to the folder."""
        found = []
        for path in self._found:
            with suppress(OSError):
                if (self.top / path).lstat().st_mtime > moment.timestamp():
                    found.append(path.as_posix())
        return tuple(found)

    def copy(self, folder: Path) -> None:
        """Copy the files of the revision as they are now.

        Raises:
            InputError: where one cannot be read.
            OSError: where they cannot be written.
        """
        self.revision("")
        _copy(self.top, folder, self._found)

    def put(self, revision: str, folder: Path) -> None:
        """Copy the files into a folder, as they were found.

        Files added since are omitted, and text appended to a file is cut off: such as a log that grows
        meanwhile.

        Raises:
            MeasurementError: where they are no longer those of the revision: nothing may be measured in its name.
            OSError: where they cannot be written.
        """
        try:
            _copy(self.top, folder, self._found)
        except FileNotFoundError as error:
            raise self._edited(Path(error.filename).name) from None
        _cut(folder, self._found)
        now = contents(folder, self._found)
        if _revision_of(now) != revision:
            paths = sorted(path for path in {*now, *self._found} if now.get(path) != self._found.get(path))
            raise self._edited(listed(map(str, paths), _NAMED))

    def _edited(self, files: str) -> MeasurementError:
        return MeasurementError(
            f"{self.top} was edited before its files were copied: {files}",
            fix="start again to measure the new content; `[subject] sources` excludes files such as `!results/**`",
        )


def _copy(source: Path, target: Path, files: Iterable[Path]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in files:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, target / path, follow_symlinks=False)


def _cut(folder: Path, found: Contents) -> None:
    """Leave of files that have grown as much as was found; a link has no size of its own."""
    for path, content in found.items():
        file = folder / path
        if not file.is_symlink() and file.stat().st_size > content.size:
            with suppress(PermissionError):
                os.truncate(file, content.size)


_RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
PACKAGES = ".packages"
"""The folder in a tree that a package is installed into; benchmarks find it by ``PYTHONPATH``."""

_USUAL = "python3"
_QUIET = ("install", "--quiet", "--disable-pip-version-check", "--no-input")
_WANTED = ("--only-binary", ":all:", "--no-compile", "--target")


def package_revision(text: str) -> Revision | None:
    """The revision that ``name==version`` stands for; None for other texts."""
    return Revision(text, RevisionKind.PACKAGE) if _RELEASE.fullmatch(text) else None


class Package:
    """Releases of packages, installed next to a copy of the project's own files: those of its benchmarks.

    They are installed by and for the interpreter ``python``, a path; without one for the ``python3`` of commands.
    """

    def __init__(self, project: Folder, python: str = "") -> None:
        self._project = project
        self.python = python or _USUAL

    def put(self, revision: str, folder: Path) -> None:
        """Copy the project's files, and install the wheel and what it depends on.

        Raises:
            InputError: where pip fails, with what it said.
            OSError: where they cannot be written.
        """
        self._project.copy(folder)
        command = (*self._pip(revision), *_WANTED, str(folder / PACKAGES), revision)
        done = _run(command, folder)
        if done.returncode != 0:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")] or said
            why = errors[-1] if errors else f"{Path(command[0]).name} ended with {done.returncode}"
            raise InputError(f"{revision} cannot be installed: {why}", fix=f"see `{self.python} -m pip install` of it")

    def _pip(self, revision: str) -> Sequence[str]:
        """What installs for the interpreter: its own pip, that of ``python3``, or uv.

        Raises:
            InputError: where the interpreter does not exist, or has none of these.
        """
        if shutil.which(self.python) is None:
            raise InputError(f"{revision} cannot be installed: there is no {self.python}")
        ways = ((self.python, "-m", "pip"), (_USUAL, "-m", "pip", "--python", self.python))
        for way in ways:
            if shutil.which(way[0]) and _run((*way, "--version")).returncode == 0:
                return (*way, *_QUIET)
        if uv := shutil.which("uv"):
            return (uv, "pip", "install", "--quiet", "--python", self.python)
        raise InputError(
            f"{revision} cannot be installed: {self.python} has no pip", fix=f"see `{self.python} -m ensurepip`"
        )


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
