"""A folder as it is now."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePath

from hati.core import MeasurementError, Revision, RevisionKind
from hati.core.wording import listed
from hati.subject.files.sources import ANY, Sources, list_sources
from hati.subject.revisions.contents import Baseline, Contents, contents, revision_of

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
        return Revision(revision_of(self._found), RevisionKind.DIRECTORY, name)

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
