"""Text files in UTF-8, read with located errors."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Place
from hati.file_errors import read_error

LARGEST = 1_000_000
"""The default for the largest size of a file, in bytes."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, *, largest: int = LARGEST) -> str:
    """The text of a UTF-8 file.

    Raises:
        InputError: where it cannot be read, is too large, or is not UTF-8, with its place.
    """
    place = Place(str(path))
    try:
        with path.open("rb") as stream:
            data = stream.read(largest + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise read_error(path, error) from None
    if len(data) > largest:
        raise InputError(f"the file is larger than {largest:,} bytes", place=place, fix="is it the right file?")
    return decode(data, str(path))


def decode(data: bytes, file: str) -> str:
    """The text of UTF-8 data without a byte order mark.

    Raises:
        InputError: with the place of the first byte that is not UTF-8.
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise InputError(
            "the file starts with a byte order mark", place=Place(file, 1, 1), fix="save it as UTF-8 without one"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            place=Place(file, line, column),
            fix="save the file as UTF-8",
        ) from None
