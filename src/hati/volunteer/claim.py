"""The claim in progress: a file from which a client that was killed goes on where it was."""

from __future__ import annotations

import secrets
from pathlib import Path

from .errors import JoinError, LimitExceeded
from .files import read_json, write_json

_MOST_STARTS = 2
"""How often a task is begun here that ends the client."""


class ClaimFile:
    """The idempotency key of a claim, on disk before the server hears of it, with the tasks that began.

    Raises:
        JoinError: where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        found = read_json(path) or {}
        self._starts: dict[str, int] = found.get("starts", {})
        self.resumed = "key" in found
        self.key: str = str(found["key"]) if self.resumed else secrets.token_hex(16)
        if not self.resumed:
            self._save()

    def begin(self, task: str) -> None:
        """Record that a task begins.

        Raises:
            LimitExceeded: where it has ended the client before, more than once.
            JoinError: where the file cannot be written.
        """
        self._starts[task] = self._starts.get(task, 0) + 1
        if self._starts[task] > _MOST_STARTS:
            raise LimitExceeded(f"the client was ended {_MOST_STARTS} times during task {task}")
        self._save()

    def remove(self) -> None:
        """The batch has ended."""
        self._path.unlink(missing_ok=True)

    def _save(self) -> None:
        try:
            write_json(self._path, {"key": self.key, "starts": self._starts})
        except OSError as error:
            raise JoinError(f"cannot write {self._path}: {error.strerror}", "free some space") from None
