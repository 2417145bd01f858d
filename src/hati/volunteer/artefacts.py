"""Artefacts: unpacked, and kept with builds for later batches, up to a total size.

They are compressed tar files, of whose members nothing may lead out of their folder: regular files, folders and
relative links that stay inside are accepted; nothing else.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import posixpath
import tarfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from .connection import Connection
from .envelope import inside
from .files import EnvelopeError, LimitExceeded, own_folder, read_json, remove, write_json

MOST_MEMBERS = 20_000
_CHUNK = 1 << 16
_LARGEST_HEADER = 1 << 20
_DEEPEST = 64


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    made = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            made.update(part)
    return made.hexdigest()


def unpack(archive: Path, folder: Path, most: int) -> None:
    """Unpack an archive, whose digest was checked, into a new folder; its files have at most ``most`` bytes.

    Raises:
        EnvelopeError: where a member leads out, is a device or another special file, or there is too much.
        OSError: where a file cannot be written.
    """
    folder.mkdir(parents=True)
    plain = folder.with_name(f"{folder.name}.tar")
    try:
        _decompress(archive, plain, most)
        with plain.open("rb") as file, tarfile.open(fileobj=_Bounded(file), mode="r:") as members:
            _extract(members, folder, most)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, ValueError) as error:
        raise EnvelopeError(f"the artefact is not a compressed tar file: {error}") from None
    finally:
        plain.unlink(missing_ok=True)


def _decompress(archive: Path, plain: Path, most: int) -> None:
    size = 0
    with gzip.open(archive, "rb") as source, plain.open("xb") as target:
        while part := source.read(_CHUNK):
            size += len(part)
            if size > most + most // 8 + MOST_MEMBERS * 1024:  # with headers
                raise EnvelopeError(f"the artefact unpacks to more than {most >> 20} MiB")
            target.write(part)


class _Bounded(io.RawIOBase):
    """A file of which no single header is read that is larger than a header is: extended ones may claim any size."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= _LARGEST_HEADER:
            raise EnvelopeError("the artefact has a header of more than 1 MiB")
        return self._file.read(size)


def _extract(members: tarfile.TarFile, folder: Path, most: int) -> None:
    total, links = 0, dict[str, str]()
    for number, member in enumerate(members):
        if number >= MOST_MEMBERS:
            raise EnvelopeError(f"the artefact has more than {MOST_MEMBERS:,} members")
        name = _name(member)
        if member.issym():
            links[name] = _target(name, member.linkname)
        elif member.isdir():
            (folder / name).mkdir(parents=True, exist_ok=True)
        elif member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse():
            total += member.size
            if total > most:
                raise EnvelopeError(f"the artefact unpacks to more than {most >> 20} MiB")
            _write(members, member, folder / name)
        else:
            raise EnvelopeError(f"the artefact's member {name!r} is neither a file, a folder nor a symbolic link")
    for name, target in links.items():  # last, so that nothing is written through one
        if any(str(parent) in links for parent in PurePosixPath(name).parents):
            raise EnvelopeError(f"the artefact's member {name!r} is inside of a link")
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.symlink_to(target)
        except FileExistsError:
            raise EnvelopeError(f"the artefact has two members {name!r}") from None
    _check_links(folder, links)


def _name(member: tarfile.TarInfo) -> str:
    try:
        name = inside(member.name)
    except EnvelopeError:
        raise EnvelopeError(f"the artefact's member {member.name!r} leads out of its folder") from None
    if len(name.split("/")) > _DEEPEST:
        raise EnvelopeError("the artefact has folders that are nested too deeply")
    return name


def _target(name: str, target: str) -> str:
    leads = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    if target.startswith("/") or leads == ".." or leads.startswith("../"):
        raise EnvelopeError(f"the artefact's link {name!r} leads out of its folder")
    return target


def _check_links(folder: Path, links: dict[str, str]) -> None:
    """Links over links may lead out although none of them does so alone."""
    root = os.path.realpath(folder)
    for name in links:
        leads = os.path.realpath(folder / name)
        if os.path.commonpath([root, leads]) != root:
            raise EnvelopeError(f"the artefact's link {name!r} leads out of its folder")


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o755 if member.mode & 0o100 else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(place, flags, mode)
    except FileExistsError:
        raise EnvelopeError(f"the artefact has two members {member.name!r}") from None
    source = members.extractfile(member)
    assert source is not None
    with os.fdopen(descriptor, "wb") as target:
        left = member.size
        while left:
            part = source.read(min(_CHUNK, left))
            if not part:
                raise EnvelopeError("the artefact is cut off")
            target.write(part)
            left -= len(part)


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
