"""What this machine is: the properties that its results carry."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def properties(name: str) -> dict[str, str]:
    """The machine as it is now; nothing in it changes from hour to hour."""
    return {
        "architecture": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
        "kernel": platform.release(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "name": name,
        "processor": _processor(),
        "system": _system(),
    }


def about(name: str, sandbox: str, template: dict[str, Any]) -> dict[str, Any]:
    """The description of this machine that is sent to the server."""
    own = properties(name)
    return {
        "name": name,
        "os": own["system"],
        "architecture": own["architecture"],
        "cpus": cpus(),
        "python": platform.python_version(),
        "sandbox": sandbox,
        "properties": own,
        "fingerprint": hashlib.sha256(json.dumps(own, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
        "template": template,
    }


def cpus() -> int:
    """The number of CPUs that programs of this user may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(asked, capture_output=True, check=True, text=True, timeout=10.0).stdout.strip()
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        with suppress(OSError):
            found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', Path(path).read_text(encoding="utf-8"), re.MULTILINE)
            if found:
                return found[1]
    return platform.system()
