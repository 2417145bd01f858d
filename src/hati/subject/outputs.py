"""Files that Hati itself wrote into a subject's folder: they are no part of the subject."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LIST = Path(".hati") / "outputs"


def remember_output(root: Path, file: Path, top: Path | None = None) -> None:
    """Remember a file below ``top`` as Hati's own; others, and what is in ``.hati`` of the folder, need not be.

    ``top`` is the folder ``root`` where it is not told, else one around it.
    """
    if not file.resolve().is_relative_to((top or root).resolve()):
        return
    path = Path(os.path.relpath(file.resolve(), root.resolve())).as_posix()
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
