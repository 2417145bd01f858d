"""Builds that were made, kept within a bound."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from hati.subject.folders import remove
from hati.subject.revisions.trees import Tree

MOST_BYTES = 8 * 2**30
_MARK = ".built"
_LOCK = ".lock"


class KeptBuilds:
    """Finished builds below a folder, each with a mark beside it that says how large it is, and when it was used last.

    Where together they are larger than ``most`` bytes, those go first that were not used for longest; never those that
    this object has found or made. What has no mark was left by a process that was killed, and goes as well, unless
    another process makes a build at that moment: it may be the one.
    """

    def __init__(self, root: Path, most: int = MOST_BYTES) -> None:
        self._root = root
        self._most = most
        self._used: set[str] = set()

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
        return Tree(self._root / key, within)

    def make(self, key: str, build: Callable[[Path], Tree]) -> Tree:
        """Have a build made in a folder that is not there yet, mark it as finished, and make room for it.

        Where ``build`` raises anything, nothing stays.

        Raises:
            OSError: where its mark cannot be written.
        """
        place = self._root / key
        self._remove_leftovers()  # they may be what fills the disk
        with _lock(self._root, fcntl.LOCK_SH):
            remove(place)
            try:
                made = build(place)
            except BaseException:
                remove(place)
                raise
            self._mark(key).write_text(json.dumps({"within": str(made.within), "bytes": _size(place)}))
        self._used.add(key)
        self._make_room()
        return made

    def _make_room(self) -> None:
        marks = {
            mark.stem: mark for mark in sorted(self._root.glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime)
        }
        sizes = {name: _told_size(mark) for name, mark in marks.items()}
        for name, mark in marks.items():
            if sum(sizes.values()) <= self._most:
                break
            if name not in self._used:
                mark.unlink(missing_ok=True)
                remove(self._root / name)
                sizes.pop(name)

    def _remove_leftovers(self) -> None:
        with _lock(self._root, fcntl.LOCK_EX | fcntl.LOCK_NB) as alone:
            for place in self._root.iterdir() if alone else ():
                if place.is_dir() and place.name not in self._used and not self._mark(place.name).exists():
                    remove(place)

    def _mark(self, key: str) -> Path:
        return self._root / f"{key}{_MARK}"


@contextmanager
def _lock(root: Path, kind: int) -> Iterator[bool]:
    """Hold the lock of a folder of builds, which ends with this process; whether it could be had."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, kind)
        except OSError:  # another has it, or the file system knows no locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


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
