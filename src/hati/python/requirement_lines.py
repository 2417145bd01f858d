"""What lines of requirements name on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

ARCHIVES: Final = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
"""How files that are installed end."""

_SHORT = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-f": "--find-links", "-i": "--index-url"}
_LONG = (*_SHORT.values(), "--extra-index-url")
_FURTHER = ("--requirement", "--constraint")
_COMMENT = re.compile(r"(^|\s)#.*")
_BEFORE_OPTION = re.compile(r"(?:^|\s)(?=-)")
_OPTION = re.compile(r"(-[rcefi]|--[a-z-]+(?=[\s=]))[\s=]*(.*)")
_NAME = re.compile(r"^[\w.-]+\s*(?:\[[^\]]*\]\s*)?@\s*")
_PLACE = re.compile(r"\"([^\"]+)\"|'([^']+)'|([^;]+)")
_URL = re.compile(r"file:(?://(?:localhost(?=/))?)?")
_REPOSITORY = "git+file:"
_FRAGMENT = re.compile(r"#\w+=.*")


class Kind(StrEnum):
    """What a path leads to."""

    REQUIREMENTS = "further requirements or constraints"
    CONTENT = "what is installed: a file or a folder"
    REPOSITORY = "a git repository, of which a revision is installed"


class Named(Struct, frozen=True):
    """A path from where it is named, and what it leads to; of a repository what is asked for, by any name."""

    path: str
    kind: Kind = Kind.CONTENT
    revision: str = "HEAD"


def named(text: str) -> Iterator[Named]:
    """What lines of a requirements file name, each with several options or none behind what is to be installed."""
    for raw in text.replace("\\\n", " ").splitlines():
        for part in _BEFORE_OPTION.split(_COMMENT.sub("", raw).strip()):
            option = _OPTION.match(part)
            place = _PLACE.match(_NAME.sub("", option[2] if option else part, count=1))
            path = place[place.lastindex or 0].strip() if place else ""
            if path and option:
                yield from _of_option(option[1], path)
            elif path and _is_path(path):
                yield _installed(path)


def plain(path: str) -> str:
    """The path alone: of a URL, and without the extras that are asked of what lies there."""
    place = _FRAGMENT.sub("", path)
    while place.endswith("]") and "[" in place:
        place = place[: place.rindex("[")].rstrip()
    url = _URL.match(place)
    return unquote(place[url.end() :]) if url else place


def _of_option(option: str, path: str) -> Iterator[Named]:
    """Nothing of an option that names no place; long ones can be cut short, as pip has it."""
    for name in _LONG:
        if name.startswith(_SHORT.get(option, option)):
            yield Named(plain(path), Kind.REQUIREMENTS) if name in _FURTHER else _installed(path)


def _installed(path: str) -> Named:
    if not path.startswith(_REPOSITORY):
        return Named(plain(path))
    url = path.removeprefix("git+").partition("#")[0]
    place, at, revision = url.rpartition("@")
    return Named(plain(place), Kind.REPOSITORY, revision) if at else Named(plain(url), Kind.REPOSITORY)


def _is_path(text: str) -> bool:
    return text.startswith((_REPOSITORY, "file:", ".", "/")) or (
        "://" not in text and ("/" in text or text.endswith(ARCHIVES))
    )
