"""Requirements files by their content, with that of all on this machine that they name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hati.core import digest

_OPTION = re.compile(r"(?:(-[rcef])|(--requirement|--constraint|--editable|--find-links)(?=[\s=]))[\s=]*(.*)")
_FURTHER = {"-r", "--requirement", "-c", "--constraint"}
_COMMENT = re.compile(r"(^|\s)#.*")
_BESIDE = re.compile(r"(?:\S+\s*@\s*)?(?:file:(?://)?)?([^\s;@]+)")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
_MADE = {"build", "dist", "__pycache__"}


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
    whole = {os.path.relpath(file, place): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return {os.path.relpath(place, tree): digest(whole)}


def mentioned(words: Iterable[str]) -> list[str]:
    """Digests of what words of a command name by absolute paths, as in ``--find-links=/srv/wheels``, in no order."""
    top = Path("/")
    found: dict[str, str] = {}
    for word in words:
        place = Path(word if word.startswith("/") else word.partition("=")[2])
        if place.is_absolute():
            found |= content(top, place) if _is_archive(place) or place.is_dir() else contents(top, [place])
    return sorted(found.values())


def _named(text: str) -> Iterator[tuple[bool, str]]:
    """The paths in a requirements file, each with whether it is one of further requirements."""
    for raw in text.replace("\\\n", " ").splitlines():
        line = _COMMENT.sub("", raw).strip()
        if option := _OPTION.match(line):
            path = option[3].strip("\"' ")
            yield (option[1] or option[2]) in _FURTHER, _folder(path)
        elif (path := _BESIDE.match(line)) and _is_path(path[1]):
            yield False, _folder(path[1])


def _folder(path: str) -> str:
    """Without the extras that are asked of what lies there."""
    return re.sub(r"\[[^\]]*\]$", "", path.removeprefix("file:").removeprefix("//"))


def _is_path(text: str) -> bool:
    return "://" not in text and (text.startswith((".", "/")) or "/" in text or text.endswith(_ARCHIVES))


def _sources(folder: Path) -> Iterator[Path]:
    """What decides what is installed of a folder: sources, archives, and what says what they need."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") or part in _MADE or part.endswith(".egg-info") for part in parts):
            continue
        if path.is_file() and (path.suffix in {".py", ".toml", ".cfg"} or _is_archive(path)):
            yield path


def _is_archive(path: Path) -> bool:
    return path.name.endswith(_ARCHIVES)


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path))
