"""What a folder holds, as a revision."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from hati.core import InputError


class Content(NamedTuple):
    """Whether a path is a file, a program or a link; a hash of what it holds, and of a file how many bytes that are."""

    kind: str
    hash: bytes
    size: int


Contents = Mapping[Path, Content]


def contents(root: Path, files: Iterable[Path]) -> Contents:
    """What each of the files below a folder is and holds.

    Raises:
        InputError: where a file cannot be read.
    """
    found = {}
    for path in files:
        try:
            found[path] = _content(root / path)
        except OSError as error:
            raise InputError(
                f"cannot read {root / path}: {error.strerror}",
                fix="make it readable, or exclude it by [subject] sources",
            ) from None
    return found


def revision_of(found: Contents) -> str:
    """Twelve hexadecimal digits of a hash over paths, modes and contents, in the order of their paths."""
    whole = hashlib.sha256()
    for path, content in found.items():
        whole.update(f"{os.fspath(path)}\0{content.kind}\0".encode("utf-8", "surrogateescape"))
        whole.update(content.hash)
    return whole.hexdigest()[:12]


class Baseline(Struct, frozen=True):
    """The files that a project without version control had when its present revision was first seen.

    They are kept in its ``.hati``. As long as none of them changes, files that are new may be results: they are none of
    the subject. Once one has changed, all that is there is another revision.
    """

    root: Path
    name: str

    def settled(self, found: Contents) -> Contents:
        """Those of the files that count."""
        known = self._known(found)
        if known is None:
            self._keep(found)
            return found
        return known

    def _known(self, found: Contents) -> Contents | None:
        """The files that are kept; None where there are none, or one of them has changed or gone."""
        try:
            revision, *listed = os.fsdecode((self.root / ".hati" / self.name).read_bytes()).split("\0")
        except OSError:
            return None
        paths = set(map(Path, listed))
        kept = {path: content for path, content in found.items() if path in paths}
        return kept if kept.keys() == paths and revision_of(kept) == revision else None

    def _keep(self, found: Contents) -> None:
        text = "\0".join((revision_of(found), *map(os.fspath, found)))
        with suppress(
            OSError
        ):  # of a folder in which nothing was measured yet, or that is read-only, every file counts
            (self.root / ".hati" / self.name).write_bytes(os.fsencode(text))


def _content(path: Path) -> Content:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Content("link", hashlib.sha256(os.fsencode(path.readlink())).digest(), 0)
    with path.open("rb") as file:
        kind = "program" if status.st_mode & stat.S_IXUSR else "file"
        return Content(kind, hashlib.file_digest(file, "sha256").digest(), file.tell())
