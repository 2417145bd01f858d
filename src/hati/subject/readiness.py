"""Waiting for a server until it is up."""

from __future__ import annotations

import socket
import time

from hati.core import Outcome, Ready
from hati.subject.programs import Program, Supervisor
from hati.subject.run_failure import RunFailure, failure, last_line
from hati.subject.server_log import ServerLog

_LOOK_SECONDS = 0.005


def free_port() -> int:
    """A port on which nothing listens at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def start_server(server: Program, ready: Ready, port: int | None, supervisor: Supervisor, log: ServerLog) -> None:
    """Start a server and wait until its port accepts connections and its output has the line, as asked.

    Raises:
        RunFailure: where it ends or does not get ready in time.
        InputError: where it cannot be started.
    """
    deadline = time.monotonic() + ready.timeout
    supervisor.start(server, ready.line, log.kept)
    while True:
        stands = supervisor.look(_LOOK_SECONDS)
        if stands.exit is not None:
            why = failure("the server", server, stands, log.why())
            raise RunFailure(Outcome.NOT_STARTED, why or f"the server ended at once{last_line(stands)}", stands)
        missing = _missing(ready, port, line_seen=stands.line_seen)
        if not missing:
            return
        if time.monotonic() > deadline:
            said = f": {why}" if (why := log.why()) else last_line(stands)
            detail = f"the server was not ready within {ready.timeout:g} s: {missing}{said}"
            raise RunFailure(Outcome.NOT_STARTED, detail, stands)


def _missing(ready: Ready, port: int | None, *, line_seen: bool) -> str:
    if ready.line is not None and not line_seen:
        return f"it did not print {ready.line!r}"
    if ready.port and port is not None and not _accepts(port):
        return f"nothing listens on port {port}"
    return ""


def _accepts(port: int) -> bool:
    for host in ("127.0.0.1", "::1"):
        try:
            with socket.create_connection((host, port), timeout=0.2):
                return True
        except OSError:
            continue
    return False
