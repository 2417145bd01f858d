"""Marks of the processes that made something, by which later ones know what a killed one has left."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

_MACHINE, _BOOT = Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")


def beginning(process: int) -> int | None:
    """When a process began, in clock ticks after the machine; None if it has ended."""
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[18])


def own_mark() -> str:
    """The mark of this process: its machine, since which start, its id and when it began."""
    return f"{_machine()} {_text(_BOOT)} {os.getpid()} {beginning(os.getpid())}"


def is_abandoned(mark: str) -> bool:
    """Whether a mark is that of a process of this machine that has ended; False for another machine's."""
    machine, _, rest = mark.partition(" ")
    boot, _, process = rest.partition(" ")
    number, _, began = process.partition(" ")
    if machine != _machine() or not number.isdecimal():
        return False
    return boot != _text(_BOOT) or str(beginning(int(number))) != began


def _machine() -> str:
    """The name and the identity of this machine; containers on one host have names of their own."""
    return f"{platform.node()}/{_text(_MACHINE)}"


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""
