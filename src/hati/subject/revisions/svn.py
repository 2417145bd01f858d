"""A working copy of a Subversion repository, and the answers of the program ``svn``, read from its XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote

from msgspec import Struct

from hati.core import InputError, Revision, RevisionKind
from hati.core.wording import suggestion
from hati.subject.revisions.git import CommandError, asked

_ASKING = 120.0
"""The longest time of a query to a server, in seconds."""

_EXPORTING = 3600.0
_ABSENT = re.compile(
    "W155010|"  # not under version control
    "E160006|E160013|E195012|E200009|W170000"  # no such revision, or no such path in it
)


class Logged(NamedTuple):
    """An entry of the log: the number of a revision, when it was made, and the first line of its message."""

    number: int
    made: datetime | None
    title: str


class Info(Struct, frozen=True):
    """The output of ``svn info`` for a folder: ``path`` is its decoded path in the repository at ``root``.

    ``working_copy`` is the top of its working copy, None for a URL.
    """

    path: str
    root: str
    number: int
    working_copy: Path | None


class Status(NamedTuple):
    """A file of a working copy, relative to the queried folder, and its status in svn."""

    path: Path
    item: str


def _is_absent(error: CommandError) -> bool:
    """Whether svn reports that the target does not exist, rather than another error."""
    return _ABSENT.search(error.message) is not None


def info(target: str, cwd: Path, number: int | None = None) -> Info:
    """Information on a target; for a URL, in the revision ``number``.

    Raises:
        CommandError: where the target does not exist.
        InputError: where svn is not installed, or does not answer.
    """
    at = () if number is None else ("-r", str(number))
    [entry] = _xml(cwd, "info", *at, target).iter("entry")
    top = entry.findtext("wc-info/wcroot-abspath")
    return Info(
        path=unquote(entry.findtext("relative-url", "^/").removeprefix("^/")),
        root=entry.findtext("repository/root", ""),
        number=int(entry.get("revision", "0")),
        working_copy=None if top is None else Path(top),
    )


def newest(folder: Path) -> int:
    """The largest revision number of any file below a folder of a working copy; no server is queried.

    Raises:
        CommandError: where the folder is not in a working copy.
        InputError: where svn is not installed.
    """
    entries = _xml(folder, "info", "--depth", "infinity", ".").iter("entry")
    return max(int(entry.get("revision", "0")) for entry in entries)


def log(target: str, cwd: Path, first: int, last: int, *more: str) -> list[Logged]:
    """The revisions in which a target or its copy source changed, in the order from ``first`` to ``last``.

    Raises:
        CommandError: where these revisions do not exist.
        InputError: where svn is not installed, or does not answer.
    """
    return [_logged(entry) for entry in _xml(cwd, "log", "-r", f"{first}:{last}", *more, target).iter("logentry")]


def eligible(source: str, target: str, cwd: Path) -> list[int]:
    """The numbers of a source's revisions that are not merged into a target, ascending.

    Raises:
        CommandError: where the two are not related.
        InputError: where svn is not installed, or does not answer.
    """
    printed = _svn(cwd, "mergeinfo", "--show-revs", "eligible", source, target)
    return [int(word.strip("r*")) for word in printed.decode().split()]


def export(target: str, number: int, folder: Path) -> None:
    """Write the files of a target in a revision, without externals.

    Raises:
        CommandError: where the target does not exist in it.
        InputError: where svn is not installed, or does not answer.
    """
    words = ("--quiet", "--force", "--ignore-externals", "-r", str(number), target, f"{folder}@")
    _svn(folder.parent, "export", *words, timeout=_EXPORTING)


def statuses(folder: Path) -> Iterator[Status]:
    """The status of everything below a folder of a working copy, except ignored files; no server is queried.

    Raises:
        CommandError: where the folder is not in a working copy.
        InputError: where svn is not installed.
    """
    for entry in _xml(folder, "status", "--verbose", "--ignore-externals", ".").iter("entry"):
        status = entry.find("wc-status")
        yield Status(Path(entry.get("path", "")), "" if status is None else status.get("item", ""))


def _logged(entry: ET.Element) -> Logged:
    made = entry.findtext("date")
    message = (entry.findtext("msg") or "").strip().splitlines()
    return Logged(
        number=int(entry.get("revision", "0")),
        made=None if made is None else datetime.fromisoformat(made),
        title=message[0] if message else "",
    )


def _xml(cwd: Path, *words: str) -> ET.Element:
    printed = _svn(cwd, words[0], "--xml", *words[1:])
    return ET.fromstring(printed)  # noqa: S314  # svn writes no document types, and escapes users' texts


def _svn(cwd: Path, *words: str, timeout: float = _ASKING) -> bytes:
    return asked(("svn", words[0], "--non-interactive", *words[1:]), cwd, timeout=timeout)


_NUMBER = re.compile(r"r?([0-9]{1,9})")
_ADDRESS = re.compile(r"\^/(?P<path>[^@]*)(?:@r?(?P<number>[0-9]{1,9}))?")
_HERE = {"BASE", "COMMITTED"}
_TRUNK = "trunk"
_BRANCHES = {"branches", "tags"}


class _Line(NamedTuple):
    """A line of history: a path in the repository in the revision ``peg``, with its copy sources."""

    path: str
    peg: int


class SvnHistory:
    """The working copy around a folder.

    Its revisions, ``r`` and a number, are those in which its trunk, branch or tag changed, or the source of that copy.
    Files are exported, so that the working copy does not change.
    """

    def __init__(self, top: Path, root: str, path: str) -> None:
        self.top = top
        self._root = root
        self._path = path
        self._lines: dict[str, _Line] = {}

    @classmethod
    def around(cls, folder: Path) -> SvnHistory | None:
        """The history of the working copy that a folder is in; None if it is in none.

        Folders in ``trunk``, or in a folder of ``branches`` or ``tags``, have the files and revisions of that folder.

        Raises:
            InputError: where svn is not installed, or cannot read it.
        """
        if not any((place / ".svn").is_dir() for place in (folder, *folder.parents)):
            return None
        try:
            known = info(".", folder)
        except CommandError as error:
            if _is_absent(error):
                return None
            raise
        assert known.working_copy is not None
        inner = len(folder.resolve().relative_to(known.working_copy.resolve()).parts)
        parts = PurePosixPath(known.path).parts
        branch = _branch(parts)
        above = min(inner, len(parts) - len(branch)) if branch else inner
        return cls((folder, *folder.parents)[above], known.root, "/".join(parts[: len(parts) - above]))

    def find(self, text: str) -> Revision | None:
        """The newest revision up to ``r123``, ``123``, HEAD, BASE or PREV, or of ``^/branches/name`` (also ``@123``).

        Raises:
            InputError: for a date, or where svn does not answer.
        """
        if text.startswith("{"):
            raise InputError(
                f"{text!r} is a date, and no revision", fix=f"write the number that svn info -r '{text}' says"
            )
        try:
            return self._found(text)
        except CommandError as error:
            if _is_absent(error):
                return None
            raise

    def nearest(self, text: str) -> str:
        """What to write instead of an unknown name."""
        return suggestion(text, ["HEAD", "BASE", "PREV", "r1", f"^/{_TRUNK}", "^/branches/NAME"])

    def base(self) -> Revision | None:
        """The newest revision of any file of the working copy."""
        return self.find("BASE")

    def main_branch(self) -> str:
        """The name of the main branch."""
        return _TRUNK

    def main(self) -> Revision | None:
        """The newest revision of the trunk, if there is one."""
        parts = PurePosixPath(self._path).parts
        branch = _branch(parts)
        if not branch:
            return None
        before = branch[: -1 if branch[-1] == _TRUNK else -2]
        return self.find("^/" + "/".join((*before, _TRUNK, *parts[len(branch) :])))

    def merge_base(self, first: Revision, second: Revision) -> Revision:
        """The newest revision of the second's line that the first's line contains entirely, by copies or merges.

        Raises:
            InputError: where the two are not related, or svn does not answer.
        """
        if self.contains(second, first.id):
            return first
        line, number = self._line(second.id), number_of(second.id)
        try:
            own = self._url(self._line(first.id)._replace(peg=number_of(first.id)))
            left = eligible(self._url(line._replace(peg=number)), own, self.top)
        except CommandError:
            raise InputError(f"{first} and {second} have no common ancestor", fix="name a reference") from None
        found = self._newest(line, left[0] - 1 if left else number)
        if found is None:
            raise InputError(f"{first} and {second} have no common ancestor", fix="name a reference")
        return found

    def before(self, revision: Revision) -> Revision:
        """The previous revision on its line.

        Raises:
            InputError: where it has none, or svn does not answer.
        """
        found = self._newest(self._line(revision.id), number_of(revision.id) - 1)
        if found is None:
            raise InputError(f"there is nothing before {revision}", fix="name a reference")
        return found

    def between(self, first: Revision, last: Revision) -> Sequence[Revision]:
        """Revisions after ``first`` up to ``last`` on the working copy's own line, oldest first.

        Raises:
            InputError: where one is not on this line, ``last`` does not come after ``first``, or svn does not answer.
        """
        for revision in (first, last):
            if revision.id in self._lines:
                raise InputError(
                    f"{revision} is not one of ^/{self._path}",
                    fix=f"go where it is: svn switch ^/{self._lines[revision.id].path}",
                )
        low, high = number_of(first.id), number_of(last.id)
        if low >= high:
            raise InputError(f"{last} does not come after {first}", fix="exchange them, or name others")
        return [_revision(entry) for entry in log(self._url(self._own), self.top, low + 1, high)]

    def inside(self, first: Revision, last: Revision) -> Sequence[str]:
        """The ids of the revisions of ``last``'s line after ``first``, or since it was copied from ``first``'s."""
        if first.id == last.id:
            return []
        line, high = self._line(last.id), number_of(last.id)
        if self.contains(last, first.id):
            entries = log(self._url(line), self.top, high, number_of(first.id) + 1)
        else:
            entries = log(self._url(line), self.top, high, 1, "--stop-on-copy")
        return [last.id, *(f"r{entry.number}" for entry in entries[1:])]

    def contains(self, whole: Revision, part: str) -> bool:
        """Whether a revision has the id ``part``, or ``part`` comes before it on its line.

        Raises:
            InputError: where svn does not answer.
        """
        line, number = self._line(whole.id), number_of(part)
        if whole.id == part:
            return True
        if part.startswith("^/") and part != f"^/{line.path}@{number}":
            return False
        return 0 < number < number_of(whole.id) and self._changed(line, number)

    def put(self, revision: str, folder: Path) -> None:
        """Export the files of a revision into an empty folder, without externals.

        Raises:
            InputError: where they do not exist, or svn does not answer.
            OSError: where they cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        export(self._url(self._line(revision)), number_of(revision), folder)

    @cached_property
    def _own(self) -> _Line:
        """The working copy's own line as it is now; if its path was deleted, as of the last update."""
        try:
            return _Line(self._path, info(self._url(_Line(self._path, 0)), self.top).number)
        except CommandError as error:
            if not _is_absent(error):
                raise
            return _Line(self._path, info(".", self.top).number)

    def _found(self, text: str) -> Revision | None:
        address, number = _ADDRESS.fullmatch(text), _NUMBER.fullmatch(text)
        if address is not None:
            path = address["path"].strip("/")
            known = address["number"]
            line = _Line(path, info(self._url(_Line(path, 0)), self.top).number if known is None else int(known))
            return self._newest(line, line.peg, text)
        if text == "PREV":
            base = self.base()
            return None if base is None else _named(self.before(base), text)
        if text in _HERE:
            return self._newest(self._own, newest(self.top), text)
        if text == "HEAD":
            return self._newest(self._own, self._own.peg, text)
        return None if number is None else self._newest(self._own, int(number[1]), text)

    def _newest(self, line: _Line, number: int, name: str = "") -> Revision | None:
        """The newest revision of a line up to a number; None where there is none."""
        entries = log(self._url(line), self.top, number, 1, "--limit", "1") if number > 0 else []
        if not entries:
            return None
        found = _revision(entries[0])
        if line.path != self._path and not self._is_own(line, entries[0].number):
            if self._changed(self._own, entries[0].number):  # one commit changed both: the number alone is ambiguous
                found = _revision(entries[0], f"^/{line.path}@{entries[0].number}")
            self._lines[found.id] = line
        return _named(found, name)

    def _is_own(self, line: _Line, number: int) -> bool:
        """Whether a line's path in a revision is that of the working copy's own line in that revision."""
        try:
            there, own = (info(self._url(each), self.top, number).path for each in (line, self._own))
        except CommandError as error:
            if _is_absent(error):
                return False
            raise
        return there == own

    def _changed(self, line: _Line, number: int) -> bool:
        return bool(log(self._url(line), self.top, number, number))

    def _line(self, revision: str) -> _Line:
        return self._lines.get(revision, self._own)

    def _url(self, line: _Line) -> str:
        return f"{self._root}/{quote(line.path)}@{line.peg or 'HEAD'}"


def number_of(revision: str) -> int:
    """The number in a revision's id; 0 if the id is not one of svn's."""
    digits = revision.rpartition("@")[2] if revision.startswith("^/") else revision.removeprefix("r")
    return int(digits) if digits.isdecimal() else 0


def _branch(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The path of the trunk, branch or tag that a path is in, by the usual names; empty if it is in none."""
    for place, part in enumerate(parts):
        if part == _TRUNK:
            return parts[: place + 1]
        if part in _BRANCHES and place + 1 < len(parts):
            return parts[: place + 2]
    return ()


def _revision(entry: Logged, name: str = "") -> Revision:
    return Revision(name or f"r{entry.number}", RevisionKind.SVN, "", entry.title, entry.made)


def _named(found: Revision, name: str) -> Revision:
    plain = {found.id, found.id.removeprefix("r")}
    return Revision(found.id, found.kind, "" if name in plain else name, found.title, found.made)
