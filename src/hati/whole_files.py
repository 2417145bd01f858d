"""Files that are written as a whole: after a crash a file has its old content or its new one.

Devices and pipes are written to, and links are followed: a link stays, and its target is replaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


def replace_file(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a file as a whole; it keeps its permissions, and a new one has those of the umask.

    Raises:
        OSError: where it cannot be written; it is as before then.
    """
    with prepared_file(file, pieces) as put_in_place:
        put_in_place()


@contextmanager
def prepared_file(file: Path, pieces: Iterable[bytes]) -> Iterator[Callable[[], object]]:
    """A function that puts a complete file in its place; without a call of it the file is as before.

    Raises:
        OSError: where it cannot be written.
    """
    mode = _mode(file)
    if mode is not None and not stat.S_ISREG(mode):
        yield lambda: _write_through(file, pieces)
        return
    target = file.resolve()
    with durable_file(target.parent, pieces) as written:
        if mode is not None:
            written.chmod(stat.S_IMODE(mode))
        yield lambda: written.replace(target)


def _mode(file: Path) -> int | None:
    try:
        return file.stat().st_mode
    except FileNotFoundError:
        return None


def _write_through(file: Path, pieces: Iterable[bytes]) -> None:
    with file.open("wb") as opened:
        opened.writelines(pieces)


@contextmanager
def durable_file(folder: Path, pieces: Iterable[bytes]) -> Iterator[Path]:
    """A complete file in a folder, to be given a name there; without one it is removed in the end."""
    path = folder / f".hati-{token_hex(8)}"
    try:
        with path.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)
