"""The interpreters that are on this machine: where they are, and which they are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from hati.core import InputError

_PATIENCE = 30.0
_VERSION = Path(__file__).with_name("injected") / "version.py"
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
    status = Path(program).stat()
    return _version(program, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _version(program: str, _time: int, _size: int) -> str:
    source = f"{_VERSION.read_text(encoding='utf-8')}\nsys.stdout.write(version())"
    words = [program, "-S", "-c", source]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} cannot be started: {error}", fix=_FIX) from None
    if done.returncode or not done.stdout:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{program} is no Python that measures: {said}", fix=_FIX)
    return done.stdout
