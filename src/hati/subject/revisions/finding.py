"""Find revisions by name: commits, the current content of a folder, and releases of a Python package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hati.core import InputError, Revision, RevisionKind, replace
from hati.subject.revisions.git import GitHistory
from hati.subject.revisions.trees import NAME, FileSource, Folder, InPlace, Package, TreeOrigin, Trees, package_revision
from hati.subject.source_files import ANY, Sources

if TYPE_CHECKING:
    from hati.subject.revisions.svn import SvnHistory

_HERE = "."
OnLeftOut = Callable[[tuple[Path, ...]], None]


def _ignore(_: tuple[Path, ...]) -> None:
    """Do nothing."""


class Revisions:
    """The revisions of the project in a folder, and the origins of their files.

    ``.`` is the current content of the folder, a path with a leading ``/`` or ``./`` that of another folder, and
    ``name==version`` a release of a package, installed for the interpreter ``python`` (by default ``python3``). All
    other names are looked up in the project's repository. ``sources`` are the rules for the subject's files in its
    folder; ``on_left_out`` is called with the new and untracked files of ``.`` that its revision does not have.

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
        """The folder to which the paths of a revision's files are relative: the repository's, or the project's own."""
        return self._root if self.history is None else self.history.top.resolve()

    @cached_property
    def within(self) -> PurePath:
        """The path of the project in ``top``."""
        return self._root.relative_to(self.top)

    def find(self, text: str, start: Path | None = None) -> Revision:
        """The revision with a name; paths of folders are relative to ``start``, else to the current folder.

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
        """Both revisions and those between them in the repository, oldest first.

        Raises:
            InputError: where one is not in the repository, both are the same, or ``last`` does not come after
                ``first``.
        """
        for one in (first, last):
            if self.history is None or one.kind not in {RevisionKind.GIT, RevisionKind.SVN}:
                raise InputError(f"{one} is not a revision of a repository", fix="name one that is committed, as HEAD")
        assert self.history is not None
        if first.id == last.id:
            raise InputError(f"{first} and {last} are the same revision", fix="name an earlier one, or a later one")
        *others, end = map(self.known, self.history.between(first, last))
        return [first, *others, replace(end, given=last.name)]

    def known(self, revision: Revision) -> Revision:
        """Record the origin of a revision's files, and return the revision."""
        assert self.history is not None or revision.kind not in {RevisionKind.GIT, RevisionKind.SVN}
        return revision if self.history is None else self._known(revision, self.history)

    def content(self, revision: Revision, here: InPlace) -> str | None:
        """The id of the project's content ``here`` with the files that a revision has; None where it is not known."""
        if revision.kind is RevisionKind.DIRECTORY:
            source = self._origins[revision.id].source
            return here.revision if isinstance(source, Folder) and source.top == self.top else revision.id
        if revision.kind is not RevisionKind.GIT or not isinstance(self.history, GitHistory):
            return None
        others = self.history.differing(revision.id, self.within)
        if others is None:
            return None
        return here.revision_with({path.relative_to(self.within): blob for path, blob in others.items()})

    def has_no_change(self, commit: Revision) -> bool:
        """Whether no tracked file of the work tree differs from a commit; in git."""
        if commit.kind is not RevisionKind.GIT or not isinstance(self.history, GitHistory):
            return False
        return self.history.differing(commit.id, PurePath()) == {}

    def changed(self, first: Revision, last: Revision, patterns: Sequence[str]) -> tuple[str, ...] | None:
        """The project's files that match and differ between a commit and a later one, or the working tree; in git.

        None if the repository no longer has one of the commits.
        """
        if first.kind is not RevisionKind.GIT or not isinstance(self.history, GitHistory):
            return ()
        if last.kind is RevisionKind.GIT:
            return self.history.changed(first.id, last.id, self.within, patterns)
        here = self._here()
        if last.id != here.revision(last.name).id:
            return ()
        tracked = self.history.changed(first.id, None, self.within, patterns)
        if tracked is None:
            return None
        new = (path for path in self.history.untracked(self.within, patterns) if path in here)
        return tuple(sorted({*tracked, *(path.relative_to(self.within).as_posix() for path in new)}))

    def trees(self, root: Path) -> Trees:
        """The trees of all revisions found so far, below ``root``."""
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


def history_around(folder: Path) -> GitHistory | SvnHistory | None:
    """The repository that a folder is in: the nearest one of git or svn; None if it is in none.

    Raises:
        InputError: where there is a repository that cannot be read.
    """
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return GitHistory.around(folder)
        if (place / ".svn").is_dir():
            from hati.subject.revisions.svn import SvnHistory  # most projects are in git

            return SvnHistory.around(folder) or GitHistory.around(folder)
    return GitHistory.around(folder)
