"""Asking programs of version control, so that they change nothing and ask nobody."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hati.core import InputError

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",  # no index of the user's is refreshed
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # nothing is fetched that the user did not fetch
    "LC_ALL": "C.UTF-8",
}


class CommandError(InputError):
    """A program that ended with another status than 0; its message is what it ``said``, where it said anything."""

    said: bool = True


def asked(
    command: Sequence[str], cwd: Path, more: Mapping[str, str] | None = None, timeout: float | None = None
) -> bytes:
    """What a program prints; ``timeout`` in seconds is for those that ask a server.

    Raises:
        CommandError: where it fails.
        InputError: where it is not installed, or has not ended in time.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**own, **_QUIET, **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except FileNotFoundError:
        raise InputError(f"{command[0]} is not installed", fix=f"install {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{command[0]} {command[1]} has not ended within {timeout:g} s", fix="see whether its server answers"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        error = CommandError(f"{command[0]}: {_plain(said[0]) if said else f'exit status {done.returncode}'}")
        error.said = bool(said)
        raise error
    return done.stdout


def _plain(line: str) -> str:
    return line.removeprefix("fatal: ").removeprefix("error: ").removeprefix("svn: ")


def texts(output: bytes, ends: bytes = b"\0") -> list[str]:
    """The parts of what was printed, decoded as names of files are; the empty ones left out."""
    return [os.fsdecode(part) for part in output.split(ends) if part]
