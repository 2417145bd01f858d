"""The project's own folder as its one revision."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from hati.subject.revisions.directory import Folder
from hati.subject.revisions.trees import Origin, Tree, Trees
from hati.subject.sources import ANY, Sources

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
        super().__init__(root, {self.revision: Origin(self._folder)})

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
