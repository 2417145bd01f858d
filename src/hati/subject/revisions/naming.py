"""How people call revisions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path, PurePath

from hati.core import InputError, Revision, RevisionKind
from hati.subject.files.sources import ANY, Sources
from hati.subject.revisions.directory import Folder
from hati.subject.revisions.git import GitHistory
from hati.subject.revisions.history import History
from hati.subject.revisions.package import Package, package_revision
from hati.subject.revisions.svn import SvnHistory
from hati.subject.revisions.trees import NAME, FileSource, TreeOrigin, Trees

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
