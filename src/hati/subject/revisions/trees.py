"""The content of folders and of packages, as revisions, and the files of each revision in a folder of its own."""

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
from typing import NamedTuple, Protocol

from msgspec import Struct

from hati.core import InputError, MeasurementError, Outcome, Revision, RevisionKind, digest
from hati.core.wording import listed
from hati.subject.folders import discard, make_disposable, remove, tree_root
from hati.subject.revisions.git import Blob
from hati.subject.running.programs import RunFailure
from hati.subject.source_files import ANY, Sources, list_sources


class Content(NamedTuple):
    """The kind of a path (file, program or link), a hash of its content, and a file's size in bytes."""

    kind: str
    hash: bytes
    size: int


Contents = Mapping[Path, Content]


def contents(root: Path, files: Iterable[Path]) -> Contents:
    """The kind and content hash of each of the files below a folder.

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
    """The files of a project without version control when its current revision was first seen.

    Their list is kept in ``.hati``. While none of them changes, new files may be results and do not belong to the
    subject. Once one changes, all existing files form another revision.
    """

    root: Path
    name: str

    def settled(self, found: Contents) -> Contents:
        """The files that belong to the revision."""
        known = self._known(found)
        if known is None:
            self._keep(found)
            return found
        return known

    def _known(self, found: Contents) -> Contents | None:
        """The files in the kept list; None without a list, or if one of them was changed or removed."""
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
        ):  # without .hati, before the first measurement, or in a read-only folder, every file counts
            (self.root / ".hati" / self.name).write_bytes(os.fsencode(text))


def _content(path: Path) -> Content:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Content("link", hashlib.sha256(os.fsencode(path.readlink())).digest(), 0)
    with path.open("rb") as file:
        kind = "program" if status.st_mode & stat.S_IXUSR else "file"
        return Content(kind, hashlib.file_digest(file, "sha256").digest(), file.tell())


_KINDS = {"100755": "program", "120000": "link"}


def _content_of(blob: Blob) -> Content:
    kind = _KINDS.get(blob.mode, "file")
    return Content(kind, hashlib.sha256(blob.content).digest(), 0 if kind == "link" else len(blob.content))


_NAMED = 3


class Folder:
    """The files of a folder, dirty or not, as a revision that is identified by its content.

    The project is ``within`` it. If nothing lists its sources, and a ``baseline`` is given, new files do not count
    until another file changes. They and untracked files are ``left_out``, which ``revision`` sets.
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
        """The folder of the project in ``root``, which is ``top`` or below it."""
        within = root.relative_to(top)
        name = "-".join(("sources", *within.parts))
        return cls(top, within, sources, Baseline(root, name))

    def revision(self, name: str) -> Revision:
        """The revision of the current content.

        Raises:
            InputError: where a file cannot be read.
        """
        listed = list_sources(self.top, self._within, self._sources)
        found = contents(self.top, listed.files)
        self._found = self._baseline.settled(found) if listed.open and self._baseline else found
        self.left_out = (*(path for path in found if path not in self._found), *listed.untracked)
        return Revision(_revision_of(self._found), RevisionKind.DIRECTORY, name)

    def __contains__(self, path: Path) -> bool:
        """Whether the last content has a file."""
        return path in self._found

    def revision_with(self, others: Mapping[Path, Blob | None]) -> str | None:
        """The id of the last content with files as a commit has them; None where it has files that are missing here."""
        gone = (path for path, blob in others.items() if blob and not os.path.lexists(self.top / path))
        if any(gone):
            return None
        lost = {path for path, blob in others.items() if blob is None}
        known = {path: _content_of(blob) for path, blob in others.items() if blob is not None}
        return _revision_of({path: known.get(path, own) for path, own in self._found.items() if path not in lost})

    def modified_since(self, moment: datetime) -> tuple[str, ...]:
        """The files of the revision that were modified after a moment, as paths relative to the folder."""
        found = []
        for path in self._found:
            with suppress(OSError):
                if (self.top / path).lstat().st_mtime > moment.timestamp():
                    found.append(path.as_posix())
        return tuple(found)

    def copy(self, folder: Path) -> None:
        """Copy the files of the revision as they are now.

        Raises:
            InputError: where a file cannot be read.
            OSError: where the files cannot be written.
        """
        self.revision("")
        _copy(self.top, folder, self._found)

    def put(self, revision: str, folder: Path) -> None:
        """Copy the files into a folder, as they were when the revision was determined.

        Files added since are omitted, and text appended to a file, such as a growing log, is cut off.

        Raises:
            MeasurementError: where they are no longer those of the revision, which can then not be measured.
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
    """Cut files that have grown to their recorded size; a link has no size of its own."""
    for path, content in found.items():
        file = folder / path
        if not file.is_symlink() and file.stat().st_size > content.size:
            with suppress(PermissionError):
                os.truncate(file, content.size)


_RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
PACKAGES = ".packages"
"""The folder in a tree into which a package is installed; benchmarks find it by ``PYTHONPATH``."""

_USUAL = "python3"
_QUIET = ("install", "--quiet", "--disable-pip-version-check", "--no-input")
_WANTED = ("--only-binary", ":all:", "--no-compile", "--target")


def package_revision(text: str) -> Revision | None:
    """The revision for ``name==version``; None for other texts."""
    return Revision(text, RevisionKind.PACKAGE) if _RELEASE.fullmatch(text) else None


class Package:
    """Releases of packages, installed next to a copy of the project's own files, such as its benchmarks.

    They are installed by and for the interpreter at the path ``python``; by default for the ``python3`` of commands.
    """

    def __init__(self, project: Folder, python: str = "") -> None:
        self._project = project
        self.python = python or _USUAL

    def put(self, revision: str, folder: Path) -> None:
        """Copy the project's files, and install the wheel and its dependencies.

        Raises:
            InputError: where pip fails, with its message.
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
        """The command that installs for the interpreter: its own pip, that of ``python3``, or uv.

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


HERE = PurePath()
"""The place of the project in its files, if it is all of them."""


class FileSource(Protocol):
    """A source of the files of revisions."""

    def put(self, revision: str, folder: Path) -> None:
        """Write the files of the revision with an id into an empty folder."""
        ...


class Tree(Struct, frozen=True):
    """The files of a revision below ``top``; its programs run in the folder ``within`` it."""

    top: Path
    within: PurePath = HERE

    @property
    def folder(self) -> Path:
        """The folder in which the programs run."""
        return self.top / self.within

    @property
    def environment(self) -> Mapping[str, str]:
        """Additional environment variables of the programs."""
        packages = self.top / PACKAGES
        return {"PYTHONPATH": str(packages)} if packages.is_dir() else {}


class TreeOrigin(NamedTuple):
    """The source of a revision's files, and the project's folder among them."""

    source: FileSource
    within: PurePath = HERE


class Trees:
    """Writes the files of each revision below ``.hati/trees`` when they are first needed; ``close`` removes them.

    ``origins`` has the origin for each revision's id. Without any, the project's own folder is used, as there is only
    one revision. All trees have paths of equal length, since a path's length can affect a program's speed.
    """

    def __init__(self, root: Path, origins: Mapping[str, TreeOrigin] | None = None) -> None:
        self._root = root.resolve()
        self._origins: Mapping[str, TreeOrigin] = {} if origins is None else origins
        self._made: dict[str, Tree] = {}
        self._failed: dict[str, RunFailure] = {}

    def sources(self, revision: str) -> str:
        """The digest of a revision's files, and of the project's place among them."""
        within = self._origins[revision].within if revision in self._origins else HERE
        return digest([revision, str(within)], 64)

    def tree(self, revision: str) -> Tree:
        """The tree of a revision.

        Raises:
            RunFailure: where its files are not available, or the project is not in it.
            OSError: where the files cannot be written.
        """
        if not self._origins:
            return Tree(self._root)
        if revision in self._failed:
            raise self._failed[revision]
        if revision not in self._made:
            try:
                self._made[revision] = self._put(revision)
            except RunFailure as failed:
                self._failed[revision] = failed
                raise
        return self._made[revision]

    def copy(self, revision: str, top: Path) -> Tree:
        """Copy the tree of a revision to a new folder, to be built there.

        Raises:
            RunFailure: where its files are not available, or the project is not in it.
            OSError: where the files cannot be written.
        """
        tree = self.tree(revision)
        if self._origins:
            shutil.copytree(tree.top, top, symlinks=True)
        else:
            Folder(tree.top).copy(top)
        return Tree(top, tree.within)

    def left_out(self, revision: str) -> tuple[Path, ...]:
        """The new and untracked files of the folder of a revision, which its tree does not have."""
        source = self._origins[revision].source if revision in self._origins else None
        return source.left_out if isinstance(source, Folder) else ()

    def close(self) -> None:
        """Remove the trees."""
        self._made.clear()
        if self._origins:
            discard(tree_root(self._root))

    def _put(self, revision: str) -> Tree:
        origin, folder = self._origins[revision], tree_root(self._root) / digest(revision)
        make_disposable(folder.parent)
        remove(folder)
        try:
            origin.source.put(revision, folder)
        except InputError as error:
            remove(folder)
            raise RunFailure(Outcome.NOT_BUILT, f"the files of the revision: {error}") from None
        tree = Tree(folder, origin.within)
        if not tree.folder.is_dir():
            remove(folder)
            raise RunFailure(Outcome.NOT_BUILT, f"there is no folder {origin.within} in the revision")
        return tree


NAME = "what is here"


class InPlace(Trees):
    """The folder ``root`` itself, in which programs run; builds use a copy that is taken before the first build.

    So an edit during a campaign is in none of its builds. ``revision`` is the id of the folder's content, which runs
    carry.

    Raises:
        InputError: where a file cannot be read.
    """

    def __init__(self, root: Path, sources: Sources = ANY) -> None:
        root = root.resolve()
        self._folder = Folder.of_project(root, root, sources)
        self.revision = self._folder.revision(NAME).id
        super().__init__(root, {self.revision: TreeOrigin(self._folder)})

    def modified_since(self, moment: datetime) -> tuple[str, ...]:
        """The files that were modified after a moment, as paths relative to the folder."""
        return self._folder.modified_since(moment)

    def revision_with(self, others: Mapping[Path, Blob | None]) -> str | None:
        """The id of the content with files as a commit has them; None where it has files that are missing here."""
        return self._folder.revision_with(others)

    def tree(self, revision: str) -> Tree:
        """The folder itself."""
        assert revision == self.revision, "there is but the one that is there"
        return Tree(self._root)

    def copy(self, revision: str, top: Path) -> Tree:
        """Copy the folder as it was at the first copy to a new folder, to be built there.

        Raises:
            MeasurementError: where it was edited before the first copy.
            OSError: where files cannot be written.
        """
        shutil.copytree(super().tree(revision).top, top, symlinks=True)
        return Tree(top)
