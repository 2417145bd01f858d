"""The socket to hati: length-prefixed JSON."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

Message = dict[str, Any]


class HangUp(Exception):  # noqa: N818 - no error: hati has gone
    """The other end of the socket is closed."""


def keep_from_children(fd: int) -> None:
    """No program that is started gets this descriptor."""
    fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)


class Channel:
    """Receives requests and sends replies over the socket ``fd``, which no child inherits."""

    def __init__(self, fd: int) -> None:
        keep_from_children(fd)
        self.fd = fd

    def receive(self) -> Message:
        """The next request.

        Raises:
            HangUp: where hati has gone.
        """
        message: Message = json.loads(self._exactly(int.from_bytes(self._exactly(4), "big")))
        return message

    def send(self, reply: Message) -> None:
        """Answer a request."""
        text = json.dumps(reply).encode()
        data = len(text).to_bytes(4, "big") + text
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except OSError as error:
            raise HangUp from error

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self.fd, size)
            except OSError as error:
                raise HangUp from error
            if not part:
                raise HangUp
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
