"""Results that were not delivered yet: on disk until the server has accepted or refused them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .connection import Connection
from .errors import ServerRefusal
from .files import own_folder, read_json, synchronize, write_json

Say = Callable[[str], None]
_REFUSED = ".refused"


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
            Unreachable, JoinError: at the first that cannot be sent; the others wait.
        """
        accepted = 0
        for place in self._waiting():
            message = read_json(place)
            if message is None:
                place.replace(place.with_suffix(_REFUSED))
                continue
            try:
                connection.post(message["path"], message["body"])
            except ServerRefusal as refusal:
                place.replace(place.with_suffix(_REFUSED))
                say(f"the server does not accept the result of task {message['body'].get('task')}: {refusal}")
            else:
                accepted += 1
                place.unlink()
            synchronize(self._folder)
        return accepted

    def _waiting(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))
