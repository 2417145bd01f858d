"""The version of this Python, with all that affects its speed, and the folders that it imports from."""

from __future__ import annotations

import os
import sys
from binascii import crc32

_VARIABLES = ("PYTHONMALLOC", "PYTHON_FROZEN_MODULES", "PYTHON_GIL", "PYTHON_JIT")


def version() -> str:
    """The implementation, version and build, with the options and variables that affect speed; no path.

    >>> version().startswith(sys.implementation.name)
    True
    """
    number = ".".join(map(str, sys.version_info[:3])) + getattr(sys, "abiflags", "")
    parts = [sys.implementation.name, number, format(crc32(sys.version.encode()), "08x")]
    if sys.flags.optimize:
        parts.append("O" * sys.flags.optimize)
    if sys.flags.dev_mode:
        parts.append("dev")
    return "-".join(parts) + "".join(f";{name}={os.environ[name]}" for name in _VARIABLES if os.environ.get(name))


def folders() -> list[str]:
    """The folders that modules are imported from, without those that depend on the current folder."""
    text = os.environ.get("PYTHONPATH", "")
    here = {os.path.abspath(path) for path in text.split(os.pathsep) if text and not os.path.isabs(path)}
    return [path for path in sys.path if path and path not in here]
