"""What the program ``svn`` answers, read from its XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from hati.subject.revisions.commands import CommandError, asked

_ASKING = 120.0
"""Seconds that a question to a server may take."""

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
    """What ``svn info`` tells of a folder: ``path`` is its own in the repository at ``root``, decoded.

    ``working_copy`` is the top of the working copy that it is in, None for a URL.
    """

    path: str
    root: str
    number: int
    working_copy: Path | None


class Status(NamedTuple):
    """A file of a working copy, relative to the folder that was asked of, and what svn says of it."""

    path: Path
    item: str


def is_absent(error: CommandError) -> bool:
    """Whether svn says that there is no such thing, and not that it cannot tell."""
    return _ABSENT.search(error.message) is not None


def info(target: str, cwd: Path, number: int | None = None) -> Info:
    """What is known of a target; of a URL as it was in the revision of that number.

    Raises:
        CommandError: where there is none.
        InputError: where svn is not there, or does not answer.
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
    """The largest number of a revision that anything below a folder of a working copy is of; no server is asked.

    Raises:
        CommandError: where it is in no working copy.
        InputError: where svn is not there.
    """
    entries = _xml(folder, "info", "--depth", "infinity", ".").iter("entry")
    return max(int(entry.get("revision", "0")) for entry in entries)


def log(target: str, cwd: Path, first: int, last: int, *more: str) -> list[Logged]:
    """The revisions in which a target or what it was copied from changed, in the order from ``first`` to ``last``.

    Raises:
        CommandError: where there are no such revisions.
        InputError: where svn is not there, or does not answer.
    """
    return [_logged(entry) for entry in _xml(cwd, "log", "-r", f"{first}:{last}", *more, target).iter("logentry")]


def eligible(source: str, target: str, cwd: Path) -> list[int]:
    """The numbers of a source's revisions that were not merged into a target, ascending.

    Raises:
        CommandError: where the two are not related.
        InputError: where svn is not there, or does not answer.
    """
    told = _svn(cwd, "mergeinfo", "--show-revs", "eligible", source, target)
    return [int(word.strip("r*")) for word in told.decode().split()]


def export(target: str, number: int, folder: Path) -> None:
    """Write the files that a target had in a revision; what is at other addresses is left out.

    Raises:
        CommandError: where there are none.
        InputError: where svn is not there, or does not answer.
    """
    words = ("--quiet", "--force", "--ignore-externals", "-r", str(number), target, f"{folder}@")
    _svn(folder.parent, "export", *words, timeout=_EXPORTING)


def statuses(folder: Path) -> Iterator[Status]:
    """All that is below a folder of a working copy, as far as it is not ignored; no server is asked.

    Raises:
        CommandError: where it is in no working copy.
        InputError: where svn is not there.
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
    told = _svn(cwd, words[0], "--xml", *words[1:])
    return ET.fromstring(told)  # noqa: S314  # svn writes no document types, and escapes what others wrote


def _svn(cwd: Path, *words: str, timeout: float = _ASKING) -> bytes:
    return asked(("svn", words[0], "--non-interactive", *words[1:]), cwd, timeout=timeout)
