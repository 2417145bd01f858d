"""Injected truth for the self-test: settings of the kernel that are changed and restored, and links of known rate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from hati.probing.kernel import NotPermittedError

_SLICE = Path("/proc/sys/kernel/sched_rr_timeslice_ms")
_LINK = "hati-probe"
_ADDRESSES = ("10.213.77.1", "10.213.77.2")
_ROOT = "run it as root"


def restore_settings(folder: Path | None = None) -> None:
    """Restore the settings that a killed self-test changed."""
    kept = _kept(folder)
    with suppress(OSError):
        _SLICE.write_text(kept.read_text())
        kept.unlink()
    if shutil.which("ip"):
        _command("ip", "netns", "delete", _LINK)


@contextmanager
def round_robin_slice_of(milliseconds: int, folder: Path | None = None) -> Iterator[None]:
    """Set the slice of SCHED_RR for all processes; it is restored in the end, or by ``restore_settings`` after a kill.

    Raises:
        NotPermittedError: if it cannot be set.
    """
    kept = _kept(folder)
    try:
        before = _SLICE.read_text().strip()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(before)
        _SLICE.write_text(str(milliseconds))
    except OSError as error:
        kept.unlink(missing_ok=True)
        raise NotPermittedError(f"{_SLICE} cannot be written: {error.strerror}", fix=_ROOT) from error
    try:
        yield
    finally:
        _SLICE.write_text(before)
        kept.unlink(missing_ok=True)


@contextmanager
def link_with(*discipline: str) -> Iterator[tuple[str, str]]:
    """A pair of interfaces, one in a network namespace, both with a queueing discipline of `tc`.

    It yields the address of the end in the namespace, and the namespace's path.

    Raises:
        NotPermittedError: if the kernel has no such discipline, or does not permit a namespace.
    """
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise NotPermittedError(f"there is no program `{program}`", fix="apt install iproute2")
    near, far = f"hp{os.getpid() % 100000}a", f"hp{os.getpid() % 100000}b"
    inside = ("ip", "netns", "exec", _LINK)
    try:
        _needed("ip", "netns", "add", _LINK)
        _needed("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", _LINK)
        for prefix, name, address in (((), near, _ADDRESSES[0]), (inside, far, _ADDRESSES[1])):
            _needed(*prefix, "ip", "address", "add", f"{address}/30", "dev", name)
            _needed(*prefix, "ip", "link", "set", name, "up")
            _needed(*prefix, "tc", "qdisc", "add", "dev", name, "root", *discipline)
        yield _ADDRESSES[1], f"/run/netns/{_LINK}"
    finally:
        _command("ip", "link", "delete", near)
        _command("ip", "netns", "delete", _LINK)


def cache_size(level: int) -> int | None:
    """Bytes of the data cache of a level, as the kernel shows them; None if it shows none."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        with suppress(OSError, ValueError):
            kind, shown = (folder / "type").read_text().strip(), (folder / "size").read_text()
            match = re.fullmatch(r"(\d+)([KM]?)", shown.strip())
            if int((folder / "level").read_text()) == level and kind in {"Data", "Unified"} and match:
                return int(match[1]) * {"": 1, "K": 2**10, "M": 2**20}[match[2]]
    return None


def _kept(folder: Path | None) -> Path:
    return (folder or platformdirs.user_state_path("hati")) / "sched_rr_timeslice_ms"


def _needed(*words: str) -> None:
    done = _command(*words)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise NotPermittedError(f"`{' '.join(words[-8:])}`: {said}", fix="use a kernel with that module, as root")


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=30.0)
