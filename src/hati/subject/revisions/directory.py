"""A folder as it is now."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath

import psutil

from hati.core import MeasurementError, Revision, RevisionKind
from hati.subject.revision import Contents, contents, revision_of, tree_files

_NAMED = 3


class Folder:
    """The files of a folder, dirty or not, as a revision: its content is its identity.

    The project is ``within`` it: what Hati wrote there is none of its files, and the project file is none.
    """

    def __init__(self, top: Path, within: PurePath | None = None) -> None:
        self.top = top
        self._within = within or PurePath()
        self._found: Contents = {}

    def revision(self, name: str) -> Revision:
        """What it holds now.

        Raises:
            InputError: where a file cannot be read.
        """
        self._found = contents(self.top, tree_files(self.top, self._within))
        return Revision(revision_of(self._found), RevisionKind.DIRECTORY, name)

    def put(self, revision: str, folder: Path) -> None:
        """Copy the files into a folder, as they were found.

        What was added since is left out, and what was appended to a file is cut off: such as a log that is written
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


def copy_tree(source: Path, target: Path) -> None:
    """Copy all that makes up a folder's revision.

    Raises:
        OSError: where it cannot be written.
    """
    _copy(source, target, tree_files(source))


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
