"""Hati's own folder beside ``hati.toml``: the runs' work folders and the builds."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from hati.core import MeasurementError, digest

_IGNORED = "# Made by hati: nothing in this folder is to be under version control.\n*\n"


def make_own(root: Path) -> None:
    """Make the folder, so that git passes over it, whole or not at all; one that is there stays as it is.

    Only a list of ignored files that is empty, of a disk that was full, is written again.

    Raises:
        OSError: where it cannot be made.
    """
    own = root / ".hati"
    ignored = own / ".gitignore"
    try:
        own.mkdir()
    except FileExistsError:
        with suppress(OSError):
            if ignored.stat().st_size == 0:
                ignored.write_text(_IGNORED, encoding="utf-8")
        return
    try:
        ignored.write_text(_IGNORED, encoding="utf-8")
    except OSError:
        with suppress(OSError):
            ignored.unlink(missing_ok=True)
            own.rmdir()
        raise


def remedy(error: OSError) -> str:
    """What to do where hati cannot write into its folder.

    >>> remedy(OSError(errno.ENOSPC, "No space left on device"))
    'free some space'
    """
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "free some space"
    if error.errno == errno.EROFS:
        return "copy the project to where hati may write"
    return "let hati write there, or copy the project"


def work_root(root: Path) -> Path:
    """Where the runs' work folders are: on the file system of the project, not in memory."""
    return root / ".hati" / "work"


def shared_work_root(root: Path) -> Path:
    """Where they are for a user who may not enter the project's folder: one of the same name in every run of Hati."""
    return Path("/var/tmp") / f"hati-work-{digest(str(root), 12)}"  # noqa: S108 - only root makes it, for itself


def log_root(root: Path) -> Path:
    """Where the logs of servers are."""
    return root / ".hati" / "logs"


def make_shared(folder: Path) -> None:
    """Make the folder for another user's work, which nobody else may have made.

    Raises:
        OSError: where it is another's.
    """
    folder.mkdir(mode=0o711, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "it is not a folder that only this user may write to", str(folder))


def build_root(root: Path) -> Path:
    """Where the builds are."""
    return root / ".hati" / "builds"


def tree_root(root: Path) -> Path:
    """Where the files of revisions are while a campaign needs them."""
    return root / ".hati" / "trees"


def tidy(root: Path) -> None:
    """Make the folders, and remove the work folders and the trees of campaigns that were killed.

    Raises:
        MeasurementError: where nothing can be written.
    """
    for folder in (work_root(root), build_root(root)):
        try:
            make_own(root)
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise MeasurementError(f"cannot write to {folder}: {error.strerror}", fix=remedy(error)) from None
    for stale in work_root(root).iterdir():
        remove(stale)
    if (shared := shared_work_root(root)).exists() and os.geteuid() == 0:
        remove(shared)
    remove(tree_root(root))


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, write-protected folders too.

    What cannot be removed stays: the next start of hati tries again.
    """
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except OSError:
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)


def _open_up(top: Path) -> None:
    """Let the user write in a folder and in all below it."""
    ahead = [top]
    while ahead:
        folder = ahead.pop()
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
            with os.scandir(folder) as entries:
                ahead += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
