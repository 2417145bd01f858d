"""Files that people write, read with errors for all that can be wrong with them."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Place
from hati.space import FeatureModel, parse_feature_model

LARGEST = 1_000_000
"""The greatest size of a file, in bytes, unless told otherwise."""

_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, *, largest: int = LARGEST) -> str:
    """The text of a UTF-8 file.

    Raises:
        InputError: where it cannot be read, is too large, or is not UTF-8, with its place.
    """
    place = Place(str(path))
    try:
        with path.open("rb") as stream:
            data = stream.read(largest + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", place=place) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"the file cannot be read: {reason}", place=place) from None
    if len(data) > largest:
        raise InputError(f"the file is larger than {largest:,} bytes", place=place, fix="is it the right file?")
    return decode(data, str(path))


def decode(data: bytes, file: str) -> str:
    """The text of UTF-8 data without a byte order mark.

    Raises:
        InputError: with the place of the first byte that is none.
    """
    if data.startswith(_MARK):
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


_LARGEST = 16_000_000


def read_feature_model(path: Path) -> FeatureModel:
    """Read a ``FeatureModel.xml`` of SPL Conqueror.

    Raises:
        InputError: for all that is wrong with it, with its place.
    """
    return parse_feature_model(read_text(path, largest=_LARGEST), str(path))
