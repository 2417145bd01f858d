"""A file of measurements that is being read: its bytes, its lines, and the progress."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from hati.core import InputError, Place
from hati.file_errors import read_error

Watch = Callable[[int, int], None]
"""Called with the number of bytes read so far, and the size of the file in bytes."""

LONGEST_LINE = 1 << 20
_HEAD = 1 << 16
_BUFFER = 1 << 16
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def unwatched(_read: int, _size: int) -> None:
    """Report nothing."""


def ignore_warning(_warning: str) -> None:
    """Ignore a warning."""


def cut_off_warning(place: Place) -> str:
    """The warning of a last line without a line end."""
    return f"{place}: this last line has no line end: if the file was cut off, it is incomplete or its value is wrong"


class OpenedFile(Struct, frozen=True):
    """An open file: its name, its bytes without a byte order mark, and the first bytes.

    Other files of a format are searched in its ``folder``, None if it is not a file.
    """

    file: str
    stream: BinaryIO
    head: bytes
    folder: Path | None = None

    def lines(self, warn: Callable[[str], None] = ignore_warning) -> Iterator[tuple[int, str]]:
        """The lines with their numbers from 1, without line ends; warn of a last line that may be cut off.

        Raises:
            InputError: for a line that is not UTF-8, or longer than ``LONGEST_LINE`` bytes.
        """
        number = 0
        while data := self.stream.readline(LONGEST_LINE):
            number += 1
            if len(data) == LONGEST_LINE:
                raise InputError(f"the line is longer than {LONGEST_LINE:,} bytes", place=Place(self.file, number))
            if not data.endswith((b"\n", b"\r")):
                warn(cut_off_warning(Place(self.file, number)))
            try:
                yield number, data.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte 0x{data[error.start]:02x} is not UTF-8",
                    place=Place(self.file, number, error.start + 1),
                    fix="save the file as UTF-8",
                ) from None


@contextmanager
def opened(path: Path, watch: Watch = unwatched) -> Iterator[OpenedFile]:
    """Open a file, compressed by gzip or not, to be read once or several times from its beginning.

    Raises:
        InputError: where it cannot be read or decompressed.
    """
    place = Place(str(path))
    if "\0" in str(path):
        raise InputError("a file's name has no null character")
    try:
        with path.open("rb") as file, _seekable(file) as raw, _unpacked(raw, watch) as stream:
            head = stream.read(_HEAD)
            stream.seek(0)
            yield OpenedFile(str(path), stream, head, path.absolute().parent)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the file cannot be unpacked: {error}", place=place) from None
    except OSError as error:
        raise read_error(path, error) from None


def _seekable(file: BinaryIO) -> BinaryIO:
    """The file itself, or all that a pipe gives."""
    return file if file.seekable() else io.BytesIO(file.read())


def _unpacked(raw: BinaryIO, watch: Watch) -> io.BufferedReader:
    size = raw.seek(0, os.SEEK_END)
    raw.seek(0)
    packed = raw.read(len(_GZIP)) == _GZIP
    raw.seek(0)
    data: BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]  # it reads and seeks
    marked = data.read(len(_BOM)) == _BOM
    return io.BufferedReader(_Watched(data, raw, len(_BOM) if marked else 0, size, watch), _BUFFER)


class _Watched(io.RawIOBase):
    """The bytes from an offset on; reports how much of the file has been read."""

    def __init__(self, data: BinaryIO, raw: BinaryIO, start: int, size: int, watch: Watch) -> None:
        self._data, self._raw, self._start, self._size, self._watch = data, raw, start, size, watch
        self._data.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # as the buffered reader calls it
        data = self._data.read(len(buffer))
        buffer[: len(data)] = data
        self._watch(self._raw.tell(), self._size)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET:
            return self._data.seek(offset, whence) - self._start
        return self._data.seek(self._start + offset) - self._start

    def tell(self) -> int:
        return self._data.tell() - self._start
