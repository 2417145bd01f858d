"""The file that a command writes instead of printing."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Place
from hati.subject.programs import LARGEST_OUTPUT


def read_written(path: Path) -> bytes:
    """All of a file that a command wrote.

    Raises:
        InputError: where it is not there, is no file, cannot be read, or has more than a command may print.
    """
    place = Place(path.name)
    if not path.is_file():
        what = "this is not a file" if path.exists() else "the command did not write this file"
        raise InputError(what, place=place, fix="`output` and the command must name the same file")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_OUTPUT + 1)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", place=place) from None
    if len(data) > LARGEST_OUTPUT:
        raise InputError("the file has more than 16 MiB", place=place, fix="let the command write less")
    return data
