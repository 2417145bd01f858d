"""A release of a Python package, from the index that pip is configured with."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hati.core import InputError, Revision, RevisionKind
from hati.subject.revisions.directory import Folder

_RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
PACKAGES = ".packages"
"""The folder in a tree that a package is installed into; benchmarks find it by ``PYTHONPATH``."""

_USUAL = "python3"
_QUIET = ("install", "--quiet", "--disable-pip-version-check", "--no-input")
_WANTED = ("--only-binary", ":all:", "--no-compile", "--target")


def package_revision(text: str) -> Revision | None:
    """The revision that ``name==version`` stands for; None for other texts."""
    return Revision(text, RevisionKind.PACKAGE) if _RELEASE.fullmatch(text) else None


class Package:
    """Releases of packages, installed beside a copy of the project's own files: those of its benchmarks.

    They are installed by and for the interpreter ``python``, a path; without one for the ``python3`` of commands.
    """

    def __init__(self, project: Folder, python: str = "") -> None:
        self._project = project
        self.python = python or _USUAL

    def put(self, revision: str, folder: Path) -> None:
        """Copy the project's files, and install the wheel and what it depends on.

        Raises:
            InputError: where pip fails, with what it said.
            OSError: where they cannot be written.
        """
        self._project.copy(folder)
        command = (*self._pip(revision), *_WANTED, str(folder / PACKAGES), revision)
        done = _run(command, folder)
        if done.returncode != 0:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")] or said
            why = errors[-1] if errors else f"{Path(command[0]).name} ended with {done.returncode}"
            raise InputError(f"{revision} cannot be installed: {why}", fix=f"see `{self.python} -m pip install` of it")

    def _pip(self, revision: str) -> Sequence[str]:
        """What installs for the interpreter: its own pip, that of ``python3``, or uv.

        Raises:
            InputError: where there is no such interpreter, or none of these.
        """
        if shutil.which(self.python) is None:
            raise InputError(f"{revision} cannot be installed: there is no {self.python}")
        ways = ((self.python, "-m", "pip"), (_USUAL, "-m", "pip", "--python", self.python))
        for way in ways:
            if shutil.which(way[0]) and _run((*way, "--version")).returncode == 0:
                return (*way, *_QUIET)
        if uv := shutil.which("uv"):
            return (uv, "pip", "install", "--quiet", "--python", self.python)
        raise InputError(
            f"{revision} cannot be installed: {self.python} has no pip", fix=f"see `{self.python} -m ensurepip`"
        )


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
