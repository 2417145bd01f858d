"""Count the events of a program and all its processes by perf_event_open(2), and fix its memory layout."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

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
