"""Requirements files by their content, with that of all on this machine that they name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from hati.core import InputError, digest

_OPTION = re.compile(r"(?:(-[rcef])|(--requirement|--constraint|--editable|--find-links)(?=[\s=]))[\s=]*(.*)")
_FURTHER = {"-r", "--requirement", "-c", "--constraint"}
_COMMENT = re.compile(r"(^|\s)#.*")
_NAME = re.compile(r"^[\w.-]+\s*(?:\[[^\]]*\])?\s*@\s*")
_PLACE = re.compile(r"\"([^\"]+)\"|'([^']+)'|([^\s;]+)")
_URL = re.compile(r"file:(?://(?:localhost(?=/))?)?")
_ASKED = re.compile(r"(?:#\w+=.*|\[[^\]]*\])+$")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
_MADE = {"build", "dist", "node_modules", "__pycache__"}
_MADE_KINDS = (".so", ".pyd", ".dll", ".dylib", ".o", ".obj", ".a", ".lib", ".pyc", ".pyo", ".egg", ".egg-info", ".log")
_UNREAD = frozenset(
    {"--cache-dir", "--log", "--target", "-t", "--prefix", "--root", "--src", "--report", "--python", "--cert"}
)
_MARKS = {"pyvenv.cfg", "CACHEDIR.TAG"}


def contents(tree: Path, files: Iterable[Path]) -> dict[str, str]:
    """Digests of the files, and of what they and the files that they name depend on, by paths from the tree.

    That are requirements and constraints in files of their own, archives, and folders with sources. Of what is not
    there, and of the tree itself, there are none.
    """
    found: dict[str, str] = {}
    left = list(files)
    while left:
        file = _plain(left.pop())
        name = os.path.relpath(file, tree)
        if name in found or not file.is_file():
            continue
        text = file.read_text(errors="replace")
        found[name] = digest(text)
        for further, path in _named(text):
            place = file.parent / path
            if further:
                left.append(place)
            else:
                found |= content(tree, place)
    return found


def content(tree: Path, place: Path) -> dict[str, str]:
    """A digest of an archive or of a folder's sources, by its path from the tree; none of the tree itself."""
    place = _plain(place)
    if place == _plain(tree) or not place.exists():
        return {}
    files = [place] if place.is_file() else sorted(_sources(place))
    whole = {os.path.relpath(file, place): _hash(file) for file in files}
    return {os.path.relpath(place, tree): digest(whole)}


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
    yield _folder(word if word.startswith("/") else word.partition("=")[2])
    yield from (path for _, path in _named(word))


def _named(text: str) -> Iterator[tuple[bool, str]]:
    """The paths in a requirements file, each with whether it is one of further requirements."""
    for raw in text.replace("\\\n", " ").splitlines():
        line = _COMMENT.sub("", raw).strip()
        option = _OPTION.match(line)
        path = _PLACE.match(_NAME.sub("", option[3] if option else line, count=1))
        if path and (option or _is_path(path[path.lastindex or 0])):
            further = option is not None and (option[1] or option[2]) in _FURTHER
            yield further, _folder(path[path.lastindex or 0])


def _folder(path: str) -> str:
    """The path alone: of a URL, and without the extras that are asked of what lies there."""
    place = _ASKED.sub("", path)
    url = _URL.match(place)
    return unquote(place[url.end() :]) if url else place


def _is_path(text: str) -> bool:
    return text.startswith(("file:", ".", "/")) or ("://" not in text and ("/" in text or text.endswith(_ARCHIVES)))


def _sources(folder: Path) -> Iterator[Path]:
    """What decides what is installed of a folder: all but what is hidden, was built or logged, and environments."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        if here != folder and not _MARKS.isdisjoint(names):
            folders.clear()
            continue
        folders[:] = [name for name in folders if _is_source(name)]
        yield from (here / name for name in names if _is_source(name) and (here / name).is_file())


def _is_source(name: str) -> bool:
    return not (name.startswith(".") or name in _MADE or name.endswith(_MADE_KINDS))


def _is_archive(path: Path) -> bool:
    return path.name.endswith(_ARCHIVES)


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path))
