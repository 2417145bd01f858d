"""Requirements files by their content, with that of all on this machine that they name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from hati.core import InputError, digest
from hati.python.local_content import content, is_file, normal
from hati.python.local_repositories import commits
from hati.python.requirement_lines import ARCHIVES, Kind, Named, named, plain

_UNREAD = frozenset(
    {"--cache-dir", "--log", "--target", "-t", "--prefix", "--root", "--src", "--report", "--python", "--cert"}
)


def contents(tree: Path, told: Iterable[Named]) -> dict[str, str]:
    """Digests of what is named from a tree, and of what files of requirements name in turn, by paths from the tree.

    Of what is not there, of the tree itself, and of a commit, which is always the same, there are none.

    Raises:
        InputError: for a repository that git cannot read.
        OSError: for what else cannot be read.
    """
    found: dict[str, str] = {}
    read: set[Path] = set()
    left = [(tree, each) for each in told]
    while left:
        base, each = left.pop()
        place = normal(base / each.path)
        match each.kind:
            case Kind.CONTENT:
                found |= content(tree, place)
            case Kind.REPOSITORY:
                found |= commits(tree, place, each.revision)
            case Kind.REQUIREMENTS if place not in read and is_file(place):
                text = place.read_text(errors="replace")
                read.add(place)
                found[os.path.relpath(place, tree)] = digest(text)
                left += [(start, further) for further in named(text) for start in _starts(tree, place, further)]
    return found


def _starts(tree: Path, file: Path, each: Named) -> set[Path]:
    """From where pip reads a path: of further files the file's folder, of what is installed its own, or either."""
    return {file.parent} if each.kind is Kind.REQUIREMENTS else {file.parent, tree}


def mentioned(words: Iterable[str]) -> list[str]:
    """Digests of what words of a command name by absolute paths, as in ``--find-links=/srv/wheels``, in no order.

    They are read as lines of requirements files are; besides, the whole word can be a path, or what is behind ``=``.

    Raises:
        InputError: for a file, a folder or a repository that cannot be read.
    """
    found: dict[str, str] = {}
    for each in (each for word in _read(words) for each in _told(word) if each.path.startswith("/")):
        try:
            found |= contents(Path("/"), [_as_it_is(each)])
        except OSError as error:
            raise InputError(
                f"{error.filename or each.path} cannot be read: {error.strerror}", fix="make it readable"
            ) from None
    return sorted(found.values())


def _read(words: Iterable[str]) -> Iterator[str]:
    """Without options that name what is written, or says nothing of what is installed, and without their values."""
    before = ""
    for word in words:
        if not _UNREAD.intersection((before, word.partition("=")[0])):
            yield word
        before = word


def _told(word: str) -> Iterator[Named]:
    yield Named(plain(word if word.startswith("/") else word.partition("=")[2]))
    yield from named(word)


def _as_it_is(each: Named) -> Named:
    """As a file of requirements, where it is no archive: the option before it may be another word."""
    path = Path(each.path)
    if each.kind is Kind.REPOSITORY or path.name.endswith(ARCHIVES) or not is_file(path):
        return each
    return Named(each.path, Kind.REQUIREMENTS)
