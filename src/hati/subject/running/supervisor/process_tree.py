"""The processes below the supervisor, from /proc, and the kernel's counts of contention for processors."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

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
        columns = line.split()
        if not columns or not columns[0].startswith("cpu"):
            break
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
