"""The locks of a measuring process: of the machine, or of cores, and of a project's folder."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from hati.core import MeasurementError
from hati.file_errors import FULL, free_text

_COMMON = Path("/tmp")  # noqa: S108  # not TMPDIR, which differs between those who share the machine
_NAME = "hati-machine.lock"
_LONGEST = 8192
"""Bytes of a process id, a study's key and a folder's path."""
_OTHERWISE = "; set HATI_LOCK=FILE to use another lock, if they cannot disturb each other"


class LockHolder(NamedTuple):
    """Who has a lock: its process id, its study and its folder; empty where they are unknown."""

    process: str = ""
    study: str = ""
    folder: str = ""

    def __str__(self) -> str:
        shown = f"{self.study}{self.folder and f' in {self.folder}'}".strip()
        return f" (process {self.process}{shown and f', {shown}'})" if self.process else ""


def default_path() -> Path:
    """The path of the lock that all users of the machine share, unless ``HATI_LOCK`` names another file."""
    named = os.environ.get("HATI_LOCK")
    if named:
        return Path(named)
    return (_COMMON if os.access(_COMMON, os.W_OK) else Path(tempfile.gettempdir())) / _NAME


class FileLock:
    """A lock that one hati holds at a time, or several share; a process that is handed ``fd`` holds it too.

    The file has the holder's process id, study and folder. The lock is released when every process with the descriptor
    has ended. ``otherwise`` ends the report that it is waited for with what can be done.

    Raises:
        MeasurementError: where the file cannot be opened.
    """

    _ours: ClassVar[list[tuple[int, int]]] = []
    """The files that this process has locked: a process in another container may have the same process id."""

    def __init__(self, path: Path, otherwise: str = _OTHERWISE) -> None:
        self.path = path
        self._otherwise = otherwise
        self.held = False
        try:
            self.fd = _open(path)
        except OSError as error:
            fix = "free some space there" if error.errno in FULL else "remove that file"
            reason = f"{error.strerror}{free_text(path) if error.errno in FULL else ''}"
            raise MeasurementError(f"cannot lock {path}: {reason}", fix=fix) from None

    def acquire(
        self, study: str, waiting: Callable[[str], None], where: str = "on this machine", folder: Path | None = None
    ) -> None:
        """Wait until nobody else has the lock, and report once who has it and measures ``where``.

        ``folder`` is that of the study.

        Raises:
            MeasurementError: where this process holds it through another object.
        """
        self._take(fcntl.LOCK_EX, waiting, where)
        own = f"{os.getpid()} {study}\n{folder or ''}".rstrip()
        with suppress(OSError):  # it is held either way, and a full disk is for the store to report
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, os.fsencode(own)[:_LONGEST], 0)

    def share(self, waiting: Callable[[str], None]) -> None:
        """Wait until nobody else holds the lock exclusively.

        Raises:
            MeasurementError: where this process holds it through another object.
        """
        self._take(fcntl.LOCK_SH, waiting, "on this machine")

    def holder(self) -> LockHolder:
        """Who has the lock, by its file; what cannot be printed is left out."""
        text = os.pread(self.fd, _LONGEST, 0).decode("utf-8", "replace")
        process, _, rest = text.partition(" ")
        if not process.isdigit():
            return LockHolder()
        study, _, folder = (each if each.isprintable() else "" for each in rest.partition("\n"))
        return LockHolder(process, study, folder)

    def release(self) -> None:
        """Release the lock and close the file."""
        if self.fd >= 0:
            if self.held:
                if self.holder().process == str(os.getpid()):
                    os.ftruncate(self.fd, 0)
                FileLock._ours.remove(self._identity())
            os.close(self.fd)
            self.fd, self.held = -1, False

    def _take(self, operation: int, waiting: Callable[[str], None], where: str) -> None:
        try:
            fcntl.flock(self.fd, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if self._identity() in FileLock._ours:
                raise MeasurementError("this process measures already", fix="close the other engine first") from None
            waiting(f"waiting for another hati{self.holder()} that measures {where}{self._otherwise}")
            fcntl.flock(self.fd, operation)
        except OSError as error:
            waiting(
                f"warning: {self.path} cannot be locked ({error.strerror}); see that no other hati measures {where}"
            )
        FileLock._ours.append(self._identity())
        self.held = True

    def _identity(self) -> tuple[int, int]:
        status = os.fstat(self.fd)
        return status.st_dev, status.st_ino


class Locks:
    """The locks of a campaign: of the machine, or of the cores that all its runs are pinned to, and of Hati's folder.

    Two campaigns in the folder ``root`` would remove each other's runs, whichever locks of the machine they have.
    """

    def __init__(self, machine: Path, cores: Collection[int], root: Path) -> None:
        self._machine = machine
        self._cores = cores
        self._root = root.resolve()
        self._locks: list[FileLock] = []
        self.held = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors of the locks that were taken."""
        return tuple(lock.fd for lock in self._locks)

    def take(self, study: str, waiting: Callable[[str], None], folder: Callable[[], Path]) -> None:
        """Take all locks, in an order that prevents deadlocks; ``folder`` makes the folder's file.

        Raises:
            MeasurementError: where one is not available.
        """
        whole = self._open(self._machine)
        if self._cores:
            whole.share(waiting)
            for core in sorted(self._cores):
                path = self._machine.with_name(f"{self._machine.name}.cpu{core}")
                self._open(path).acquire(study, waiting, f"on CPU {core}", self._root)
        else:
            whole.acquire(study, waiting, folder=self._root)
        self._open(folder(), otherwise="").acquire(study, waiting, f"in {self._root}")
        self.held = True

    def release(self) -> None:
        """Release all locks."""
        for lock in reversed(self._locks):
            lock.release()
        self._locks.clear()
        self.held = False

    def _open(self, path: Path, otherwise: str = _OTHERWISE) -> FileLock:
        self._locks.append(FileLock(path, otherwise))
        return self._locks[-1]


def _open(path: Path) -> int:
    """Open the file, shared by all users; never through a link that someone put there.

    In a sticky folder the kernel may refuse O_CREAT on another user's file, so it is used for a new file only.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(fd, 0o666)
    return fd
