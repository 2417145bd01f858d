"""Files that Hati itself wrote into a subject's folder: they are no part of the subject."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_LIST = Path(".hati") / "outputs"


def remember_output(root: Path, file: Path) -> None:
    """Remember a file below the folder ``root`` as Hati's own; others, and what is in ``.hati``, need not be."""
    try:
        path = file.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return
    if path.startswith(".hati/") or path in outputs(root):
        return
    with suppress(OSError), (root / _LIST).open("a", encoding="utf-8") as stream:
        stream.write(f"{path}\n")


def outputs(root: Path) -> frozenset[str]:
    """The files that were remembered, relative to the folder."""
    try:
        return frozenset((root / _LIST).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return frozenset()
