"""Start programs through a supervisor, a separate process that ends them all, and explain failed runs."""

from __future__ import annotations

import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from hati.core import InputError, MeasurementError, Outcome
from hati.subject.running.supervisor.program import kill, session

_MASK = "***"
_SHORTEST = 4
"""The shortest secret: masking shorter values would garble the output."""


class Masking(Struct, frozen=True):
    """The secret values to mask, longest first."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Collection[str], environment: Mapping[str, str]) -> Masking:
        """The masking of the values of environment variables."""
        values = {environment[name] for name in names if len(environment.get(name, "")) >= _SHORTEST}
        return cls(tuple(sorted(values, key=lambda value: (-len(value), value))))

    def mask(self, text: str) -> str:
        """The text with `***` for each value, and for the part of a value that is cut off at an end of the text."""
        for value in self.values:
            text = text.replace(value, _MASK)
        for value in self.values:
            for length in range(len(value) - 1, _SHORTEST - 1, -1):
                if text.startswith(value[-length:]):
                    text = _MASK + text[length:]
                if text.endswith(value[:length]):
                    text = text[:-length] + _MASK
        return text

    def mask_bytes(self, data: bytes) -> bytes:
        """The data with `***` for each value."""
        for value in self.values:
            data = data.replace(value.encode("utf-8", "surrogateescape"), _MASK.encode())
        return data


_ENOUGH = 200
_HINT = re.compile(r"^usage:|--help\b|for more information", re.IGNORECASE)
_DIAGNOSTIC = re.compile(r"\S+?:\d+(:\d+)?: (fatal )?error: ")
"""The beginning of a compiler's error: lines that follow it quote the program."""


class RunFailure(Exception):  # noqa: N818 - it ends a run, which is recorded, not the program
    """A failed run: its outcome, the reason, and the result of the failed program, if known."""

    def __init__(self, outcome: Outcome, detail: str, ending: ProcessResult | None = None) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.ending = ending


class SupervisorLost(RunFailure):
    """A run whose supervisor was lost; it may succeed if it is tried again."""


def failure(what: str, program: Program, ending: ProcessResult, why: str = "") -> str:
    """A line on why a program failed; empty if it succeeded.

    ``why`` is the reason, by default the last line of its output.
    """
    if ending.problem == "timeout":
        return f"{what} did not end within {program.timeout:g} s and was killed; raise `timeout` or give it less to do"
    if ending.problem == "output":
        return f"{what} printed more than 16 MiB and was killed; let it print less"
    if ending.exit == 0:
        return ""
    return f"{what} ended with {_status(ending.exit)}{f': {why}' if why else last_line(ending)}"


def last_line(ending: ProcessResult) -> str:
    """The last line that a program printed, except usage hints, to be appended to a message.

    A compiler's first error is preferred.
    """
    lines = [line.strip() for line in ending.output.splitlines() if line.strip()]
    errors = [line for line in lines if _DIAGNOSTIC.match(line)][:1]
    said = errors or [line for line in lines if not _HINT.search(line)] or lines
    return f": {said[-1][:_ENOUGH]}" if said else ""


def _status(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def switched_user(name: str | None) -> pwd.struct_passwd | None:
    """The user who runs the programs; None for Hati's own user, since only root can switch users.

    Raises:
        InputError: where the user does not exist.
    """
    if name is None or os.geteuid() != 0:
        return None
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise InputError(
            f"there is no user {name!r}", fix=f"correct `user`, or make one: useradd --system {name}"
        ) from None
    return found if found.pw_uid != 0 else None


def home(user: pwd.struct_passwd) -> dict[str, str]:
    """The environment variables that describe a user."""
    return {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}


def reaches(user: pwd.struct_passwd, folder: Path) -> bool:
    """Whether the user may enter a folder and all folders above it."""
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    for place in (folder, *folder.parents):
        status = place.stat()
        enter = 0o100 if status.st_uid == user.pw_uid else 0o010 if status.st_gid in groups else 0o001
        if not status.st_mode & enter:
            return False
    return True


def give(user: pwd.struct_passwd, path: Path, top: Path) -> None:
    """Make a user the owner of a file or folder and of the folders above it, up to ``top``."""
    while path.is_relative_to(top):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        path = path.parent


LARGEST_OUTPUT = 16 * 2**20
"""The largest standard output of a command, in bytes."""

_NOTHING = Masking()
_SHOWN = 4096
_POLITE_SECONDS = 5.0
_SLACK = 60.0
"""The longest time of an answer of the supervisor in seconds, in addition to the programs' time: it gives up on
processes that cannot be killed after twice ten seconds, and waits for a server to end for five."""
_GONE = "gone"
_LOST = (
    "the supervisor of the command was killed or stopped, by the command or for lack of memory; "
    "what was left of the command was ended"
)
_START = "import sys; sys.path.append({folder!r}); from supervisor.service import main; main()"


class Program(Struct, frozen=True):
    """A program to start: an argument list, its folder and environment, its time limit in seconds and its CPUs.

    ``user`` is the user who runs it; empty: Hati's own. The kernel counts the events ``count``, which the program can
    read itself at descriptors from ``count_from`` on, unless that is 0. With ``layout`` its memory has the same layout
    each time, if that is permitted.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float
    cpus: tuple[int, ...] = ()
    user: str = ""
    count: tuple[str, ...] = ()
    count_from: int = 0
    layout: bool = False


class ProcessResult(Struct, frozen=True):
    """The result or current state of a program: times in seconds and memory in bytes, of its whole process tree.

    ``exit`` is negative for a signal and None while it runs; ``problem`` is why it was killed (``timeout`` or
    ``output``); ``output`` is the end of its output. ``faults`` are page faults; ``counts`` are the counts of its
    events, None where the processor's counters did not suffice; ``laid``: its memory had the fixed layout.
    """

    exit: int | None
    output: str
    problem: str = ""
    stdout: bytes = b""
    wall: float = 0.0
    user: float = 0.0
    system: float = 0.0
    peak: int = 0
    voluntary: int = 0
    involuntary: int = 0
    line_seen: bool = False
    pressure: float | None = None
    steal: float | None = None
    faults: int = 0
    counts: Mapping[str, int | None] = {}
    laid: bool = False


class Supervisor:
    """Starts programs, one at a time and a server at the same time; when it is closed, or hati dies, they all end.

    ``kept`` are descriptors that stay open until the last process has ended; ``masking`` applies to kept output. Not
    thread-safe.

    Raises:
        MeasurementError: where the system is not Linux.
    """

    def __init__(self, *kept: int, masking: Masking = _NOTHING) -> None:
        if not sys.platform.startswith("linux"):
            raise MeasurementError("measuring needs Linux: nothing else can end a whole process tree for sure")
        self._kept = kept
        self._masking = masking
        self._spool = os.memfd_create("hati-stdout")
        self._abandoned = False
        self._begin()

    def _begin(self) -> None:
        self._socket, other = socket.socketpair()
        fds = (other.fileno(), self._spool, *self._kept)
        code = _START.format(folder=str(Path(__file__).parent))
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-E", "-c", code, *map(str, fds)],
                pass_fds=fds,
                start_new_session=True,  # no terminal: the programs get no Ctrl-C and cannot prompt
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
        assert self._process.stdout is not None
        self._watchdog = self._process.stdout  # the watchdog alone has its other end, and writes nothing

    def run(self, program: Program) -> ProcessResult:
        """Run a command to its end, and end the processes that it left behind.

        Raises:
            InputError: where it cannot be started.
            MeasurementError: where a process that it left cannot be killed.
        """
        return self._run(program, {"limit": LARGEST_OUTPUT, "leave": False})

    def run_aside(self, program: Program) -> ProcessResult:
        """Run a program that is not measured; its background processes run until ``clear``.

        Raises:
            InputError: where it cannot be started.
        """
        return self._run(program, {"limit": None, "leave": True})

    def start(self, server: Program, line: str | None, log: Path | None = None) -> None:
        """Start a server, watch its output for a line, and keep the output's first MiB in the file ``log``.

        Raises:
            InputError: where it cannot be started.
        """
        self._start("start", server, {"limit": None, "line": line, "log": None if log is None else str(log)})

    def look(self, seconds: float) -> ProcessResult:
        """The state of the server, after at most ``seconds``."""
        reply = self._ask({"do": "look", "seconds": seconds}, seconds)
        return self._ending(reply, b"") if reply else ProcessResult(None, "", problem=_GONE)

    def clear(self) -> ProcessResult | None:
        """End the server and all remaining processes; return the server's result if it had ended before, else None.

        Raises:
            MeasurementError: where a process cannot be killed.
        """
        reply = self._ask({"do": "clear", "patience": _POLITE_SECONDS})
        _check_all_gone(reply)
        return self._ending(reply, b"") if reply.get("already") else None

    def abandon(self) -> None:
        """End everything; a thread that waits for an answer gets a `MeasurementError` instead."""
        self._abandoned = True
        self._process.terminate()

    def close(self) -> None:
        """End everything, and wait until it has ended."""
        self._end()
        if self._spool >= 0:
            os.close(self._spool)
            self._spool = -1

    def _end(self, patience: float = _SLACK) -> None:
        """End the supervisor's processes, and with them all others."""
        self._hang_up(patience)
        for number in (signal.SIGCONT, signal.SIGKILL):  # a stopped process continues, and ends
            self._process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SLACK / 4.0)
                break
        self._socket.close()
        self._watchdog.close()
        deadline = time.monotonic() + _SLACK / 4.0
        while (left := session(self._process.pid)) and time.monotonic() < deadline:  # if both were killed
            for pid in left:
                kill(pid)
            time.sleep(0.001)  # no event reports the end of other processes' children

    def _hang_up(self, patience: float) -> None:
        """Close the channel for further requests, and wait for a while until the supervisor has ended."""
        deadline = time.monotonic() + patience
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            while (left := deadline - time.monotonic()) > 0.0:
                self._socket.settimeout(left)
                if not self._socket.recv(1 << 16):
                    break

    def _run(self, program: Program, request: dict[str, Any]) -> ProcessResult:
        reply = self._start("run", program, {**request, "timeout": program.timeout})
        _check_all_gone(reply)
        size = reply["printed"] if request["limit"] and not reply["problem"] else 0
        return self._ending(reply, os.pread(self._spool, size, 0) if size else b"")

    def _ending(self, reply: Mapping[str, Any], stdout: bytes) -> ProcessResult:
        return ProcessResult(
            reply["exit"],
            _tail(self._masking.mask(reply["stdout"]), self._masking.mask(reply["stderr"])),
            reply.get("problem", ""),
            stdout,
            *(reply[name] for name in ("wall", "user", "system", "peak", "voluntary", "involuntary", "line_seen")),
            *(reply.get(name) for name in ("pressure", "steal")),
            *(reply[name] for name in ("faults", "counts", "laid")),
        )

    def _start(self, do: str, program: Program, request: dict[str, Any]) -> dict[str, Any]:
        path, argv = located(program), program.argv
        if program.user:  # setpriv switches the user within the same process
            path, argv = _switched(program, path)
        about: dict[str, Any] = {"program": path, "argv": argv, "env": dict(program.env), "cwd": str(program.cwd)}
        about |= {
            "cpus": program.cpus,
            "count": program.count,
            "count_from": program.count_from,
            "layout": program.layout,
        }
        reply = self._ask({"do": do, **about, **request}, program.timeout)
        if "error" in reply:
            raise InputError(
                f"cannot start {program.argv[0]!r}: {os.strerror(reply['error'])}", fix=_FIXES.get(reply["error"])
            )
        return reply

    def _ask(self, request: dict[str, Any], seconds: float = 0.0) -> dict[str, Any]:
        """The answer to a request whose program may take ``seconds``."""
        try:
            return self._exchanged(request, seconds)
        except OSError as error:
            if self._abandoned or self._spool < 0:
                self.close()
                raise MeasurementError("the supervisor of the benchmark has ended") from error
            self._begin_again(0.0 if isinstance(error, TimeoutError) else _SLACK)
            raise SupervisorLost(Outcome.FAILED, _LOST) from error
        except BaseException:  # Ctrl-C between request and answer: the next answer would be for the wrong request
            self.close()
            raise

    def _begin_again(self, patience: float) -> None:
        self._end(patience)
        self._begin()
        try:
            self._exchanged({"do": "look", "seconds": 0.0}, 0.0)
        except OSError as error:
            self.close()
            raise MeasurementError("the supervisor of benchmarks ends by itself") from error

    def _exchanged(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        text = json.dumps(request).encode()
        self._socket.settimeout(seconds + _SLACK)
        self._socket.sendall(len(text).to_bytes(4, "big") + text)
        self._await(seconds + _SLACK)
        size = int.from_bytes(self._receive(4), "big")
        reply: dict[str, Any] = json.loads(self._receive(size))
        return reply

    def _await(self, seconds: float) -> None:
        """Wait for an answer; where the watchdog has ended, nothing else continues a stopped supervisor.

        Raises:
            TimeoutError: without an answer after ``seconds``.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(self._watchdog, select.POLLHUP)
        ready = [fd for fd, _ in poll.poll(seconds * 1000)]
        if not ready:
            raise TimeoutError
        if ready == [self._watchdog.fileno()]:
            for pid in session(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def _receive(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._socket.recv(size)
            if not part:
                raise ConnectionResetError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


_FIXES = {
    2: "its folder, or the interpreter that its first line names, is missing",
    7: "its arguments and environment are too long",
    8: "start a script with a line such as #!/bin/sh",
    22: "its arguments or environment hold a character that none may hold",
}


def _switched(program: Program, path: str) -> tuple[str, tuple[str, ...]]:
    """The program that starts another as its user, with its arguments; both run in the same process."""
    switch = shutil.which("setpriv")
    if switch is None:
        raise InputError("there is no program 'setpriv' on PATH, which `user` needs", fix="install util-linux")
    words = ("--reuid", program.user, "--regid", str(pwd.getpwnam(program.user).pw_gid), "--init-groups", "--")
    return switch, (switch, *words, path, *program.argv[1:])


def located(program: Program) -> str:
    """The path of a program, as a shell would find it.

    Raises:
        InputError: where it does not exist, or may not be executed.
    """
    return _located(program.argv[0], program.cwd, program.env.get("PATH", os.defpath))


@lru_cache(maxsize=64)
def _located(name: str, cwd: Path, search: str) -> str:
    if "/" in name:
        return _executable(str(cwd / name), name)
    for folder in search.split(os.pathsep):
        path = f"{folder}/{name}" if folder.startswith("/") else str(cwd / folder / name)
        if os.access(path, os.X_OK) and not Path(path).is_dir():
            return path
    local = (cwd / name).is_file() and name
    fix = f"write './{name}' for the one in {cwd}" if local else "install it, or correct the command"
    raise InputError(f"there is no program {name!r} on PATH", fix=fix)


def _executable(path: str, name: str) -> str:
    if not Path(path).is_file():
        raise InputError(
            f"there is no program {name!r}: {path} is not a file", fix="correct the command, or build it first"
        )
    if not os.access(path, os.X_OK):
        raise InputError(f"program {name!r} may not be executed", fix=f"chmod +x {path}")
    return path


def _check_all_gone(reply: Mapping[str, Any]) -> None:
    if reply["stuck"]:
        pids = ", ".join(map(str, reply["stuck"]))
        raise MeasurementError(
            f"the benchmark left processes that hati may not or cannot kill: {pids}",
            fix="end them; a benchmark must not change its user, except by `user`",
        )


def _tail(stdout: str, stderr: str) -> str:
    """The ends of both outputs one after the other; each gets half of the characters, and those the other leaves."""
    kept = stdout[-max(_SHOWN - len(stderr), _SHOWN // 2) :]
    return kept + stderr[-(_SHOWN - len(kept)) :] if stderr else kept
