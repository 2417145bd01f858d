"""Artefacts and builds that are kept for later batches, up to a total size."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .artefacts import digest, unpack
from .connection import Connection
from .errors import EnvelopeError, LimitExceeded
from .files import own_folder, read_json, remove, write_json

_MARK = ".made"


class Kept:
    """Downloads and built trees below a folder; the least recently used are removed above ``most`` bytes.

    Only the holder of the client's lock may use it: what has no mark was left by a killed client, and is removed.
    """

    def __init__(self, root: Path, most: int) -> None:
        self._root, self._most = own_folder(root), most

    def artefact(self, connection: Connection, sha256: str, size: int) -> Path:
        """The file of an artefact, whose digest is checked.

        Raises:
            EnvelopeError: where it is too large, or the server sends something else.
            LimitExceeded: where it cannot be written.
            ServerRefusal, Unreachable: where it cannot be downloaded.
        """
        if size > self._most:
            raise EnvelopeError(
                f"the artefact has {size >> 20} MiB, and the owner of the machine keeps {self._most >> 20} MiB"
            )
        place = self._root / f"{sha256}.tar.gz"
        if self._size(place):
            self._touch(place)
            return place
        part = place.with_name(f"{sha256}.part")
        try:
            connection.download(f"/v1/artefacts/{sha256}", part, size)
            if digest(part) != sha256:
                part.unlink()
                raise EnvelopeError("the artefact has not the signed digest")
            part.replace(place)
        except OSError as error:
            raise LimitExceeded(f"the artefact cannot be kept: {error.strerror}") from None
        self._mark(place, size)
        return place

    def tree(self, key: str, make: Callable[[Path], None]) -> Path:
        """The tree with a key, which is made if it is not kept; if ``make`` raises anything, nothing is kept."""
        place = self._root / key
        if self._size(place):
            self._touch(place)
            return place / "tree"
        remove(place)
        place.mkdir(mode=0o700)
        try:
            make(place / "tree")
        except BaseException:
            remove(place)
            raise
        self._mark(place, sum(_sizes(place)))
        return place / "tree"

    def unpacked(self, archive: Path, most: int) -> Callable[[Path], None]:
        """A function that unpacks an artefact into a new folder."""
        return lambda folder: unpack(archive, folder, most)

    def tidy(self) -> None:
        """Remove what a killed client left, except the beginnings of downloads, and what exceeds the size."""
        marks = {mark.name[: -len(_MARK)]: mark for mark in self._root.glob(f"*{_MARK}")}
        for place in self._root.iterdir():
            if place.name not in marks and place.suffix not in {_MARK, ".part"}:
                _discard(place)
        parts = list(self._root.glob("*.part"))
        ages = sorted([*marks.values(), *parts], key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in ages:
            place = path if path.suffix == ".part" else self._root / path.name[: -len(_MARK)]
            total += path.stat().st_size if path.suffix == ".part" else self._size(place)
            if total > self._most:
                path.unlink()
                _discard(place)

    def _size(self, place: Path) -> int:
        """The recorded size of what was completed, 0 where it was not."""
        about = read_json(self._of(place))
        return max(1, int(about.get("bytes", 1))) if about and place.exists() else 0

    def _mark(self, place: Path, size: int) -> None:
        write_json(self._of(place), {"bytes": size})

    def _touch(self, place: Path) -> None:
        with suppress(OSError):
            os.utime(self._of(place))

    def _of(self, place: Path) -> Path:
        return place.with_name(f"{place.name}{_MARK}")


def _discard(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        remove(place)
    else:
        place.unlink(missing_ok=True)


def _sizes(folder: Path) -> list[int]:
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found.append(os.lstat(os.path.join(place, name)).st_size)
    return found
