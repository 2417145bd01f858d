"""What outlives a client that is killed: the claim in progress, and results that were not delivered yet."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from .connection import Connection
from .files import JoinError, LimitExceeded, ServerRefusal, Unreachable, own_folder, read_json, synchronize, write_json

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


Say = Callable[[str], None]

_REFUSED, _MOST_REFUSED = ".refused", 20
_GONE = {403, 404, 409, 410}
"""Refusals of a lease that ended meanwhile: its batch needs no further end."""


class Spool:
    """A folder with a file for each message that is to be delivered, in the order in which they were written."""

    def __init__(self, folder: Path) -> None:
        self._folder = own_folder(folder)

    def __len__(self) -> int:
        return len(self._waiting())

    def keep(self, path: str, body: dict[str, Any]) -> None:
        """Keep a message for a path of the server; on return it survives a crash.

        Raises:
            OSError: where it cannot be written.
        """
        number = max([int(each.name.split("-")[0]) for each in self._folder.glob("[0-9]*-*")], default=0) + 1
        name = hashlib.sha256(
            f"{path} {body.get('batch')} {body.get('attempt')} {body.get('task')}".encode()
        ).hexdigest()
        write_json(self._folder / f"{number:012}-{name[:12]}.json", {"path": path, "body": body})

    def deliver(self, connection: Connection, say: Say) -> int:
        """Send all messages, and return the number of those that were accepted.

        A message that the server refuses for good is put aside under another name, and not sent again.

        Raises:
            Unreachable: where one cannot be sent now; if the server is there, the others are sent.
            JoinError: where the server refuses this client.
        """
        accepted, later = 0, None
        for place in self._waiting():
            try:
                accepted += self._send(place, connection, say)
            except Unreachable as error:
                if not error.answered:
                    raise
                later = error
        if later is not None:
            raise later
        return accepted

    def _send(self, place: Path, connection: Connection, say: Say) -> bool:
        message = read_json(place) or {"path": "", "body": {}}
        body = message["body"]
        try:
            connection.post(message["path"], body)
        except ServerRefusal as refusal:
            self._put_aside(place)
            say(f"the server does not accept the result of task {body.get('task')}: {refusal}")
            if refusal.status not in _GONE:
                about = {"batch": body.get("batch"), "attempt": body.get("attempt"), "outcome": "failed"}
                with suppress(ServerRefusal):
                    connection.post("/v1/end", {**about, "reason": f"its result is refused: {refusal}"})
            return False
        place.unlink()
        synchronize(self._folder)
        return True

    def _put_aside(self, place: Path) -> None:
        place.replace(place.with_suffix(_REFUSED))
        synchronize(self._folder)
        for old in sorted(self._folder.glob(f"*{_REFUSED}"))[:-_MOST_REFUSED]:
            old.unlink()

    def _waiting(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))
