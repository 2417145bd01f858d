"""The interpreters that are on this machine: where they are, and which they are."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from hati.core import InputError
from hati.python.injected.installed import installed

DIGITS: Final = 16
"""How long digests are."""

_PATIENCE = 30.0
_VERSION = Path(__file__).with_name("injected") / "version.py"
_MARK = "hati was told:"
_TELL = f"sys.stdout.buffer.write(os.fsencode({_MARK!r} + '\\0'.join([version(), *folders()])))"
_LEAST = 2  # a version and a folder
_FIX = "correct `interpreter` of [python] in hati.toml, or leave it out: then it is the one that runs Hati"


def located(command: str, root: Path) -> str:
    """The file of an interpreter: a path from the folder ``root``, or a name to be looked for; empty: Hati's own.

    Raises:
        InputError: where there is none.
    """
    if not command:
        return sys.executable
    found = str(root / command) if "/" in command else shutil.which(command)
    if found is None or not Path(found).is_file():
        raise InputError(f"there is no interpreter {command!r}", fix=_FIX)
    return found


def version_of(program: str) -> str:
    """Which Python it is, with all that decides how fast it runs code, and no path.

    Raises:
        InputError: where it is none.
    """
    return _asked(program).version


def packages_of(program: str) -> str:
    """A digest of the names and versions of what is installed for it now.

    Raises:
        InputError: where it is none.
    """
    told = installed(_asked(program).folders)
    return hashlib.sha256(os.fsencode(told)).hexdigest()[:DIGITS]


class _Told(NamedTuple):
    version: str
    folders: tuple[str, ...]


def _asked(program: str) -> _Told:
    """What it tells of itself: it is asked once, while its file stays as it is."""
    status = Path(program).stat()
    return _ask(program, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _ask(program: str, _time: int, _size: int) -> _Told:
    words = [program, "-c", f"{_VERSION.read_text(encoding='utf-8')}\n{_TELL}"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} cannot be started: {error}", fix=_FIX) from None
    found = os.fsdecode(done.stdout).rpartition(_MARK)[2].split("\0")
    if done.returncode or len(found) < _LEAST:
        said = (os.fsdecode(done.stderr).strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{program} is not a Python that measures: {said}", fix=_FIX)
    return _Told(found[0], tuple(found[1:]))
