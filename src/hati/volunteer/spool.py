"""Results that were not delivered yet: on disk until the server has accepted or refused them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .connection import Connection
from .errors import ServerRefusal, Unreachable
from .files import own_folder, read_json, synchronize, write_json

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
