"""Digests of what is on this machine, by its content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from hati.core import digest

_MADE = {"build", "dist", "node_modules", "__pycache__"}
_MADE_KINDS = (".so", ".pyd", ".dll", ".dylib", ".o", ".obj", ".a", ".lib", ".pyc", ".pyo", ".egg", ".egg-info", ".log")
_MARKS = {"pyvenv.cfg", "CACHEDIR.TAG"}


def content(tree: Path, place: Path) -> dict[str, str]:
    """A digest of an archive or of a folder's sources, by its path from the tree; none of the tree itself."""
    place = normal(place)
    if place == normal(tree) or not place.exists():
        return {}
    files = [place] if place.is_file() else sorted(_sources(place))
    whole = {os.path.relpath(file, place): _hash(file) for file in files}
    return {os.path.relpath(place, tree): digest(whole)}


def normal(path: Path) -> Path:
    """The path without ``..``."""
    return Path(os.path.normpath(path))


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
