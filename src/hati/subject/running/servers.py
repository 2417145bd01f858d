"""Servers: wait until one is ready, and search its log for the lines that explain a failure."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hati.core import Outcome, Ready
from hati.subject.running.programs import Masking, Program, RunFailure, Supervisor, failure, last_line

_KEPT = 100
_LONGEST = 1 << 20
_LONGEST_LINE = 200
_MOST_LINES = 3
_SAYS_WHY = re.compile(
    r"\b(?:panic|fatal|emerg|alert|crit|critical|severe|errors?|exception|fail(?:ed|ure)?|invalid|unknown|unrecognized"
    r"|unsupported|not supported|cannot|can't|could not|unable|denied|refused|in use|no such|not found|bad)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(?:ing)?\b", re.IGNORECASE)
_COMMENT = re.compile(r"\b(?:HINT|DETAIL|STATEMENT|CONTEXT):")


def lines_that_say_why(text: str) -> str:
    r"""The first line that reports an error and the last two: the cause and its consequences; empty without any.

    Warnings count only if there are no errors.

    >>> lines_that_say_why("started\nLOG:  unknown parameter 'x'\nFATAL:  the file has errors\nLOG:  shut down\n")
    "LOG:  unknown parameter 'x'; FATAL:  the file has errors"
    >>> lines_that_say_why("[Warning] could not lock\nerror in x\nx failed\ny failed\nerror: aborting\n")
    'error in x; y failed; error: aborting'
    """
    lines = [line.strip()[:_LONGEST_LINE] for line in text.splitlines()]
    found = [line for line in lines if _SAYS_WHY.search(line) and not _COMMENT.search(line)]
    errors = list(dict.fromkeys(line for line in found if not _WARNING.search(line))) or list(dict.fromkeys(found))
    return "; ".join(errors if len(errors) <= _MOST_LINES else [errors[0], *errors[1 - _MOST_LINES :]])


@dataclass
class ServerLog:
    """The log of one server: ``kept`` has its output, ``own`` is the log file that it writes itself, if any.

    ``shown`` is the name of the file in messages.
    """

    kept: Path
    shown: str
    own: Path | None = None
    masking: Masking = field(default_factory=Masking)
    _whole: bool = False
    _marks: list[int] = field(default_factory=lambda: [0, 0])

    @classmethod
    def begin(cls, folder: Path, name: str, own: Path | None, masking: Masking) -> ServerLog:
        """Create a log in the folder, and remove the oldest logs: a hundred are kept.

        Raises:
            OSError: where it cannot be created.
        """
        folder.mkdir(exist_ok=True)
        older = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
        for path in older[: max(0, len(older) - _KEPT + 1)]:
            path.unlink(missing_ok=True)
        kept = folder / f"{name}.log"
        kept.write_bytes(b"")
        return cls(kept, f".hati/logs/{kept.name}", own, masking)

    def mark(self) -> None:
        """Exclude the current content of the log from the search."""
        self._marks = [path.stat().st_size if path and path.exists() else 0 for path in (self.kept, self.own)]

    def why(self) -> str:
        """The lines since the mark that report an error; empty if there are none."""
        texts = [_read(path, mark) for path, mark in zip((self.kept, self.own), self._marks, strict=True) if path]
        return lines_that_say_why("\n".join(map(self.masking.mask, texts)))

    def keep(self) -> None:
        """Append the server's own log to its output, and mask secrets in both."""
        if self._whole:
            return
        self._whole = True
        own = _read(self.own, 0) if self.own is not None and self.own.is_file() else ""
        with suppress(OSError):
            if self.masking.values:
                printed = self.kept.read_text(encoding="utf-8", errors="replace")
                self.kept.write_text(self.masking.mask(printed), encoding="utf-8")
            if own:
                with self.kept.open("a", encoding="utf-8") as stream:
                    stream.write(self.masking.mask(own))


def _read(path: Path, start: int) -> str:
    """The end of a file after a position, at most a MiB of it."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(start, size - _LONGEST))
            return stream.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


_LOOK_SECONDS = 0.005
_LISTEN = "0A"
"""The state of a socket that listens, in the kernel's tables."""


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return free_port() if _accepts(port) else port


def refuse_used(port: int) -> None:
    """Refuse a port on which something listens: it would be measured instead of the server that is to be started.

    Raises:
        RunFailure: with the process that listens, if the kernel shows it.
    """
    if _accepts(port):
        instead = "and would be measured instead of the server; end it, or repeat the run, which gets another port"
        detail = f"port {port} is in use: {_listener(port)} listens on it, {instead}"
        raise RunFailure(Outcome.NOT_STARTED, detail)


def _listener(port: int) -> str:
    """The process that listens on a port, in words."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if not sockets.isdisjoint(map(_target, (folder / "fd").iterdir())):
                return f"process {folder.name} ({(folder / 'comm').read_text().strip()})"
    return "another process"


def _target(link: Path) -> str:
    with suppress(OSError):
        return str(link.readlink())
    return ""


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on a port."""
    found = set[str]()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/self/net", table).read_text().splitlines()[1:]:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                    found.add(inode)
    return found


def start_server(server: Program, ready: Ready, port: int | None, supervisor: Supervisor, log: ServerLog) -> None:
    """Start a server and wait until its port accepts connections and its output has the line, as far as requested.

    Raises:
        RunFailure: where it ends or is not ready in time.
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
