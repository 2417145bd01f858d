"""The agent on another machine: compiles and runs load programs for a controller that has its key."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread

import msgspec
from msgspec import Struct

from hati.core import HatiError, decode
from hati.driver.channel import ControlChannel, FrameKind, accepted
from hati.driver.compiling import LoadDriverError, compile_program

_CHUNK = 1 << 20
_MOST_HANDSHAKES = 16
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_SHORTAGE_SECONDS = 1.0
ANYWHERE = "0.0.0.0"  # noqa: S104 - the peers of an experiment are known by its token


Announce = Callable[[str], None]
Alone = Callable[[str, Announce], AbstractContextManager[None]]
"""The lock of a machine: receives that of the controller, empty if it holds none, and what to call with why it waits.

Raises a ``HatiError`` if both are the same, as it would wait without end.
"""


class CompileRequest(Struct, frozen=True):
    """The source of a load program, with further compiler flags; ``lock`` is what the controller holds meanwhile."""

    source: str
    flags: tuple[str, ...] = ()
    lock: str = ""


class AgentRefusal(Struct, frozen=True):
    """Why an agent did not do what it was asked, and what to do."""

    message: str
    fix: str = ""


def serve(listening: socket.socket, key: bytes, announce: Announce, alone: Alone) -> None:
    """Serve controllers, each connection in a thread of its own, until an exception such as KeyboardInterrupt.

    Args:
        listening: the socket.
        key: which controllers have to know.
        announce: receives a line for each connection and each that was refused.
        alone: what is held while a program is compiled and runs.
    """
    handshakes = _Handshakes()
    while True:
        try:
            connection, (address, *_) = listening.accept()
        except ConnectionAbortedError:
            continue
        except OSError as error:
            if error.errno not in _SHORTAGES:
                raise
            announce(f"cannot accept a connection: {error.strerror}; it waits")
            time.sleep(_SHORTAGE_SECONDS)
            continue
        handshakes.begin(connection)
        arguments = (handshakes, connection, address, key, announce, alone)
        Thread(target=_serve_one, args=arguments, daemon=True).start()


class _Handshakes:
    """The connections whose other ends have not proved the key yet; if there are too many, the oldest is ended."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._connections: list[socket.socket] = []

    def begin(self, connection: socket.socket) -> None:
        """Add a connection."""
        with self._guard:
            if len(self._connections) == _MOST_HANDSHAKES:
                with suppress(OSError):
                    self._connections.pop(0).shutdown(socket.SHUT_RDWR)
            self._connections.append(connection)

    def end(self, connection: socket.socket) -> None:
        """Remove a connection, unless it was ended."""
        with self._guard, suppress(ValueError):
            self._connections.remove(connection)


def _serve_one(
    handshakes: _Handshakes,
    connection: socket.socket,
    address: str,
    key: bytes,
    announce: Announce,
    alone: Alone,
) -> None:
    try:
        channel = accepted(connection, key)
    except OSError as error:
        announce(f"refused {address}: {error}")
        return
    finally:
        handshakes.end(connection)
    with closing(channel):
        try:
            with TemporaryDirectory(prefix="hati-agent-") as folder, _Session(channel, Path(folder), alone) as session:
                announce(f"{address}: an experiment")
                session.serve()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            announce(f"{address}: {reason}; its program is ended")
            _refuse(channel, AgentRefusal(reason))
        except HatiError as error:
            _refuse(channel, AgentRefusal(error.message, error.fix or ""))


def _refuse(channel: ControlChannel, refusal: AgentRefusal) -> None:
    """Send why something was not done, unless the controller is gone."""
    with suppress(OSError):
        channel.send(FrameKind.REFUSED, msgspec.json.encode(refusal))


class _Session:
    """A load program, from its source to its report, for one controller."""

    def __init__(self, channel: ControlChannel, folder: Path, alone: Alone) -> None:
        self._channel, self._folder, self._alone = channel, folder, alone
        self._held = ExitStack()
        self._file = folder / "load"
        self._process: subprocess.Popen[bytes] | None = None
        self._reported = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ)

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        """End the program, whose load ends with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._held.close()
        self._selector.close()

    def serve(self) -> None:
        """Do what the controller asks, and send what the program prints, until the controller leaves.

        Raises:
            OSError: where the controller is gone before that.
            HatiError: where a program cannot be compiled or started.
        """
        try:
            while True:
                for key, _ in self._selector.select():
                    if key.fileobj is self._channel:
                        self._answer()
                    else:
                        self._pass_on(key.fd)
        except (OSError, ValueError):
            if not self._reported:
                raise

    def _answer(self) -> None:
        frame = self._channel.receive()
        if frame.kind is FrameKind.CLOCK:
            self._channel.send(FrameKind.CLOCK, b"%d" % time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        elif frame.kind is FrameKind.COMPILE:
            asked = decode(frame.content, CompileRequest)
            self._held.enter_context(self._alone(asked.lock, self._say_waiting))
            self._file = compile_program(asked.source, self._folder, asked.flags)
            self._channel.send(FrameKind.DONE)
        elif frame.kind is FrameKind.START:
            self._start()
        elif frame.kind is FrameKind.LINE and self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # the program may have ended
                os.write(self._process.stdin.fileno(), frame.content)
        elif frame.kind is FrameKind.TERMINATE and self._process is not None:
            self._process.terminate()

    def _say_waiting(self, reason: str) -> None:
        self._channel.send(FrameKind.WAITING, reason.encode())

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                [self._file.resolve(), ANYWHERE],
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise LoadDriverError(
                f"cannot start {self._file}: {error.strerror}",
                "let TMPDIR permit programs",
            ) from None
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._channel.send(FrameKind.DONE)

    def _pass_on(self, output: int) -> None:
        data = os.read(output, _CHUNK)
        if data:
            self._channel.send(FrameKind.OUTPUT, data)
            return
        assert self._process is not None
        assert self._process.stdout is not None
        self._selector.unregister(self._process.stdout)
        self._channel.send(FrameKind.ENDED)
        self._reported = True
