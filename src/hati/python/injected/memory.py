"""The peak of this process's memory."""

from __future__ import annotations

import resource
import sys

_PAGES, _PAGE = "/proc/self/statm", resource.getpagesize()
_STATUS, _REFERENCES = "/proc/self/status", "/proc/self/clear_refs"


def restart_peak() -> None:
    """Let the peak be counted from now on, where the kernel can do that."""
    try:
        with open(_REFERENCES, "w") as file:
            file.write("5")
    except OSError:
        pass


def resident() -> int:
    """Bytes that this process has in memory now; 0 where the system does not tell."""
    try:
        with open(_PAGES, "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


def peak() -> int:
    """Bytes; Linux tells this program's own, where ``ru_maxrss`` would also hold that of the one that started it."""
    try:
        with open(_STATUS) as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
