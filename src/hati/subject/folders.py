"""Hati's own folder next to ``hati.toml``: work folders, builds, redirected output, and the list of its outputs."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from hati.core import MeasurementError, digest
from hati.file_errors import FULL, free_text

_TAG = "CACHEDIR.TAG"
_TAGGED = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by hati, which empties this folder.\n"
"""The tag of the Cache Directory Tagging Standard, so that backups skip the folder too."""
_IGNORED = "# Made by hati: nothing in this folder is to be under version control.\n*\n"


def make_own(root: Path) -> None:
    """Create Hati's folder, ignored by git, completely or not at all; an existing one is not changed.

    Only an empty list of ignored files, left by a full disk, is written again.

    Raises:
        OSError: where it cannot be created.
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


def lock_file(root: Path) -> Path:
    """The lock file in Hati's folder, which is created.

    Raises:
        MeasurementError: where the folder cannot be created.
    """
    own = root / ".hati"
    try:
        make_own(root)
        if not own.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise _unwritable(own, error) from None
    return own / "lock"


def _unwritable(folder: Path, error: OSError) -> MeasurementError:
    reason = f"{error.strerror}{free_text(folder) if error.errno in FULL else ''}"
    return MeasurementError(f"cannot write to {folder}: {reason}", fix=remedy(error))


def remedy(error: OSError) -> str:
    """The fix if hati cannot write into its folder.

    >>> remedy(OSError(errno.ENOSPC, "No space left on device"))
    'free some space'
    """
    if error.errno in FULL:
        return "free some space"
    if error.errno == errno.EROFS:
        return "copy the project to where hati may write"
    return "let hati write there, or copy the project"


def work_root(root: Path) -> Path:
    """The folder of the runs' work folders: on the file system of the project, not in memory."""
    return root / ".hati" / "work"


def shared_work_root(root: Path) -> Path:
    """The folder of work folders for a user who may not enter the project's folder; its name is always the same."""
    return Path("/var/tmp") / f"hati-work-{digest(str(root), 12)}"  # noqa: S108 - only root makes it, for itself


def log_root(root: Path) -> Path:
    """The folder of the servers' logs."""
    return root / ".hati" / "logs"


def make_shared(folder: Path) -> None:
    """Create the folder for another user's work; an existing one must belong to this user.

    Raises:
        OSError: where it belongs to another user, or others may write to it.
    """
    folder.mkdir(mode=0o711, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "it is not a folder that only this user may write to", str(folder))


def build_root(root: Path) -> Path:
    """The folder of the builds."""
    return root / ".hati" / "builds"


def tree_root(root: Path) -> Path:
    """The folder of the files of revisions while a campaign needs them."""
    return root / ".hati" / "trees"


def tidy(root: Path) -> None:
    """Create Hati's folders, and remove the work folders and trees of campaigns that were killed.

    Raises:
        MeasurementError: where nothing can be written, or a folder has files that Hati did not create.
    """
    for folder in (work_root(root), build_root(root), tree_root(root)):
        try:
            make_own(root)
            make_disposable(folder)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise _unwritable(folder, error) from None
    clear(work_root(root))
    discard(tree_root(root))
    if (shared := shared_work_root(root)).exists() and os.geteuid() == 0:
        remove(shared)


def make_disposable(folder: Path) -> None:
    """Create a folder whose content Hati may delete, and tag it as such.

    An existing one is tagged only if it is empty, or an earlier Hati created it: a link may lead to anybody's files.

    Raises:
        MeasurementError: where it has files that Hati did not create.
        OSError: where it cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if _is_disposable(folder):
        return
    names = sorted(entry.name for entry in folder.iterdir() if entry.name != _TAG)
    if names and not _is_of_earlier_hati(folder):
        raise MeasurementError(
            f"{folder} holds files that hati did not make, such as `{names[0]}`, and hati empties this folder",
            fix="move them away, or let the link lead to an empty folder" if _is_linked(folder) else "move them away",
        )
    (folder / _TAG).write_text(_TAGGED, encoding="ascii")


def clear(folder: Path) -> None:
    """Remove the content of a folder if its tag permits it."""
    if _is_disposable(folder):
        for entry in folder.iterdir():
            if entry.name != _TAG:
                remove(entry)


def discard(folder: Path) -> None:
    """`clear` a folder, and remove the folder too; a link is kept."""
    clear(folder)
    if _is_disposable(folder) and not folder.is_symlink():
        remove(folder)


def _is_disposable(folder: Path) -> bool:
    try:
        return (folder / _TAG).read_text(encoding="ascii", errors="replace") == _TAGGED
    except OSError:
        return False


def _is_of_earlier_hati(folder: Path) -> bool:
    """Whether an earlier Hati, which did not tag, created a folder: not a link, and in a folder that Hati created."""
    try:
        listed = (folder.parent / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return listed == _IGNORED and not _is_linked(folder)


def _is_linked(folder: Path) -> bool:
    return folder.is_symlink() or folder.parent.is_symlink()


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content, including write-protected folders.

    Files that cannot be removed are kept: the next start of hati tries again.
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
    """Make a folder and all folders below it writable by the user."""
    ahead = [top]
    while ahead:
        folder = ahead.pop()
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
            with os.scandir(folder) as entries:
                ahead += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


_LIST = Path(".hati") / "outputs"
_LINE = re.compile(r"(?:(?:[0-9a-f]{64}|store)  )?(.+)")
"""Earlier versions wrote a hash, or ``store``, before the path."""


def remember_output(file: Path) -> None:
    """Record a file as Hati's own, for the project whose folder contains it, if any."""
    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".hati").is_dir()), None)
    if root is None or not file.is_file() or file.is_relative_to(root / ".hati"):
        return
    path = file.relative_to(root).as_posix()
    if Path(path) not in outputs(root):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{path}\n")


def remember_redirected() -> None:
    """Record the files into which a shell redirects output as Hati's own."""
    for descriptor in (1, 2):
        with suppress(OSError):
            remember_output(Path(f"/proc/self/fd/{descriptor}"))


def outputs(root: Path) -> frozenset[Path]:
    """The recorded files, relative to the project's folder."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(match[1]) for match in map(_LINE.fullmatch, lines) if match)
