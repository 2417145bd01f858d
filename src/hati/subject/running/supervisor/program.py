"""Start one program; read its output, its process tree, and the resources and events that it used."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import time
from collections.abc import Sequence
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessTree:
    """Finds descendants: by the kernel's lists of children if it has them, else among all processes."""

    def __init__(self) -> None:
        self._me = os.getpid()
        self._listed = os.access(f"/proc/{self._me}/task/{self._me}/children", os.R_OK)

    def below(self, tops: set[int] | None = None) -> set[int]:
        """Every descendant that is not yet reaped; one that starts meanwhile may be missed.

        With ``tops``, the descendants of these processes instead of the supervisor's.
        """
        children = self._children if self._listed else self._scan().get
        found: set[int] = set()
        ahead = [self._me] if tops is None else list(tops)
        while ahead:
            new = set(children(ahead.pop()) or ()) - found
            found |= new
            ahead += new
        return found

    @staticmethod
    def _children(pid: int) -> list[int]:
        found: list[int] = []
        try:
            for thread in os.scandir(f"/proc/{pid}/task"):
                found += map(int, _text(f"{thread.path}/children").split())
        except OSError:
            pass
        return found

    @staticmethod
    def _scan() -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for name in (entry.name for entry in os.scandir("/proc") if entry.name.isdigit()):
            try:
                parent = int(_text(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
        return children


def memory(pid: int) -> int:
    """The resident memory of a process in bytes, shared memory included; 0 if it has ended."""
    try:
        return int(_text(f"/proc/{pid}/statm").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def group(pid: int) -> int:
    """The process group of a process; 0 if it has ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def session(leader: int) -> set[int]:
    """The other processes of a session."""
    found = set()
    for name in (entry.name for entry in os.scandir("/proc") if entry.name.isdigit()):
        try:
            state, _, _, of = _text(f"/proc/{name}/stat").rpartition(b")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(of) == leader != int(name) and state != b"Z":
            found.add(int(name))
    return found


def kill(pid: int) -> None:
    """Kill a process with its group, so that none escapes by forking; never the supervisor's own group."""
    try:
        os.kill(pid, signal.SIGKILL)
        if (whole := os.getpgid(pid)) != os.getpgrp():
            os.killpg(whole, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def ask_to_end(pid: int) -> None:
    """Ask a process, the leader of its group, and its group to end."""
    try:  # noqa: SIM105 - contextlib would make the supervisor larger
        os.killpg(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        pass


def _text(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


_PRESSURE = "/proc/pressure/cpu"
_STATISTICS = "/proc/stat"
_MOST = 1 << 16
_STEAL = 8  # the column of /proc/stat; column 0 is the name


class Contention:
    """The counters of contention since now, of the whole machine or of some of its CPUs."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus = cpus
        self._pressure = pressure()
        self._steal = steal(cpus)

    def since(self) -> dict[str, float | None]:
        """The increase of the counters, in seconds; None where the kernel does not count."""
        waited, stolen = pressure(), steal(self._cpus)
        return {
            "pressure": None if waited is None or self._pressure is None else waited - self._pressure,
            "steal": None if stolen is None or self._steal is None else stolen - self._steal,
        }


def pressure() -> float | None:
    """The seconds in which at least one task of the machine waited for a CPU (pressure stall information, `some`)."""
    for line in _lines(_PRESSURE):
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) * 1e-6
    return None


def steal(cpus: Sequence[int]) -> float | None:
    """The seconds in which a virtual CPU had work and did not run: the mean over these CPUs, or over all."""
    wanted = {f"cpu{number}" for number in cpus}
    found = []
    for line in _lines(_STATISTICS):
        if not line.startswith("cpu"):
            break
        columns = line.split()
        if len(columns) > _STEAL and (columns[0] in wanted or (not wanted and columns[0] != "cpu")):
            found.append(int(columns[_STEAL]))
    return sum(found) / len(found) / os.sysconf("SC_CLK_TCK") if found else None


def _lines(path: str) -> list[str]:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.read(fd, _MOST).decode("ascii", "replace").splitlines()
    except OSError:  # the kernel has the file, but not the counters
        return []
    finally:
        os.close(fd)


_CALLS = {"x86_64": 298, "i686": 336, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_EVENTS = {
    "cycles": (0, 0),
    "instructions": (0, 1),
    "cache_misses": (0, 3),
    "branch_misses": (0, 5),
    "page_faults": (1, 2),
}
"""The type and number of each event, from linux/perf_event.h."""
_DISABLED, _INHERITED, _NO_KERNEL, _NO_HYPERVISOR, _FROM_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_WITH_TIMES, _CLOSED_BY_EXEC = 1 | 2, 8
_NO_RANDOM_LAYOUT = 0x0040000
_ANY = 0xFFFFFFFF

Counts = dict[str, "int | None"]
"""Counts by the events' names; None where the processor's counters did not suffice for the whole time."""


def opened(name: str) -> int:
    """A descriptor that counts an event in user mode in programs that this process starts, from their exec on.

    Their child processes are counted too.

    Raises:
        OSError: where the kernel, the processor or a container does not permit it.
    """
    kind, number = _EVENTS[name]
    flags = _DISABLED | _INHERITED | _NO_KERNEL | _NO_HYPERVISOR | _FROM_EXEC
    attributes = struct.pack("=IIQQQQQIIQ", kind, 64, number, 0, 0, _WITH_TIMES, flags, 0, 0, 0)
    call = _CALLS.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_long(each) for each in (0, -1, -1, _CLOSED_BY_EXEC))
    found = int(libc.syscall(ctypes.c_long(call), attributes, *arguments))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def refused(names: tuple[str, ...]) -> int:
    """The error number of the first event that cannot be counted here; 0 if all can."""
    for name in names:
        try:
            os.close(opened(name))
        except OSError as error:
            return error.errno or errno.EIO
    return 0


class Counters:
    """Counters of the programs that this process starts while they are open.

    Raises:
        OSError: where an event is not permitted.
    """

    def __init__(self, names: list[str]) -> None:
        self._open: dict[str, int] = {}
        try:
            for name in names:
                self._open[name] = opened(name)
        except BaseException:
            self.close()
            raise

    def read(self) -> Counts:
        """The current counts."""
        return {name: _count(fd) for name, fd in self._open.items()}

    @property
    def descriptors(self) -> list[int]:
        """The descriptors of the events, in their order."""
        return list(self._open.values())

    def close(self) -> None:
        """Stop counting."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()


def _count(fd: int) -> int | None:
    count, enabled, running = struct.unpack("=QQQ", os.read(fd, 24))
    return None if running < enabled else count


def fixed_layout() -> int | None:
    """Fix the memory layout of programs that are started from now on; return the personality before.

    None if that is not permitted, as in some containers.
    """
    personality = ctypes.CDLL(None).personality
    personality.argtypes = [ctypes.c_ulong]
    before = int(personality(_ANY))
    if before < 0 or int(personality(before | _NO_RANDOM_LAYOUT)) < 0:
        return None
    return before


def restore_layout(before: int) -> None:
    """Restore the personality of before ``fixed_layout``."""
    ctypes.CDLL(None).personality(ctypes.c_ulong(before))


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
    in ``count`` are counted, and it reads them itself at descriptors from ``count_from`` on, if that is not 0.
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
            self.pid, self.began, self.laid = _spawn(request, out_end, err_end, self._counters.descriptors)
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


def _spawn(request: Message, out: int, err: int, counters: list[int]) -> tuple[int, int, bool]:
    """Start a program in a new process group, on its CPUs, in its folder; return pid, start time and fixed layout.

    It does not get a new session: Linux schedules every session as one group (sched_autogroup), and on a busy machine a
    new session waits to be scheduled first, which doubled the mean time of `true`.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    if first := request.get("count_from"):
        actions += [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(counters, first)]
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
