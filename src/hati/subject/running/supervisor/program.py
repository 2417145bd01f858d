"""Start one program, and read its output and the resources of its process tree."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from .counters import Counters, Counts, fixed_layout, restore_layout

Message = dict[str, Any]
"""A request from hati, or its answer."""

_CHUNK = 1 << 16
_TAIL = 1 << 12
_LONGEST_LOG = 1 << 20

# Python ignores the first two signals, and the parent of hati may ignore others: programs get the defaults.
_DEFAULTS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGCHLD,
)


class StartedProgram:
    """A started program: ``pid``, its open ``pipes``, and the observed state of its process tree.

    Its standard output goes to ``spool`` (a file descriptor) up to the request's ``limit``. The end of both outputs is
    kept, and the beginning is written to the request's file ``log``. ``status`` is None until it has ended. With the
    request's ``layout`` its memory has the same layout each time; ``laid`` is whether that was permitted. The events
    in ``count`` are counted.
    Times are in nanoseconds of perf_counter (``began``, ``wall``) and in seconds of processor time (``user``,
    ``system``); memory is in bytes.

    Raises:
        OSError: where it cannot be started.
    """

    def __init__(self, request: Message, spool: int | None) -> None:
        self.limit: int = request["limit"] or sys.maxsize
        self.printed = 0
        self.status: int | None = None
        self.wall = 0
        self.user = self.system = 0.0
        self.peak = self.voluntary = self.involuntary = self.faults = 0
        self._spool = spool
        self._awaited: bytes | None = request["line"].encode() if request.get("line") else None
        self._tails = {"stdout": b"", "stderr": b""}
        self._log = _opened(request["log"]) if request.get("log") else None
        self._logged = 0
        self._counters = Counters(request.get("count") or [])
        self._counts: Counts = {}
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        self.pipes = {out: "stdout", err: "stderr"}
        self._ends = [out_end, err_end]  # open until it is reaped: a program that closes its output wakes nobody
        try:
            self.pid, self.began, self.laid = _spawn(request, out_end, err_end)
        except BaseException:
            self.close()
            raise
        os.set_blocking(out, False)
        os.set_blocking(err, False)

    def drain(self, fd: int) -> bool:
        """Read a part of a pipe's content; False if there is none."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        self._keep(self.pipes[fd], data)
        return True

    def close(self) -> None:
        """Read the rest of the output, and close the pipes and the counters."""
        for fd in list(self.pipes):
            while self.status is not None and self.printed <= self.limit and self.drain(fd):
                pass
        for fd in (*self.pipes, *self._ends):
            os.close(fd)
        self.pipes.clear()
        self._ends.clear()
        self._counts = self._counts or self._counters.read()
        self._counters.close()
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def add(self, usage: Any) -> None:
        """Add the resources of a reaped process of the tree and of the children that it waited for."""
        self.user += usage.ru_utime
        self.system += usage.ru_stime
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        self.voluntary += usage.ru_nvcsw
        self.involuntary += usage.ru_nivcsw
        self.faults += usage.ru_minflt + usage.ru_majflt

    def report(self) -> Message:
        """The state as an answer for hati; times in seconds."""
        return {
            "exit": None if self.status is None else os.waitstatus_to_exitcode(self.status),
            "printed": self.printed,
            "line_seen": self._awaited is None,
            "wall": self.wall * 1e-9,
            "user": self.user,
            "system": self.system,
            "peak": self.peak,
            "voluntary": self.voluntary,
            "involuntary": self.involuntary,
            "faults": self.faults,
            "counts": self._counts,
            "laid": self.laid,
            **{stream: tail.decode("utf-8", "replace") for stream, tail in self._tails.items()},
        }

    def _keep(self, stream: str, data: bytes) -> None:
        recent = self._tails[stream] + data
        self._tails[stream] = recent[-_TAIL:]
        if self._awaited is not None and self._awaited in recent:
            self._awaited = None
        if self._log is not None and self._logged < _LONGEST_LOG:
            try:
                self._logged += os.write(self._log, data)
            except OSError:  # a full disk must not end the measured program
                self._logged = _LONGEST_LOG
        if stream == "stdout":
            self.printed += len(data)
            if self._spool is not None and self.printed <= self.limit:
                os.write(self._spool, data)


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _spawn(request: Message, out: int, err: int) -> tuple[int, int, bool]:
    """Start a program in a new process group, on its CPUs, in its folder; return pid, start time and fixed layout.

    It does not get a new session: Linux schedules every session as one group (sched_autogroup), and on a busy machine a
    new session waits to be scheduled first, which doubled the mean time of `true`.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    program, argv, env, cpus = (request[name] for name in ("program", "argv", "env", "cpus"))
    allowed = os.sched_getaffinity(0) if cpus else None
    layout = fixed_layout() if request.get("layout") else None
    os.chdir(request["cwd"])
    try:
        if cpus:
            os.sched_setaffinity(0, cpus)
        began = time.perf_counter_ns()
        pid = os.posix_spawn(program, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULTS)
    finally:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)
        if layout is not None:
            restore_layout(layout)
        os.chdir("/")
    return pid, began, layout is not None
