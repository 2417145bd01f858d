"""Files that Hati wrote into a project's folder on request: they are no part of the subject."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_LIST = Path(".hati") / "outputs"
_LINE = re.compile(r"(?:(?:[0-9a-f]{64}|store)  )?(.+)")
"""Earlier versions wrote a hash, or ``store``, before the path."""


def remember_output(file: Path) -> None:
    """Remember a file as Hati's own, for the project whose folder it lies in, if there is one."""
    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".hati").is_dir()), None)
    if root is None or not file.is_file() or file.is_relative_to(root / ".hati"):
        return
    path = file.relative_to(root).as_posix()
    if Path(path) not in outputs(root):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{path}\n")


def remember_redirected() -> None:
    """The same for the files that a shell sends what is printed to."""
    for descriptor in (1, 2):
        with suppress(OSError):
            remember_output(Path(f"/proc/self/fd/{descriptor}"))


def outputs(root: Path) -> frozenset[Path]:
    """The files that were remembered, relative to the project's folder."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(match[1]) for match in map(_LINE.fullmatch, lines) if match)
