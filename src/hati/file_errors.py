"""The errors for files that cannot be read or written, with what to do, and with what is free on a full disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from hati.core import HatiError, InputError, MeasurementError, Place
from hati.core.wording import nearest

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LITTLE = 2**20


def read_error(file: Path, error: OSError | ValueError) -> InputError:
    """The error for a file that cannot be read; a ``ValueError`` is about its name."""
    place = Place(str(file))
    if isinstance(error, FileNotFoundError):
        near = _nearest(file)
        fix = f"did you mean {str(near)!r}?" if near else f"relative paths begin at {Path.cwd()}"
        return InputError("there is no such file", place=place, fix=fix)
    if isinstance(error, IsADirectoryError):
        return InputError("this is a folder", place=place, fix="name a file in it")
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return InputError(f"the file cannot be read: {reason}", place=place, fix="see its rights, or name another file")


def _nearest(file: Path) -> Path | None:
    """The file or folder in the same folder with the name that is most like it."""
    try:
        found = nearest(file.name, sorted(each.name for each in file.parent.iterdir()))
    except OSError:
        return None
    return file.with_name(found) if found else None


def write_error(file: Path, error: OSError, fix: str, action: str = "written") -> HatiError:
    """The error for a file that cannot be written; on a full disk, another input does not help."""
    message = f"{file} cannot be {action}: {error.strerror}"
    if error.errno not in FULL:
        return InputError(message, fix=fix)
    return MeasurementError(f"{message}{free_text(file)}", fix=f"free some space there, or {fix}")


def free_text(file: Path | int) -> str:
    """What is free on the disk of a file, which may not exist yet, or of a descriptor; empty for a device or a pipe."""
    from hati.document.document import quantity

    found = _file_system(file)
    if found is None:
        return ""
    if found.f_files and not found.f_favail:
        return " (no inode free)"
    return f" ({quantity(found.f_bavail * found.f_frsize, 'B', 3)} free)"


def is_nearly_full(file: Path | int) -> bool:
    """Whether less than 1 MiB is free on the disk of a file, or of a descriptor."""
    found = _file_system(file)
    return found is not None and found.f_bavail * found.f_frsize < _LITTLE


def _file_system(file: Path | int) -> os.statvfs_result | None:
    try:
        if isinstance(file, Path):
            file = next(each for each in (file, *file.absolute().parents) if each.exists())
        kind = stat.S_IFMT(os.stat(file).st_mode)  # noqa: PTH116 - also of a descriptor
        return os.statvfs(file) if kind in {stat.S_IFREG, stat.S_IFDIR} else None
    except OSError:
        return None
