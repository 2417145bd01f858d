"""One measurement at a time on a machine."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hati.core import MeasurementError

_COMMON = Path("/tmp")  # noqa: S108  # not TMPDIR, which differs between those who share the machine
_NAME = "hati-machine.lock"


def default_path() -> Path:
    """Where all users of the machine have their common lock, unless ``HATI_LOCK`` names another file."""
    named = os.environ.get("HATI_LOCK")
    if named:
        return Path(named)
    return (_COMMON if os.access(_COMMON, os.W_OK) else Path(tempfile.gettempdir())) / _NAME


class MachineLock:
    """A lock that one hati has at a time; ``fd`` may be handed to a process that is to hold it as well;
    ``held`` tells whether this object has it.

    The file holds the holder's process id. The lock is released when all who have the descriptor have gone.

    Raises:
        MeasurementError: where the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = False
        try:
            self.fd = _open(path)
        except OSError as error:
            raise MeasurementError(f"cannot lock {path}: {error.strerror}", fix="remove that file") from None

    def acquire(self, waiting: Callable[[str], None]) -> None:
        """Wait for the lock; where another has it, tell so once.

        Raises:
            MeasurementError: where this very process holds it through another object.
        """
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self.holder()
            if holder == str(os.getpid()):
                raise MeasurementError("this process measures already", fix="close the other engine first") from None
            waiting(f"waiting for another hati (process {holder or 'unknown'}) that measures on this machine")
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        self.held = True
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, str(os.getpid()).encode(), 0)

    def holder(self) -> str:
        """The process id that the file holds; empty where it holds none."""
        text = os.pread(self.fd, 20, 0).decode("ascii", "replace")
        return text if text.isdigit() else ""

    def release(self) -> None:
        """Give the lock up and close the file."""
        if self.fd >= 0:
            if self.held:
                os.ftruncate(self.fd, 0)
            os.close(self.fd)
            self.fd, self.held = -1, False


def _open(path: Path) -> int:
    """Open the file, shared by all users; never through a link that someone put there.

    In a sticky folder the kernel may refuse O_CREAT on another user's file, so that is for a new file only.
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
