"""The control channel of the load driver: authenticated frames on TCP, between a controller and a machine's agent.

Both ends prove that they have the key before anything else is read. Each frame carries a code over its kind, content
and number in its direction, so that one which is altered, repeated, left out or of somebody else ends the channel.
Content is not encrypted. An end that is silent for ``GONE_SECONDS``, by the kernel's probes, is gone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import time
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from hati.core import InputError

LEAST_KEY = 32
"""Fewest characters of a key."""
GONE_SECONDS = 9
HANDSHAKE_SECONDS = 10.0
MOST_CONTENT = 1 << 24
"""Bytes of a frame's content; a load program has a few hundred thousand."""
_GREETING = b"hati-probe-agent-1"
_NONCE, _CODE = 32, 32
_HEAD = struct.Struct(">IB")
_NUMBER = struct.Struct(">Q")


class FrameKind(IntEnum):
    """What a frame is: the controller's requests, then the agent's answers."""

    COMPILE = 1
    START = 2
    LINE = 3
    TERMINATE = 4
    CLOCK = 5
    DONE = 6
    REFUSED = 7
    OUTPUT = 8
    ENDED = 9
    WAITING = 10


class Frame(NamedTuple):
    """A frame that was received."""

    kind: FrameKind
    content: bytes


class ControlChannel:
    """One end of an authenticated connection."""

    def __init__(self, connection: socket.socket, sending: bytes, receiving: bytes) -> None:
        self._connection = connection
        self._keys = sending, receiving
        self._sent = self._received = 0

    def fileno(self) -> int:
        """The descriptor, which is readable once a frame begins to arrive."""
        return self._connection.fileno()

    @property
    def address(self) -> str:
        """The address of the other end."""
        return str(self._connection.getpeername()[0])

    @property
    def own_address(self) -> str:
        """The address of this end, as the other end can reach it."""
        return str(self._connection.getsockname()[0])

    def limit(self, seconds: float) -> None:
        """Wait for at most that long in what follows."""
        self._connection.settimeout(seconds)

    def send(self, kind: FrameKind, content: bytes = b"") -> None:
        """Send a frame.

        Raises:
            OSError: if the other end is gone.
        """
        head = _HEAD.pack(len(content), kind)
        self._connection.sendall(head + content + _code(self._keys[0], self._sent, head + content))
        self._sent += 1

    def receive(self) -> Frame:
        """The next frame.

        Raises:
            OSError: if the other end is gone, or the frame is not its next one.
        """
        head = _exactly(self._connection, _HEAD.size)
        length, kind = _HEAD.unpack(head)
        if length > MOST_CONTENT:
            raise ConnectionError("a frame is too large")
        content = _exactly(self._connection, length)
        code = _exactly(self._connection, _CODE)
        if not hmac.compare_digest(code, _code(self._keys[1], self._received, head + content)):
            raise ConnectionError("a frame is not authentic")
        self._received += 1
        return Frame(FrameKind(kind), content)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


class WrongKeyError(ConnectionError):
    """The other end has another key."""


def connect(address: str, port: int, key: bytes) -> ControlChannel:
    """The channel to the agent that listens there.

    Raises:
        OSError: if there is none; ``WrongKeyError`` if it has another key.
    """
    connection = socket.create_connection((address, port), timeout=HANDSHAKE_SECONDS)
    return _authenticated(connection, key, b"controller", b"agent")


def accepted(connection: socket.socket, key: bytes) -> ControlChannel:
    """The channel of a connection that an agent accepted.

    Raises:
        OSError: if the other end does not prove that it has the key.
    """
    return _authenticated(connection, key, b"agent", b"controller")


def _authenticated(connection: socket.socket, key: bytes, own: bytes, other: bytes) -> ControlChannel:
    """The channel, once both ends have proved that they have the key; the controller proves it first."""
    try:
        _watch(connection)
        connection.settimeout(HANDSHAKE_SECONDS)
        until = time.monotonic() + HANDSHAKE_SECONDS
        nonce = secrets.token_bytes(_NONCE)
        connection.sendall(_GREETING + nonce)
        greeting = _exactly(connection, len(_GREETING) + _NONCE, until)
        if not greeting.startswith(_GREETING):
            raise ConnectionError("it is not an agent of `hati probe`")
        nonces = {own: nonce, other: greeting[len(_GREETING) :]}
        session = hmac.digest(key, nonces[b"controller"] + nonces[b"agent"], hashlib.sha256)
        proofs = {end: hmac.digest(session, b"proof " + end, hashlib.sha256) for end in (own, other)}
        if own == b"controller":
            connection.sendall(proofs[own])
        try:
            proof = _exactly(connection, _CODE, until)
        except ConnectionError:
            raise WrongKeyError("it refuses the key") from None
        if not hmac.compare_digest(proof, proofs[other]):
            raise WrongKeyError("it has another key")
        if own == b"agent":
            connection.sendall(proofs[own])
    except BaseException:
        connection.close()
        raise
    keys = {end: hmac.digest(session, b"frames of " + end, hashlib.sha256) for end in (own, other)}
    return ControlChannel(connection, keys[own], keys[other])


def _watch(connection: socket.socket) -> None:
    """Let the kernel notice within ``GONE_SECONDS`` that the other end is gone, without a thread that could disturb."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
        connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * GONE_SECONDS)


def _code(key: bytes, number: int, content: bytes) -> bytes:
    return hmac.digest(key, _NUMBER.pack(number) + content, hashlib.sha256)


def _exactly(connection: socket.socket, size: int, until: float | None = None) -> bytes:
    """That many bytes, until a time on the monotonic clock.

    Raises:
        OSError: if fewer come.
    """
    found = bytearray()
    while len(found) < size:
        if until is not None and time.monotonic() > until:
            raise TimeoutError("it does not answer")
        part = connection.recv(min(size - len(found), 1 << 20))
        if not part:
            raise ConnectionError("it has closed the connection")
        found += part
    return bytes(found)


def read_key(file: Path) -> bytes:
    """The key in a file.

    Raises:
        InputError: where there is none.
    """
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise InputError(
            f"cannot read the key in {file}: {error.strerror}", fix="copy the file of `hati probe agent --key` here"
        ) from None
    if len(key) < LEAST_KEY:
        raise InputError(f"{file} has a key of {len(key)} characters", fix=f"use one of {LEAST_KEY} or more")
    return key


def make_key(file: Path) -> bytes:
    """The key in a file, which is created, for its owner alone, if it does not exist.

    Raises:
        InputError: where it can be neither read nor created.
    """
    if not file.exists():
        try:
            file.touch(0o600, exist_ok=False)
            file.write_text(secrets.token_hex(LEAST_KEY) + "\n")
        except OSError as error:
            raise InputError(f"cannot write the key to {file}: {error.strerror}", fix="name another file") from None
    return read_key(file)
