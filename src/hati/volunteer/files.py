"""Files that are complete or not there, locks that end with the process, and errors in one line, with a fix."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Optional

BAD_INPUT, CANNOT_RUN = 2, 4
"""Exit statuses: what the user gave is wrong; nothing can be run here."""
_FORKED = 1.0
"""Seconds that a lock may be held by what a killed process had just forked."""


class JoinError(Exception):
    """The client cannot go on; ``fix`` says what to do, ``status`` is the exit status."""

    def __init__(self, message: str, fix: str = "", status: int = CANNOT_RUN) -> None:
        super().__init__(f"{message}; {fix}" if fix else message)
        self.status = status


class EnvelopeError(Exception):
    """An envelope or an artefact that is not run; the batch is given back with this reason."""


class LimitExceeded(Exception):  # noqa: N818 - the client goes on
    """A run that was ended since it exceeded a limit of the machine's owner: not a failure of the subject."""


class Unreachable(Exception):  # noqa: N818 - it is tried again
    """The server is not reached, or, if ``answered``, asks to come back, after ``wait`` seconds if it says when."""

    def __init__(self, message: str, wait: Optional[float] = None, *, answered: bool = False) -> None:
        super().__init__(message)
        self.wait, self.answered = wait, answered


class ServerRefusal(Exception):  # noqa: N818 - its status says what it means
    """A request that the server refused, with the HTTP status and its reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def write(path: Path, data: bytes) -> None:
    """Write a file for its owner only; after a crash it has its old content or its new one.

    Raises:
        OSError: where it cannot be written.
    """
    made = path.with_name(f".{path.name}.new")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    made.replace(path)
    synchronize(path.parent)


def synchronize(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, as ``write`` does."""
    write(path, json.dumps(value).encode())


def read_json(path: Path) -> Optional[dict[str, Any]]:
    """The JSON object in a file, None where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def remove(folder: Path) -> None:
    """Remove a folder with all that a program may have put there."""

    def permit(function: Callable[..., Any], path: str, _: object) -> None:
        with suppress(OSError):
            for each in (os.path.dirname(path), path):
                if not os.path.islink(each):
                    os.chmod(each, stat.S_IRWXU)
            if function in (os.unlink, os.rmdir):
                function(path)
            else:
                shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=permit)


def own_folder(folder: Path) -> Path:
    """A folder for its owner only, which is created.

    Raises:
        JoinError: where it cannot be created, or belongs to another user.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise JoinError(f"cannot create {folder}: {error.strerror}", "name another folder with `--home`") from None
    if status.st_uid != os.geteuid():
        raise JoinError(f"{folder} belongs to another user", "name another folder with `--home`")
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


@contextmanager
def locked(path: Path, waiting: Optional[Callable[[], None]], mode: int = 0o600) -> Iterator[Optional[int]]:
    """Hold the lock of a file, and yield its descriptor; programs that have it hold the lock too.

    ``waiting`` is called once where another process has the lock; without it, None is yielded where that process keeps
    the lock: what a killed process had just forked has it until its program starts. The file says who has the lock.

    Raises:
        JoinError: where the file cannot be opened.
    """
    try:
        descriptor = _opened(path, mode)
    except OSError as error:
        raise JoinError(f"cannot lock {path}: {error.strerror}", "remove that file") from None
    try:
        if not _taken(descriptor, 0.0 if waiting else _FORKED):
            if waiting is None:
                yield None
                return
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} volunteer".encode(), 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, patience: float) -> bool:
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        else:
            return True


def _opened(path: Path, mode: int) -> int:
    """Open a file that users may share; a kernel may refuse O_CREAT on another user's file in a sticky folder."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, mode)
    return descriptor
