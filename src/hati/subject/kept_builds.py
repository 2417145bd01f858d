"""Builds that were made, kept within a bound."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePath

from hati.subject.folders import remove
from hati.subject.revisions.trees import Tree

MOST_BYTES = 8 * 2**30
_MARK = ".built"


class KeptBuilds:
    """Finished builds below a folder, each with a mark beside it that says how large it is, and when it was used last.

    Where together they are larger than ``most`` bytes, those go first that were not used for longest; never those that
    this object has found or kept.
    """

    def __init__(self, root: Path, most: int = MOST_BYTES) -> None:
        self._root = root
        self._most = most
        self._used: set[str] = set()

    def place(self, key: str) -> Path:
        """Where the build of that key is, or is to be made."""
        return self._root / key

    def find(self, key: str) -> Tree | None:
        """The build, where it was finished."""
        mark = self._mark(key)
        try:
            within = PurePath(json.loads(mark.read_text())["within"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        with suppress(OSError):
            mark.touch()
        self._used.add(key)
        return Tree(self.place(key), within)

    def keep(self, key: str, tree: Tree) -> None:
        """Mark a build as finished, and make room for it.

        Raises:
            OSError: where its mark cannot be written.
        """
        self._used.add(key)
        self._mark(key).write_text(json.dumps({"within": str(tree.within), "bytes": _size(self.place(key))}))
        marks = {
            mark.stem: mark for mark in sorted(self._root.glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime)
        }
        sizes = {name: _told_size(mark) for name, mark in marks.items()}
        for name, mark in marks.items():
            if sum(sizes.values()) <= self._most:
                break
            if name not in self._used:
                mark.unlink(missing_ok=True)
                remove(self.place(name))
                sizes.pop(name)

    def _mark(self, key: str) -> Path:
        return self._root / f"{key}{_MARK}"


def _told_size(mark: Path) -> int:
    try:
        return int(json.loads(mark.read_text())["bytes"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total
