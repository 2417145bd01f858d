"""The memory of this process: now and at its peak."""

from __future__ import annotations

import resource
import sys

_PAGES, _PAGE = "/proc/self/statm", resource.getpagesize()
_STATUS, _REFERENCES = "/proc/self/status", "/proc/self/clear_refs"


def restart_peak() -> None:
    """Reset the peak, if the kernel supports that."""
    try:
        with open(_REFERENCES, "w") as file:
            file.write("5")
    except OSError:
        pass


def resident() -> int:
    """The resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        with open(_PAGES, "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


def peak() -> int:
    """The peak in bytes; from /proc on Linux, as ``ru_maxrss`` there includes the program that started this one."""
    try:
        with open(_STATUS) as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
