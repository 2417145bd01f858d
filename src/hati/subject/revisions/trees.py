"""The files of revisions, each in a folder of its own, or the project's own folder as its one revision."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from msgspec import Struct

from hati.core import InputError, Outcome, digest
from hati.subject.files.folders import discard, make_disposable, remove, tree_root
from hati.subject.files.sources import ANY, Sources
from hati.subject.revisions.directory import Folder
from hati.subject.revisions.package import PACKAGES
from hati.subject.running.run_failure import RunFailure

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
        """What they find in their environment besides."""
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
