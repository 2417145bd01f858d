"""Queries of a repository, by programs that change nothing and prompt nobody."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hati.core import InputError, Revision

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
    """The non-empty parts of the output, decoded as names of files are."""
    return [os.fsdecode(part) for part in output.split(ends) if part]


class History(Protocol):
    """A repository that the project is in: its revisions, and the files of each."""

    @property
    def top(self) -> Path:
        """The folder that a revision's files are those of."""
        ...

    def find(self, text: str) -> Revision | None:
        """The revision that is called so, or None.

        Raises:
            InputError: where the repository cannot be read.
        """
        ...

    def nearest(self, text: str) -> str:
        """What to write in place of a name that is none."""
        ...

    def base(self) -> Revision | None:
        """The revision that the folder's files stem from; None where there is none yet."""
        ...

    def main(self) -> Revision | None:
        """The newest revision of the main branch, as far as there is one by a usual name."""
        ...

    def main_branch(self) -> str:
        """The name of the main branch."""
        ...

    def merge_base(self, first: Revision, second: Revision) -> Revision:
        """The newest revision of which all is in both.

        Raises:
            InputError: where there is none.
        """
        ...

    def before(self, revision: Revision) -> Revision:
        """The one before it on its line.

        Raises:
            InputError: where there is none.
        """
        ...

    def between(self, first: Revision, last: Revision) -> Sequence[Revision]:
        """Those after ``first`` up to ``last``, oldest first, on one line.

        Raises:
            InputError: where ``last`` does not come after ``first``.
        """
        ...

    def inside(self, first: Revision, last: Revision) -> Sequence[str]:
        """The ids of all revisions that ``last`` comes from and ``first`` does not, itself among them."""
        ...

    def contains(self, whole: Revision, part: str) -> bool:
        """Whether a revision is the one of the id ``part``, or comes from it."""
        ...

    def put(self, revision: str, folder: Path) -> None:
        """Write the files of the revision of that id into an empty folder.

        Raises:
            InputError: where they are not all there.
            OSError: where they cannot be written.
        """
        ...
