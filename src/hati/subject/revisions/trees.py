"""How people call revisions, and the files of these, each in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from msgspec import Struct

from hati.core import InputError, Outcome, Revision, RevisionKind, digest
from hati.subject.files.folders import discard, make_disposable, remove, tree_root
from hati.subject.files.sources import ANY, Sources
from hati.subject.revisions.directory import PACKAGES, Folder, Package, package_revision
from hati.subject.revisions.git import GitHistory
from hati.subject.revisions.history import History
from hati.subject.revisions.svn import SvnHistory
from hati.subject.running.programs import RunFailure

HERE = PurePath()
"""Where the project is in its files, where it is all of them."""


class FileSource(Protocol):
    """Whatever has the files of revisions."""

    def put(self, revision: str, folder: Path) -> None:
        """Write those of the revision of that id into an empty folder."""
        ...


class Tree(Struct, frozen=True):
    """The files of a revision below ``top``; its programs run in the folder ``within`` it."""

    top: Path
    within: PurePath = HERE

    @property
    def folder(self) -> Path:
        """Where the programs run."""
        return self.top / self.within

    @property
    def environment(self) -> Mapping[str, str]:
        """Additional variables of their environment."""
        packages = self.top / PACKAGES
        return {"PYTHONPATH": str(packages)} if packages.is_dir() else {}


class TreeOrigin(NamedTuple):
    """Where the files of a revision come from, and where the project is among them."""

    source: FileSource
    within: PurePath = HERE


class Trees:
    """Puts the files of each revision below ``.hati/trees`` when they are first needed; ``close`` removes them.

    ``origins`` has that of each revision's id. Without any, the project's own folder serves every revision: there is
    but the one that is there. All trees have paths of one length, since a path's length can decide how fast a program
    is.
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
        """That of a revision.

        Raises:
            RunFailure: where its files cannot be had, or the project is not in it.
            OSError: where they cannot be written.
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
        """Copy the tree of a revision to a folder that is not there, to be built there.

        Raises:
            RunFailure: where its files cannot be had, or the project is not in it.
            OSError: where they cannot be written.
        """
        tree = self.tree(revision)
        if self._origins:
            shutil.copytree(tree.top, top, symlinks=True)
        else:
            Folder(tree.top).copy(top)
        return Tree(top, tree.within)

    def left_out(self, revision: str) -> tuple[Path, ...]:
        """New and untracked files of the folder that the revision's files come from; its tree does not have them."""
        source = self._origins[revision].source if revision in self._origins else None
        return source.left_out if isinstance(source, Folder) else ()

    def close(self) -> None:
        """Remove them."""
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
    """Programs run in the folder ``root`` itself; builds are made of a copy that is taken of it before the first.

    So that an edit during a campaign is in none of its builds. ``revision`` is the folder's content, by which runs are
    known.

    Raises:
        InputError: where a file cannot be read.
    """

    def __init__(self, root: Path, sources: Sources = ANY) -> None:
        root = root.resolve()
        self._folder = Folder.of_project(root, root, sources)
        self.revision = self._folder.revision(NAME).id
        super().__init__(root, {self.revision: TreeOrigin(self._folder)})

    def modified_since(self, moment: datetime) -> tuple[str, ...]:
        """The files that were written to after a moment, as paths relative to the folder."""
        return self._folder.modified_since(moment)

    def tree(self, revision: str) -> Tree:
        """The folder itself."""
        assert revision == self.revision, "there is but the one that is there"
        return Tree(self._root)

    def copy(self, revision: str, top: Path) -> Tree:
        """Copy the folder as it was to one that is not there, to be built there.

        Raises:
            MeasurementError: where it was edited before the first copy.
            OSError: where files cannot be written.
        """
        shutil.copytree(super().tree(revision).top, top, symlinks=True)
        return Tree(top)


_HERE = "."
OnLeftOut = Callable[[tuple[Path, ...]], None]


def _ignore(_: tuple[Path, ...]) -> None:
    """Do nothing."""


class Revisions:
    """The revisions of the project in a folder, and where the files of each come from.

    ``.`` is what the folder holds now, a path with ``/`` in front or ``./`` another folder's, ``name==version`` a
    release of a package, installed for the interpreter ``python`` (without one for ``python3``); all else is asked of
    the repository that the project is in. ``sources`` says which files of its folder are the subject, and
    ``on_left_out`` is called with the new and untracked files of ``.`` that its revision does not have.

    Raises:
        InputError: where there is a repository that cannot be read.
    """

    def __init__(self, root: Path, python: str = "", sources: Sources = ANY, on_left_out: OnLeftOut = _ignore) -> None:
        self._root = root.resolve()
        self._python = python
        self._sources = sources
        self._on_left_out = on_left_out
        self.history = history_around(self._root)
        self._origins: dict[str, TreeOrigin] = {}

    @cached_property
    def top(self) -> Path:
        """The folder that a revision's files are those of: the repository's, or the project's own."""
        return self._root if self.history is None else self.history.top.resolve()

    @cached_property
    def within(self) -> PurePath:
        """Where the project is in it."""
        return self._root.relative_to(self.top)

    def find(self, text: str, start: Path | None = None) -> Revision:
        """The revision that is called so; paths of folders count from ``start``, else from the current folder.

        Raises:
            InputError: where there is none, with what to write instead.
        """
        release = package_revision(text)
        if release is not None:
            return self._known(release, Package(self._here(), self._python))
        if text == _HERE:
            folder = self._here()
            here = folder.revision(NAME)
            self._on_left_out(folder.left_out)
            return self._known(here, folder)
        if text.startswith(("/", "./", "../", "~/")):
            return self._folder(Path(text).expanduser(), start or Path())
        if self.history is None:
            raise InputError(
                f"{text!r} is not a valid revision: {self._root} is in no git or svn repository",
                fix="name a folder, as ./before, or a package's release, as name==1.0",
            )
        found = self.history.find(text)
        if found is None:
            raise InputError(f"{text!r} is not a revision of {self.top}", fix=self.history.nearest(text))
        return self.known(found)

    def between(self, first: Revision, last: Revision) -> list[Revision]:
        """Both and the repository's revisions between them, oldest first.

        Raises:
            InputError: where one is none of the repository's, both are the same, or ``last`` does not come after
                ``first``.
        """
        for one in (first, last):
            if self.history is None or one.kind not in {RevisionKind.GIT, RevisionKind.SVN}:
                raise InputError(f"{one} is not a revision of a repository", fix="name one that is committed, as HEAD")
        assert self.history is not None
        if first.id == last.id:
            raise InputError(f"{first} and {last} are the same revision", fix="name an earlier one, or a later one")
        return [first, *map(self.known, self.history.between(first, last))]

    def known(self, revision: Revision) -> Revision:
        """The same; where its files come from is remembered."""
        assert self.history is not None or revision.kind not in {RevisionKind.GIT, RevisionKind.SVN}
        return revision if self.history is None else self._known(revision, self.history)

    def trees(self, root: Path) -> Trees:
        """The files of all that were found, below ``root``."""
        return Trees(root, self._origins)

    def _here(self) -> Folder:
        return Folder.of_project(self._root, self.top, self._sources)

    def _folder(self, path: Path, start: Path) -> Revision:
        place = start / path
        if not place.is_dir():
            raise InputError(f"there is no folder {place}", fix="name one, or a revision of the repository")
        folder = Folder(place.resolve(), None, self._sources)
        return self._known(folder.revision(str(path)), folder, PurePath())

    def _known(self, revision: Revision, source: FileSource, within: PurePath | None = None) -> Revision:
        self._origins.setdefault(revision.id, TreeOrigin(source, self.within if within is None else within))
        return revision


def history_around(folder: Path) -> History | None:
    """The repository that a folder is in: the nearest one of git or svn; None where it is in none.

    Raises:
        InputError: where there is one that cannot be read.
    """
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return GitHistory.around(folder)
        if (place / ".svn").is_dir():
            return SvnHistory.around(folder) or GitHistory.around(folder)
    return GitHistory.around(folder)
