"""A folder as it is now."""

from __future__ import annotations

import shutil
from pathlib import Path

from hati.core import Revision, RevisionKind
from hati.subject.revision import directory_revision, tree_files


class Folder:
    """The files of a folder, dirty or not, as a revision: its content is its identity."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def revision(self, name: str) -> Revision:
        """What it holds now.

        Raises:
            InputError: where a file cannot be read.
        """
        return Revision(directory_revision(self.top), RevisionKind.DIRECTORY, name)

    def put(self, _: str, folder: Path) -> None:
        """Copy the files into a folder.

        Raises:
            OSError: where they cannot be written.
        """
        copy_tree(self.top, folder)


def copy_tree(source: Path, target: Path) -> None:
    """Copy all that makes up a folder's revision.

    Raises:
        OSError: where it cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    for path in tree_files(source):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, target / path, follow_symlinks=False)
