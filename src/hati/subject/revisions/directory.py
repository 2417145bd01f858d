"""A folder as it is now."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from hati.core import MeasurementError, Revision, RevisionKind
from hati.subject.revision import Contents, contents, revision_of, tree_files

_NAMED = 3


class Folder:
    """The files of a folder, dirty or not, as a revision: its content is its identity."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._found: Contents = {}

    def revision(self, name: str) -> Revision:
        """What it holds now.

        Raises:
            InputError: where a file cannot be read.
        """
        self._found = contents(self.top, tree_files(self.top))
        return Revision(revision_of(self._found), RevisionKind.DIRECTORY, name)

    def put(self, revision: str, folder: Path) -> None:
        """Copy the files into a folder.

        Raises:
            MeasurementError: where they are no longer those of the revision: nothing may be measured in its name.
            OSError: where they cannot be written.
        """
        try:
            copied = copy_tree(self.top, folder)
        except FileNotFoundError as error:
            raise self._edited(Path(error.filename).name) from None
        now = contents(folder, copied)
        if revision_of(now) != revision:
            own = _open_here(self.top)
            changed = (path for path in {*now, *self._found} if now.get(path) != self._found.get(path))
            paths = sorted(path for path in changed if path not in own)
            if not paths:
                return
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            raise self._edited(", ".join(map(str, paths[:_NAMED])) + more)

    def _edited(self, files: str) -> MeasurementError:
        return MeasurementError(
            f"{self.top} was edited before its files were copied: {files}",
            fix="start again, to measure what is there now; what is no part of the subject belongs outside, "
            "or is to be ignored by git",
        )


def _open_here(top: Path) -> frozenset[Path]:
    """What this process has open below a folder: a store, or where its output was sent."""
    files = (Path(file.path) for file in psutil.Process().open_files())
    root = top.resolve()
    return frozenset(file.relative_to(root) for file in files if file.is_relative_to(root))


def copy_tree(source: Path, target: Path) -> list[Path]:
    """Copy all that makes up a folder's revision; which files these are.

    Raises:
        OSError: where it cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    files = tree_files(source)
    for path in files:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, target / path, follow_symlinks=False)
    return files
