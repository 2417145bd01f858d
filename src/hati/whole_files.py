"""Files that are written as a whole: after a crash a file has its old content or its new one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


def replace_file(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a file as a whole; it keeps its permissions, and a new one has those of the umask.

    Raises:
        OSError: where it cannot be written; it is as before then.
    """
    with durable_file(file.parent, pieces) as written:
        with suppress(FileNotFoundError):
            written.chmod(file.stat().st_mode & 0o7777)
        written.replace(file)


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
