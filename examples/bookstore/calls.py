"""The middleware between the web server and the application server: calls by name, as lines of JSON over TCP."""

from __future__ import annotations

import json
import socket

_CHUNK = 65536


class Connection:
    """One end of a connection. At most one call is under way on it, so that a line is the end of what has arrived."""

    def __init__(self, link: socket.socket) -> None:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a small message is sent at once
        self.link = link
        self._arrived = b""

    def send(self, message: object) -> None:
        """Send a call or an answer."""
        self.link.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> object | None:
        """The message that has arrived; None while it is not complete.

        Raises:
            EOFError: where the other end is closed.
        """
        chunk = self.link.recv(_CHUNK)
        if not chunk:
            raise EOFError
        self._arrived += chunk
        if not self._arrived.endswith(b"\n"):
            return None
        line, self._arrived = self._arrived, b""
        message: object = json.loads(line)
        return message

    def call(self, name: str, argument: int) -> object:
        """Make a call, and wait for its answer."""
        self.send([name, argument])
        while (answer := self.receive()) is None:
            pass
        return answer
