"""Requirements files by their content, with that of all on this machine that they name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from hati.core import InputError, digest
from hati.python.local_content import content, normal
from hati.python.requirement_lines import ARCHIVES, Kind, Named, named, plain

_UNREAD = frozenset(
    {"--cache-dir", "--log", "--target", "-t", "--prefix", "--root", "--src", "--report", "--python", "--cert"}
)


def contents(tree: Path, files: Iterable[Path]) -> dict[str, str]:
    """Digests of the files, and of what they and the files that they name depend on, by paths from the tree.

    That are requirements and constraints in files of their own, archives, and folders with sources. Of what is not
    there, and of the tree itself, there are none.
    """
    found: dict[str, str] = {}
    left = list(files)
    while left:
        file = normal(left.pop())
        name = os.path.relpath(file, tree)
        if name in found or not file.is_file():
            continue
        text = file.read_text(errors="replace")
        found[name] = digest(text)
        told = list(named(text))
        left += [file.parent / each.path for each in told if each.kind is Kind.REQUIREMENTS]
        found |= beside(tree, told, file.parent)
    return found


def beside(tree: Path, told: Iterable[Named], base: Path | None = None) -> dict[str, str]:
    """Digests of what is named to be installed, by paths from the tree; it is named from the tree, or from ``base``."""
    found: dict[str, str] = {}
    for each in told:
        if each.kind is not Kind.REQUIREMENTS:
            found |= content(tree, (base or tree) / each.path)
    return found


def mentioned(words: Iterable[str]) -> list[str]:
    """Digests of what words of a command name by absolute paths, as in ``--find-links=/srv/wheels``, in no order.

    They are read as lines of requirements files are; besides, the whole word can be a path, or what is behind ``=``.

    Raises:
        InputError: for a file that cannot be read.
    """
    top = Path("/")
    found: dict[str, str] = {}
    for place in (Path(path) for word in _read(words) for path in _paths(word)):
        try:
            if place.is_absolute():
                found |= content(top, place) if _is_archive(place) or place.is_dir() else contents(top, [place])
        except OSError as error:
            raise InputError(
                f"{error.filename or place} cannot be read: {error.strerror}", fix="make it readable"
            ) from None
    return sorted(found.values())


def _read(words: Iterable[str]) -> Iterator[str]:
    """Without options that name what is written, or says nothing of what is installed, and without their values."""
    before = ""
    for word in words:
        if not _UNREAD.intersection((before, word.partition("=")[0])):
            yield word
        before = word


def _paths(word: str) -> Iterator[str]:
    yield plain(word if word.startswith("/") else word.partition("=")[2])
    yield from (each.path for each in named(word))


def _is_archive(path: Path) -> bool:
    return path.name.endswith(ARCHIVES)
