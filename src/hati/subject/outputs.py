"""Files that Hati itself wrote into a subject's folder: they are no part of the subject.

A line of the list is a file's hash and its path, as of ``sha256sum``, or ``store`` and its path: a store's content
changes. What git tracks is left out of the subject only as long as it holds what Hati wrote.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from hati.subject.git_files import tracked

_LIST = Path(".hati") / "outputs"
_STORE = "store"
_LINE = re.compile(r"(?:([0-9a-f]{64}|store)  )?(.+)")


def remember_output(root: Path, file: Path, top: Path | None = None) -> None:
    """Remember a file below ``top``, with what it holds, as Hati's own; what is in ``.hati`` need not be.

    ``top`` is the folder ``root`` where it is not told, else one around it.
    """
    if file.is_file():  # nobody may wait for a pipe
        with suppress(OSError):
            _remember(root, file, top or root, _hash(file))


def remember_store(root: Path, file: Path, top: Path | None = None) -> None:
    """The same for a file of a store, whatever it holds."""
    _remember(root, file, top or root, _STORE)


def outputs(root: Path) -> frozenset[str]:
    """The files that were remembered and are still Hati's own, relative to the folder."""
    listed = _listed(root)
    theirs = tracked(root, listed)
    return frozenset(path for path, known in listed.items() if path not in theirs or _is_own(root / path, known))


def is_source(root: Path, file: Path) -> bool:
    """Whether git tracks the file, and it does not hold what Hati wrote for the subject ``root``."""
    return bool(tracked(file.parent, [file.name])) and _relative(root, file) not in outputs(root)


def _remember(root: Path, file: Path, top: Path, known: str) -> None:
    path = _relative(root, file)
    if not file.resolve().is_relative_to(top.resolve()) or path.startswith(".hati/"):
        return
    if known not in _listed(root).get(path, set()):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8") as stream:
            stream.write(f"{known}  {path}\n")


def _listed(root: Path) -> dict[str, set[str]]:
    """By its path what is known of each file."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found: dict[str, set[str]] = {}
    for known, path in (match.groups() for match in map(_LINE.fullmatch, lines) if match):
        found.setdefault(path, set()).update({known} if known else ())
    return found


def _is_own(file: Path, known: set[str]) -> bool:
    if _STORE in known:
        return True
    try:
        return _hash(file) in known
    except OSError:
        return False


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _relative(root: Path, file: Path) -> str:
    return Path(os.path.relpath(file.resolve(), root.resolve())).as_posix()
