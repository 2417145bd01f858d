"""The peak of this process's memory."""

from __future__ import annotations

import resource
import sys

_STATUS, _REFERENCES = "/proc/self/status", "/proc/self/clear_refs"


def restart_peak() -> None:
    """Let the peak be counted from now on, where the kernel can do that."""
    try:
        with open(_REFERENCES, "w") as file:
            file.write("5")
    except OSError:
        pass


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
