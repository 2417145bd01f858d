"""Hati's own folder next to ``hati.toml``: the runs' work folders, the builds, and redirected output."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from hati.core import MeasurementError, digest

_TAG = "CACHEDIR.TAG"
_TAGGED = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by hati, which empties this folder.\n"
"""By the Cache Directory Tagging Standard, so that backups pass over it too."""
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


def lock_file(root: Path) -> Path:
    """The file of the folder's lock, in the folder, which is made.

    Raises:
        MeasurementError: where it cannot be made.
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
    return MeasurementError(f"cannot write to {folder}: {error.strerror}", fix=remedy(error))


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
        MeasurementError: where nothing can be written, or a folder holds files that Hati did not make.
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
    """Make a folder whose content Hati may delete, and tag it as such.

    One that is there is tagged where it is empty, or an earlier Hati made it: a link may lead to anybody's files.

    Raises:
        MeasurementError: where it holds files that Hati did not make.
        OSError: where it cannot be made.
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
    """Remove what a folder holds, where its tag says that Hati may."""
    if _is_disposable(folder):
        for entry in folder.iterdir():
            if entry.name != _TAG:
                remove(entry)


def discard(folder: Path) -> None:
    """`clear` a folder, and remove it too; a link stays."""
    clear(folder)
    if _is_disposable(folder) and not folder.is_symlink():
        remove(folder)


def _is_disposable(folder: Path) -> bool:
    try:
        return (folder / _TAG).read_text(encoding="ascii", errors="replace") == _TAGGED
    except OSError:
        return False


def _is_of_earlier_hati(folder: Path) -> bool:
    """Whether an earlier Hati, which tagged nothing, made a folder: no link, and in one that Hati made."""
    try:
        listed = (folder.parent / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return listed == _IGNORED and not _is_linked(folder)


def _is_linked(folder: Path) -> bool:
    return folder.is_symlink() or folder.parent.is_symlink()


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


_LIST = Path(".hati") / "outputs"
_LINE = re.compile(r"(?:(?:[0-9a-f]{64}|store)  )?(.+)")
"""Earlier versions wrote a hash, or ``store``, before the path."""


def remember_output(file: Path) -> None:
    """Remember a file as Hati's own, for the project whose folder it lies in, if there is one."""
    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".hati").is_dir()), None)
    if root is None or not file.is_file() or file.is_relative_to(root / ".hati"):
        return
    path = file.relative_to(root).as_posix()
    if Path(path) not in outputs(root):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{path}\n")


def remember_redirected() -> None:
    """The same for the files into which a shell redirects output."""
    for descriptor in (1, 2):
        with suppress(OSError):
            remember_output(Path(f"/proc/self/fd/{descriptor}"))


def outputs(root: Path) -> frozenset[Path]:
    """The files that were remembered, relative to the project's folder."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(match[1]) for match in map(_LINE.fullmatch, lines) if match)
