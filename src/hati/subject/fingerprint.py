"""What tells one machine from another."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from hati.core import Machine


def machine() -> Machine:
    """This machine: name, processor, number of CPUs, memory, system, kernel and architecture.

    The name is among them, so that two machines of one make are two: their runs are not pooled. What
    changes from hour to hour (load, frequency) is not.
    """
    properties = {
        "architecture": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
        "kernel": platform.release(),
        "memory": _memory(),
        "name": platform.node(),
        "processor": _processor(),
        "system": _system(),
    }
    return Machine(tuple(sorted(properties.items())))


def _memory() -> str:
    """To a tenth of a GiB: kernels of one version keep slightly different parts for themselves."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.1f} GiB"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    match = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
